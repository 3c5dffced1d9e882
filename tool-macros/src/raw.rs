//! A tool with parsed attributes and signature, before validation.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt as _;
use syn::{Attribute, FnArg, LitStr, Pat, PatType, Path, Receiver, ReturnType, Type, parse_quote};

use crate::attr::{ArgAttr, ParamOptions, ToolAttr, ToolOptions};
use crate::doc::{self, Description, Text};
use crate::errors::Errors;
use crate::function::{self, Function};
use crate::rename::RenameRule;
use crate::types;

/// Place of a tool: a free function, or a method in a `#[tools]` block.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Free,
    Method,
}

pub(crate) struct RawTool {
    pub(crate) place: Place,
    /// Function without the macros' attributes.
    pub(crate) function: Function,
    pub(crate) name: LitStr,
    pub(crate) description: Option<Description>,
    pub(crate) causes: Option<Span>,
    pub(crate) blocking: Option<Span>,
    /// Path of the runtime.
    pub(crate) krate: Option<Path>,
    pub(crate) options: ToolOptions,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) params: Vec<RawParam>,
}

/// A parameter with parsed attributes.
pub(crate) struct RawParam {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) name: LitStr,
    /// Whether `#[arg(name = ..)]` sets the name.
    pub(crate) is_renamed: bool,
    pub(crate) description: Option<Description>,
    pub(crate) options: ParamOptions,
    /// Whether errors in the attributes were reported.
    pub(crate) has_mistakes: bool,
}

impl RawTool {
    pub(crate) fn read(place: Place, mut function: Function, attr: ToolAttr, errors: &Errors) -> Self {
        let ToolAttr {
            name,
            description,
            rename_all,
            causes,
            blocking,
            krate,
            options,
        } = attr;
        let ident = &function.sig.ident;
        let name = name.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        let description = description.or_else(|| doc::text(&function.attrs).map(Description::Text));
        if function.sig.asyncness.is_some() {
            function.attrs.push(allow_unused_async());
        }
        let mut receiver = None;
        let mut params = Vec::new();
        for input in &mut function.sig.inputs {
            let before = errors.count();
            let mut own = function::take_tool_attrs(input);
            for attr in &own {
                check_param_attr(attr, errors);
            }
            let has_attributes = !own.is_empty();
            let arg = ArgAttr::take(&mut own, errors);
            match input {
                FnArg::Receiver(this) => {
                    if has_attributes && errors.count() == before {
                        errors.spanned(
                            this.self_token,
                            "`self` is not a tool parameter; remove its attribute or doc comment",
                        );
                    }
                    receiver = Some(this.clone());
                }
                FnArg::Typed(typed) => {
                    let has_mistakes = errors.count() > before;
                    let param = RawParam::read(typed, arg, doc::text(&own), rename_all, errors);
                    params.extend(param.map(|param| RawParam {
                        has_mistakes,
                        ..param
                    }));
                }
            }
        }
        Self {
            place,
            function,
            name,
            description,
            causes,
            blocking,
            krate,
            options,
            receiver,
            params,
        }
    }
}

impl RawTool {
    /// Returns the span of `self`, or of `Self` in the signature: either marks a method.
    pub(crate) fn self_span(&self) -> Option<Span> {
        let receiver = self.receiver.as_ref().map(|this| this.self_token.span);
        let params = self.params.iter().map(|param| &param.ty);
        let returned = match &self.function.sig.output {
            ReturnType::Type(_, ty) => Some(&**ty),
            ReturnType::Default => None,
        };
        receiver.or_else(|| params.chain(returned).find_map(types::self_type_span))
    }
}

impl RawParam {
    fn read(
        typed: &PatType,
        arg: ArgAttr,
        doc: Option<Text>,
        rename_all: Option<RenameRule>,
        errors: &Errors,
    ) -> Option<Self> {
        let ident = match &*typed.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => &pat.ident,
            other => {
                errors.spanned(other, destructured(other, &typed.ty));
                return None;
            }
        };
        let ArgAttr {
            name,
            description,
            options,
        } = arg;
        let is_renamed = name.is_some();
        let name = name.unwrap_or_else(|| {
            let name = ident.unraw().to_string();
            let name = rename_all.map_or_else(|| name.clone(), |rule| rule.apply(&name));
            LitStr::new(&name, ident.span())
        });
        Some(Self {
            ident: ident.clone(),
            ty: (*typed.ty).clone(),
            name,
            is_renamed,
            description: description.or(doc.map(Description::Text)),
            options,
            has_mistakes: false,
        })
    }
}

/// Returns the suggested parameter for a pattern such as `State(db): State<Db>`, which axum's handlers allow.
fn destructured(pattern: &Pat, ty: &Type) -> String {
    let name = match pattern {
        Pat::TupleStruct(tuple) if tuple.elems.len() == 1 => tuple.elems.first(),
        _ => None,
    };
    match (name, types::last_name(ty)) {
        (Some(Pat::Ident(name)), Some(outer)) if types::HOST_TYPES.iter().any(|known| outer == known) => {
            format!(
                "expected the name of a parameter; write `{}: {}`, which dereferences to the value",
                name.ident,
                types::text(ty)
            )
        }
        _ => "expected the name of a parameter; destructure the value in the body".to_owned(),
    }
}

/// Allows a lint of clippy, since a tool must be `async`.
fn allow_unused_async() -> Attribute {
    parse_quote!(#[allow(clippy::unused_async, reason = "a tool is `async`")])
}

/// Reports attributes that are not allowed on a parameter, including attributes of other crates.
fn check_param_attr(attr: &Attribute, errors: &Errors) {
    let Some(path) = attr.path().segments.last().map(|last| &last.ident) else {
        return;
    };
    match path.to_string().as_str() {
        "doc" | "arg" => {}
        "cfg" | "cfg_attr" => errors.at(
            path.span(),
            "a parameter of a tool cannot depend on `cfg`; write the function twice, each with its own `#[cfg(..)]`",
        ),
        "serde" | "schemars" => errors.at(
            path.span(),
            format_args!("`#[{path}(..)]` has no effect on a parameter; write `#[arg(..)]`"),
        ),
        _ => errors.at(
            path.span(),
            format_args!("unknown attribute `#[{path}]` of a parameter; did you mean `#[arg(..)]`?"),
        ),
    }
}
