//! Rules across the attributes and the signature of a tool.
//!
//! What needs only one attribute is checked in `attr.rs`; what needs a type, by the runtime's traits.

use std::collections::HashSet;
use std::fmt::Display;

use proc_macro2::Span;
use syn::{GenericParam, Lifetime, LitStr, ReceiverKind, ReturnType, Safety, Token};

use crate::ast::{Param, Place, ToolFn};
use crate::errors::Errors;
use crate::signature::is_tool;
use crate::{limits, types};

pub(crate) fn check(tool: &ToolFn, errors: &Errors) {
    description(tool, errors);
    attributes(tool, errors);
    hints(tool, errors);
    qualifiers(tool, errors);
    generics(tool, errors);
    returned(tool, errors);
    place(tool, errors);
    hidden(tool, errors);
    name(&tool.name, errors);
    for param in &tool.params {
        name(&param.name, errors);
        underscore(param, errors);
        types::of_parameter(&param.ty, errors);
        limits::check(&param.arg, errors);
    }
    number_of_params(tool, errors);
    names_differ(tool, errors);
}

fn description(tool: &ToolFn, errors: &Errors) {
    if tool.description.is_none() {
        errors.at(
            tool.function.sig.ident.span(),
            "a tool needs a description, the model chooses by it; write a doc comment (`/// ..`) above the function",
        );
    }
}

fn attributes(tool: &ToolFn, errors: &Errors) {
    for attr in &tool.function.attrs {
        if is_tool(attr) {
            errors.over(attr.path(), "`#[tool]` is given twice; write all keys into one");
        } else if attr.path().is_ident("arg") {
            errors.over(attr.path(), "`#[arg(..)]` belongs on a parameter of the function");
        }
    }
    if let (Place::Method, Some(path)) = (tool.place, &tool.attr.krate) {
        errors.over(
            path,
            "`crate` belongs on the whole block: `#[tools(crate = path)]`",
        );
    }
}

fn hints(tool: &ToolFn, errors: &Errors) {
    let claimed = |hint: &str| {
        let mut hints = tool.attr.hints.iter();
        hints
            .find(|(word, holds)| *holds && word == hint)
            .map(|(word, _)| word)
    };
    if let (Some(_), Some(destructive)) = (claimed("read_only"), claimed("destructive")) {
        errors.at(
            destructive.span(),
            "a tool that is `read_only` destroys nothing; remove one of the two",
        );
    }
}

fn qualifiers(tool: &ToolFn, errors: &Errors) {
    let sig = &tool.function.sig;
    let refuse = |span: Span, what: &dyn Display| {
        errors.at(span, format_args!("a tool cannot be {what}"));
    };
    if let Some(constness) = &sig.constness {
        refuse(constness.span, &"`const`; write `async fn`");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        refuse(
            token.span,
            &"`unsafe`, a model would call it; check its arguments in a safe `async fn`",
        );
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
    if sig.asyncness.is_none() && sig.constness.is_none() {
        let advice = match &sig.output {
            ReturnType::Type(_, ty) if types::is_future(ty) => "return what the future yields",
            _ => "if the body blocks, move it into `spawn_blocking`",
        };
        errors.at(
            sig.fn_token.span,
            format_args!("a tool is an `async fn`; write `async` before `fn`, and {advice}"),
        );
    }
}

fn generics(tool: &ToolFn, errors: &Errors) {
    let generics = &tool.function.sig.generics;
    let borrowed: Vec<_> = tool
        .params
        .iter()
        .flat_map(|param| types::named_lifetimes(&param.ty))
        .collect();
    // Why it is not to borrow is said where it does.
    let is_for_borrowing = |generic: &&GenericParam| match generic {
        GenericParam::Lifetime(lifetime) => borrowed.contains(&lifetime.lifetime),
        _ => false,
    };
    if let Some(generic) = generics.params.iter().find(|generic| !is_for_borrowing(generic)) {
        errors.at(
            name_of(generic),
            "a tool cannot be generic, its definition is made once; write the types that it takes",
        );
    } else if let Some(clause) = &generics.where_clause {
        errors.at(
            clause.where_token.span,
            "a tool cannot be generic, its definition is made once; remove the `where`",
        );
    }
}

pub(crate) fn name_of(generic: &GenericParam) -> Span {
    match generic {
        GenericParam::Lifetime(lifetime) => lifetime.lifetime.span(),
        GenericParam::Type(ty) => ty.ident.span(),
        GenericParam::Const(constant) => constant.ident.span(),
    }
}

fn returned(tool: &ToolFn, errors: &Errors) {
    let sig = &tool.function.sig;
    if let ReturnType::Type(_, ty) = &sig.output
        && sig.asyncness.is_some()
    {
        types::of_result(ty, tool.place == Place::Method, errors);
    }
}

/// What tells that the function stands elsewhere than its attribute says: `self`, `Self`, and no body.
fn place(tool: &ToolFn, errors: &Errors) {
    if tool.place == Place::Free
        && let Some(span) = tool.receiver_or_own_type()
    {
        let message = if tool.function.has_body() {
            "a method needs `#[tools]` on its `impl` block to be a tool; what a macro call inside of the block writes comes too late"
        } else {
            "a trait has no tools; put `#[tools]` on a type's own `impl` block and `#[tool]` on its methods"
        };
        errors.at(span, message);
        return;
    }
    if !tool.function.has_body() {
        errors.at(tool.function.body.span(), "a tool needs a body: `{ .. }`");
    }
    let Some(receiver) = &tool.receiver else { return };
    let message = match borrowed(&receiver.kind) {
        Some((None, None)) => return,
        Some((_, Some(_))) => {
            "calls run side by side, so a tool takes `&self`; keep what it changes in a `Mutex`"
        }
        _ => "calls share the value, so a tool takes `&self`",
    };
    errors.over(receiver.self_token, message);
}

/// The lifetime and the `mut` of `&self`, or of `self: &Self`, which is the same.
fn borrowed(receiver: &ReceiverKind) -> Option<(Option<&Lifetime>, Option<Token![mut]>)> {
    match receiver {
        ReceiverKind::Reference(_, lifetime, mutability) => Some((lifetime.as_ref(), *mutability)),
        ReceiverKind::Typed(_, ty) => {
            let reference = types::reference_to_self(ty)?;
            Some((reference.lifetime.as_ref(), reference.mutability))
        }
        _ => None,
    }
}

/// A tool's name is that of a type, too, and one of Rust's own would then mean the tool.
pub(crate) fn hides_a_type(tool: &ToolFn) -> bool {
    let ident = &tool.function.sig.ident;
    tool.place == Place::Free && PRIMITIVES.iter().any(|primitive| ident == primitive)
}

fn hidden(tool: &ToolFn, errors: &Errors) {
    let ident = &tool.function.sig.ident;
    if hides_a_type(tool) {
        errors.at(
            ident.span(),
            format_args!(
                "a tool is a type, too, and `{ident}` would hide Rust's own; call the function otherwise, and write `name = \"{ident}\"` if the model should see that"
            ),
        );
    }
}

const PRIMITIVES: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16", "u32",
    "u64", "u128", "usize",
];

fn number_of_params(tool: &ToolFn, errors: &Errors) {
    if let Some(param) = tool.params.get(16) {
        errors.at(
            param.ident.span(),
            "a tool has at most 16 parameters; group some in a struct",
        );
    }
}

fn names_differ(tool: &ToolFn, errors: &Errors) {
    let mut idents = HashSet::new();
    let mut names = HashSet::new();
    for param in &tool.params {
        if !idents.insert(&param.ident) {
            // Unless a macro wrote one of them: then they are two to the compiler.
            errors.leave_to_rustc(
                "two parameters of this tool have one name, so the model could not tell them apart",
            );
        } else if !names.insert(param.name.value()) {
            errors.at(
                param.name.span(),
                format_args!("another parameter is already named \"{}\"", param.name.value()),
            );
        }
    }
}

/// `_x` tells people that a parameter is unused; the model would read it as a name. Whatever is described is the model's,
/// as far as can be told here: the host's parameters need no description.
fn underscore(param: &Param, errors: &Errors) {
    let name = param.name.value();
    let without = match name.trim_start_matches(['_', '-']) {
        "" => "..",
        without => without,
    };
    let is_shown = param.arg.name.is_none() && param.description.is_some();
    if is_shown && name.starts_with(['_', '-']) {
        errors.at(
            param.ident.span(),
            format_args!(
                "the model would see the name `{name}`; write `#[arg(name = \"{without}\")]`, or no description if the host supplies it"
            ),
        );
    }
}

/// The rule that every model's API has for names.
fn name(name: &LitStr, errors: &Errors) {
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
            "`{value}` is no name for a model: {reason}; give it a `name` of 1 to 64 of a-z, A-Z, 0-9, `_` and `-`"
        ),
    );
}
