//! A tool as its annotation describes it, with the tokens that it came from.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt as _;
use syn::{Attribute, FnArg, LitStr, Pat, PatType, Receiver, ReturnType, Type, parse_quote};

use crate::attr::{ArgAttr, ToolAttr};
use crate::doc::{self, Text};
use crate::errors::Errors;
use crate::rename::RenameRule;
use crate::signature::{self, Function};
use crate::types;

/// Where a tool stands.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Free,
    Method,
}

pub(crate) struct ToolFn {
    pub(crate) place: Place,
    /// As written, without what only this crate understands.
    pub(crate) function: Function,
    pub(crate) attr: ToolAttr,
    pub(crate) name: LitStr,
    pub(crate) description: Option<Text>,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) params: Vec<Param>,
}

pub(crate) struct Param {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) name: LitStr,
    pub(crate) description: Option<Text>,
    pub(crate) arg: ArgAttr,
    /// Whether there was nothing to say against its attributes.
    pub(crate) is_sound: bool,
}

impl ToolFn {
    pub(crate) fn read(place: Place, mut function: Function, mut attr: ToolAttr, errors: &Errors) -> Self {
        let ident = &function.sig.ident;
        let name = attr
            .name
            .take()
            .unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        let description = attr.description.take().or_else(|| doc::text(&function.attrs));
        function.attrs.push(permission());
        let mut receiver = None;
        let mut params = Vec::new();
        for input in &mut function.sig.inputs {
            let before = errors.count();
            let mut own = signature::clean(input);
            for attr in &own {
                misplaced(attr, errors);
            }
            let is_described = !own.is_empty();
            let arg = ArgAttr::take(&mut own, errors);
            match input {
                FnArg::Receiver(this) => {
                    if is_described && errors.count() == before {
                        errors.over(
                            this.self_token,
                            "the model never hears of `self`; remove what is said of it",
                        );
                    }
                    receiver = Some(this.clone());
                }
                FnArg::Typed(typed) => {
                    let is_sound = errors.count() == before;
                    let param = Param::read(typed, arg, doc::text(&own), attr.rename_all, errors);
                    params.extend(param.map(|param| Param { is_sound, ..param }));
                }
            }
        }
        Self {
            place,
            function,
            attr,
            name,
            description,
            receiver,
            params,
        }
    }
}

impl ToolFn {
    /// `self`, or `Self` in the signature: either tells that this is a method.
    pub(crate) fn receiver_or_own_type(&self) -> Option<Span> {
        let receiver = self.receiver.as_ref().map(|this| this.self_token.span);
        let params = self.params.iter().map(|param| &param.ty);
        let returned = match &self.function.sig.output {
            ReturnType::Type(_, ty) => Some(&**ty),
            ReturnType::Default => None,
        };
        receiver.or_else(|| params.chain(returned).find_map(types::own_type))
    }
}

impl Param {
    fn read(
        typed: &PatType,
        mut arg: ArgAttr,
        doc: Option<Text>,
        rename_all: Option<RenameRule>,
        errors: &Errors,
    ) -> Option<Self> {
        let ident = match &*typed.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => &pat.ident,
            other => {
                errors.over(
                    other,
                    "a parameter of a tool needs a name that the model can use; take the value apart in the body",
                );
                return None;
            }
        };
        let name = arg.name.clone().unwrap_or_else(|| {
            let name = ident.unraw().to_string();
            let name = rename_all.map_or_else(|| name.clone(), |rule| rule.apply(&name));
            LitStr::new(&name, ident.span())
        });
        Some(Self {
            ident: ident.clone(),
            ty: (*typed.ty).clone(),
            name,
            description: arg.description.take().or(doc),
            arg,
            is_sound: true,
        })
    }
}

/// From a lint of clippy's that nobody could obey: without `async` it would be no tool.
fn permission() -> Attribute {
    parse_quote!(#[allow(clippy::unused_async, reason = "a tool is `async`")])
}

/// What people write on a parameter who know another crate, or what cannot be there.
fn misplaced(attr: &Attribute, errors: &Errors) {
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
            format_args!("a parameter is no field, `#[{path}(..)]` says nothing here; write `#[arg(..)]`"),
        ),
        _ => errors.at(
            path.span(),
            format_args!("a parameter of a tool has no `#[{path}]`; did you mean `#[arg(..)]`?"),
        ),
    }
}
