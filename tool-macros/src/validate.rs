//! Validates a raw tool by the rules that span its attributes and its signature.
//!
//! Rules for a single attribute are in `attr.rs`, rules for types in the runtime's traits.

use std::collections::HashSet;
use std::fmt::Display;

use proc_macro2::{Ident, Span};
use syn::{GenericParam, Lifetime, LitStr, Path, Receiver, ReceiverKind, ReturnType, Safety, Token, Type};

use crate::attr::{Keyed, ParamOptions, ToolOptions};
use crate::doc::{Description, Text};
use crate::errors::{CompileErrors, Errors};
use crate::function::{Function, is_tool};
use crate::raw::{Place, RawParam, RawTool};
use crate::{limits, types};

/// A valid tool. Only [`validate`] creates it, and only valid tools are expanded.
pub(crate) struct Tool {
    pub(crate) place: Place,
    pub(crate) function: Function,
    pub(crate) name: LitStr,
    pub(crate) description: Text,
    /// Path of the runtime.
    pub(crate) krate: Option<Path>,
    pub(crate) options: ToolOptions,
    /// Whether the function blocks its thread.
    pub(crate) is_blocking: bool,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) params: Vec<Param>,
    pub(crate) output: Output,
}

/// A parameter whose attributes and type are valid.
pub(crate) struct Param {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) name: LitStr,
    pub(crate) description: Option<Text>,
    pub(crate) options: ParamOptions,
}

/// The return type of a tool.
pub(crate) struct Output {
    /// Return type of the function, if it has one.
    pub(crate) ty: Option<Type>,
    /// Span of the key `causes`.
    pub(crate) causes: Option<Span>,
}

/// Valid parts of a tool, which the compiler can still check.
pub(crate) struct Parts {
    pub(crate) function: Function,
    pub(crate) krate: Option<Path>,
    /// Whether a struct with the function's name can be declared beside the function.
    pub(crate) has_struct: bool,
    pub(crate) params: Vec<Param>,
    pub(crate) output: Option<Output>,
}

/// A tool with errors.
pub(crate) struct Rejected {
    pub(crate) parts: Parts,
    pub(crate) errors: CompileErrors,
}

impl From<Tool> for Parts {
    fn from(tool: Tool) -> Self {
        Self {
            has_struct: tool.place == Place::Free,
            function: tool.function,
            krate: tool.krate,
            params: tool.params,
            output: Some(tool.output),
        }
    }
}

/// Validates a raw tool. `errors` has the errors of earlier steps.
pub(crate) fn validate(tool: RawTool, errors: Errors) -> Result<Tool, Box<Rejected>> {
    if let Some(span) = async_trait_span(&tool) {
        errors.at(
            span,
            "a method of an `#[async_trait]` cannot be a tool; put `#[tools]` on an inherent `impl` block and `#[tool]` on its methods, which may call the trait's",
        );
        let mut rejected = reject_incomplete(tool, errors);
        rejected.parts.has_struct = false;
        return Err(Box::new(rejected));
    }
    if tool.description.is_none() {
        errors.at(
            tool.function.sig.ident.span(),
            "missing description of this tool; write a doc comment (`/// ..`) above the function",
        );
    }
    attributes(&tool, &errors);
    hints(&tool.options, &errors);
    qualifiers(&tool, &errors);
    generics(&tool, &errors);
    let output = output(&tool, &errors);
    place(&tool, &errors);
    shadowing(&tool, &errors);
    check_name(&tool.name, &errors);
    param_count(&tool, &errors);
    unique_names(&tool, &errors);
    let has_struct = has_struct(&tool);
    let params = tool.params.into_iter();
    let params = params.filter_map(|raw| param(raw, &errors)).collect();
    match (
        errors.finish(),
        tool.description.and_then(Description::into_text),
        output,
    ) {
        (Ok(()), Some(description), Some(output)) => Ok(Tool {
            place: tool.place,
            function: tool.function,
            name: tool.name,
            description,
            krate: tool.krate,
            options: tool.options,
            is_blocking: tool.blocking.is_some(),
            receiver: tool.receiver,
            params,
            output,
        }),
        (errors, _, output) => Err(Box::new(Rejected {
            parts: Parts {
                function: tool.function,
                krate: tool.krate,
                has_struct,
                params,
                output,
            }
            .without_generics(),
            errors: errors.err().unwrap_or_default(),
        })),
    }
}

/// Returns the span of a method that `#[async_trait]` has rewritten, which is no longer `async` and has a generated
/// lifetime.
fn async_trait_span(tool: &RawTool) -> Option<Span> {
    let mut generics = tool.function.sig.generics.params.iter();
    let is_rewritten = generics.any(|generic| {
        matches!(generic, GenericParam::Lifetime(lifetime) if lifetime.lifetime.ident == "async_trait")
    });
    is_rewritten.then(|| tool.function.sig.ident.span())
}

/// Rejects a function with an incomplete signature, which rustc reports. Only the return type is validated.
pub(crate) fn reject_incomplete(tool: RawTool, errors: Errors) -> Rejected {
    let output = output(&tool, &errors);
    let parts = Parts {
        has_struct: has_struct(&tool),
        function: tool.function,
        krate: tool.krate,
        params: Vec::new(),
        output,
    };
    Rejected {
        parts: parts.without_generics(),
        errors: errors.finish().err().unwrap_or_default(),
    }
}

impl Parts {
    /// Removes types that may contain generics, which cannot be checked outside the function.
    fn without_generics(mut self) -> Self {
        if !self.function.sig.generics.params.is_empty() {
            self.params.clear();
            self.output = None;
        }
        self
    }
}

fn param(raw: RawParam, errors: &Errors) -> Option<Param> {
    check_name(&raw.name, errors);
    leading_underscore(&raw, errors);
    let before = errors.count();
    types::check_param(&raw.ty, raw.description.is_some(), errors);
    limits::check(&raw.options, errors);
    let is_valid = !raw.has_mistakes && errors.count() == before;
    is_valid.then(|| Param {
        ident: raw.ident,
        ty: raw.ty,
        name: raw.name,
        description: raw.description.and_then(Description::into_text),
        options: raw.options,
    })
}

/// Returns the output of a tool; `None` for an invalid output, and for a function without `async` and `blocking`.
fn output(tool: &RawTool, errors: &Errors) -> Option<Output> {
    let sig = &tool.function.sig;
    if sig.asyncness.is_none() && tool.blocking.is_none() {
        return None;
    }
    let before = errors.count();
    let ty = match &sig.output {
        ReturnType::Type(_, ty) => {
            types::check_output(ty, tool.place == Place::Method, sig.asyncness.is_none(), errors);
            Some((**ty).clone())
        }
        ReturnType::Default => None,
    };
    (errors.count() == before).then_some(Output {
        ty,
        causes: tool.causes,
    })
}

fn has_struct(tool: &RawTool) -> bool {
    tool.place == Place::Free && tool.self_span().is_none() && !shadows_primitive(tool)
}

fn attributes(tool: &RawTool, errors: &Errors) {
    for attr in &tool.function.attrs {
        if is_tool(attr) {
            errors.spanned(attr.path(), "duplicate `#[tool]`; write all keys into one");
        } else if attr.path().is_ident("arg") {
            errors.spanned(attr.path(), "`#[arg(..)]` belongs on a parameter of the function");
        }
    }
    if let (Place::Method, Some(path)) = (tool.place, &tool.krate) {
        errors.spanned(
            path,
            "`crate` belongs on the `impl` block: `#[tools(crate = path)]`",
        );
    }
}

fn hints(options: &ToolOptions, errors: &Errors) {
    if let Some(Keyed { value: true, .. }) = options.read_only
        && let Some(Keyed { value: true, key }) = options.destructive
    {
        errors.at(
            key,
            "a tool cannot be both `read_only` and `destructive`; remove one of the two",
        );
    }
}

fn qualifiers(tool: &RawTool, errors: &Errors) {
    let sig = &tool.function.sig;
    let refuse = |span: Span, kind: &dyn Display| {
        errors.at(span, format_args!("a tool cannot be {kind}"));
    };
    if let Some(constness) = &sig.constness {
        refuse(constness.span, &"`const`; write `async fn`");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        refuse(token.span, &"`unsafe`; check the arguments in a safe `async fn`");
    }
    if let Some(abi) = &sig.abi {
        refuse(
            abi.extern_token.span,
            &"`extern`; write a plain `async fn` that calls it",
        );
    }
    if let Some(variadic) = &sig.variadic {
        refuse(variadic.dots.spans[0], &"variadic; take a `Vec<T>`");
    }
    match (&sig.asyncness, tool.blocking) {
        (Some(asyncness), Some(_)) => errors.at(
            asyncness.span,
            "a tool is either `async` or `blocking`; remove `async` if the body blocks its thread, else `blocking`",
        ),
        (None, None) if sig.constness.is_none() => {
            let message = match &sig.output {
                ReturnType::Type(_, ty) if types::is_future(ty) => {
                    "a tool must be an `async fn`; write `async` before `fn`, and return the output of the future"
                }
                _ => {
                    "a tool must be an `async fn`; write `async` before `fn`, or `#[tool(blocking)]` if the body blocks its thread"
                }
            };
            errors.at(sig.fn_token.span, message);
        }
        _ => {}
    }
}

fn generics(tool: &RawTool, errors: &Errors) {
    let generics = &tool.function.sig.generics;
    let borrowed: Vec<_> = tool
        .params
        .iter()
        .flat_map(|param| types::named_lifetimes(&param.ty))
        .collect();
    // The lifetime is reported at its use.
    let is_used_by_param = |generic: &&GenericParam| match generic {
        GenericParam::Lifetime(lifetime) => borrowed.contains(&lifetime.lifetime),
        _ => false,
    };
    if let Some(generic) = generics.params.iter().find(|generic| !is_used_by_param(generic)) {
        errors.at(
            generic_span(generic),
            "a tool cannot be generic; write concrete types",
        );
    } else if let Some(clause) = &generics.where_clause {
        errors.at(
            clause.where_token.span,
            "a tool cannot be generic; remove the `where` clause",
        );
    }
}

pub(crate) fn generic_span(generic: &GenericParam) -> Span {
    match generic {
        GenericParam::Lifetime(lifetime) => lifetime.lifetime.span(),
        GenericParam::Type(ty) => ty.ident.span(),
        GenericParam::Const(constant) => constant.ident.span(),
    }
}

/// Reports a method outside of a `#[tools]` block, a missing body, and a receiver other than `&self`.
fn place(tool: &RawTool, errors: &Errors) {
    if tool.place == Place::Free
        && let Some(span) = tool.self_span()
    {
        let message = if tool.function.has_body() {
            "a method needs `#[tools]` on its `impl` block to be a tool; a macro call inside of the block is expanded too late"
        } else {
            "a method of a trait cannot be a tool; put `#[tools]` on an inherent `impl` block and `#[tool]` on its methods"
        };
        errors.at(span, message);
        return;
    }
    if !tool.function.has_body() {
        errors.at(tool.function.body.span(), "missing body of this tool: `{ .. }`");
    }
    let Some(receiver) = &tool.receiver else { return };
    let message = match receiver_reference(&receiver.kind) {
        Some((None, None)) => return,
        Some((_, Some(_))) => {
            "a tool must take `&self`, as calls run concurrently; keep mutable state in a `Mutex`"
        }
        _ => "a tool must take `&self`, as calls share the value",
    };
    errors.spanned(receiver.self_token, message);
}

/// Returns the lifetime and the `mut` of `&self`, or of the equivalent `self: &Self`.
fn receiver_reference(receiver: &ReceiverKind) -> Option<(Option<&Lifetime>, Option<Token![mut]>)> {
    match receiver {
        ReceiverKind::Reference(_, lifetime, mutability) => Some((lifetime.as_ref(), *mutability)),
        ReceiverKind::Typed(_, ty) => {
            let reference = types::reference_to_self(ty)?;
            Some((reference.lifetime.as_ref(), reference.mutability))
        }
        _ => None,
    }
}

/// Returns whether the struct of the tool would have the name of a primitive type.
fn shadows_primitive(tool: &RawTool) -> bool {
    let ident = &tool.function.sig.ident;
    tool.place == Place::Free && PRIMITIVES.iter().any(|primitive| ident == primitive)
}

fn shadowing(tool: &RawTool, errors: &Errors) {
    let ident = &tool.function.sig.ident;
    if shadows_primitive(tool) {
        errors.at(
            ident.span(),
            format_args!(
                "the struct of this tool shadows the primitive type `{ident}`; rename the function, and write `name = \"{ident}\"` to keep the name for the model"
            ),
        );
    }
}

const PRIMITIVES: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16", "u32",
    "u64", "u128", "usize",
];

fn param_count(tool: &RawTool, errors: &Errors) {
    if let Some(param) = tool.params.get(20) {
        errors.at(
            param.ident.span(),
            "expected at most 20 parameters; group some in a struct",
        );
    }
}

fn unique_names(tool: &RawTool, errors: &Errors) {
    let mut idents = HashSet::new();
    let mut names = HashSet::new();
    for param in &tool.params {
        if !idents.insert(&param.ident) {
            // rustc does not report a duplicate if a macro wrote one of the names.
            errors.leave_to_rustc("duplicate parameter name");
        } else if !names.insert(param.name.value()) {
            errors.at(
                param.name.span(),
                format_args!("duplicate parameter name \"{}\"", param.name.value()),
            );
        }
    }
}

/// Reports a name such as `_x`, which marks an unused parameter but would be shown to the model. Only described
/// parameters are checked: a host parameter needs no description.
fn leading_underscore(param: &RawParam, errors: &Errors) {
    let name = param.name.value();
    let without = match name.trim_start_matches(['_', '-']) {
        "" => "..",
        without => without,
    };
    let is_shown = !param.is_renamed && param.description.is_some();
    if is_shown && name.starts_with(['_', '-']) {
        errors.at(
            param.ident.span(),
            format_args!(
                "the model would see the name `{name}`; write `#[arg(name = \"{without}\")]`, or remove the description if the host supplies the value"
            ),
        );
    }
}

/// Checks a name by the rule that all APIs share.
fn check_name(name: &LitStr, errors: &Errors) {
    let value = name.value();
    let reason = match value
        .chars()
        .find(|c| !matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'))
    {
        Some(c) => format!("{c:?} is not allowed"),
        None if value.is_empty() => "it is empty".to_owned(),
        None if value.len() > 64 => format!("it has {} characters", value.len()),
        None => return,
    };
    errors.at(
        name.span(),
        format_args!(
            "invalid name `{value}`: {reason}; set `name` to 1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`"
        ),
    );
}
