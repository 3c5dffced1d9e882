//! Rules across the attributes and the signature of a tool.
//!
//! What needs only one attribute is checked in `attr.rs`; what needs a type, by the runtime's traits.

use std::collections::HashSet;
use std::fmt::Display;

use proc_macro2::Span;
use syn::{GenericArgument, LitStr, PathArguments, ReceiverKind, ReturnType, Safety, Type};

use crate::ast::{Place, ToolFn};
use crate::errors::Errors;
use crate::limits;
use crate::signature::is_tool;

pub(crate) fn check(tool: &ToolFn, errors: &Errors) {
    description(tool, errors);
    attributes(tool, errors);
    qualifiers(tool, errors);
    receiver(tool, errors);
    name(&tool.name, errors);
    for param in &tool.params {
        name(&param.name, errors);
        owned(&param.ty, errors);
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
        errors.at(
            sig.fn_token.span,
            "a tool is an `async fn`; write `async` before `fn`, and if the body blocks, move it into `spawn_blocking`",
        );
    }
    if let Some(generic) = sig.generics.params.first() {
        errors.over(
            generic,
            "a tool cannot be generic, its definition is made once; write the types that it takes",
        );
    } else if let Some(clause) = &sig.generics.where_clause {
        errors.at(
            clause.where_token.span,
            "a tool cannot be generic, its definition is made once; remove the `where`",
        );
    }
    if !tool.function.has_body() {
        errors.at(tool.function.body.span(), "a tool needs a body: `{ .. }`");
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        returned(ty, tool.place, errors);
    }
}

fn receiver(tool: &ToolFn, errors: &Errors) {
    let Some(receiver) = &tool.receiver else { return };
    let message = match (tool.place, &receiver.kind) {
        (Place::Method, ReceiverKind::Reference(_, _, None)) => return,
        (Place::Free, _) => {
            "`self` in a tool needs `#[tools]` on the `impl` block, and `#[tool]` on the method"
        }
        (Place::Method, ReceiverKind::Reference(..)) => {
            "calls run side by side, so a tool takes `&self`; keep what it changes in a `Mutex`"
        }
        (Place::Method, _) => "calls share the value, so a tool takes `&self`",
    };
    errors.over(receiver.self_token, message);
}

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
            errors.leave_to_rustc();
        } else if !names.insert(param.name.value()) {
            errors.at(
                param.name.span(),
                format_args!("another parameter is already named \"{}\"", param.name.value()),
            );
        }
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
        None if value.is_empty() => "there is nothing left of it".to_owned(),
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

/// Nothing in a parameter's type is borrowed or left open. This is syntax: no trait could see it.
pub(crate) fn owned(ty: &Type, errors: &Errors) {
    match ty {
        Type::Reference(reference) => {
            let instead = match &*reference.elem {
                Type::Path(path) if path.path.is_ident("str") => "take a `String`",
                Type::Slice(_) => "take a `Vec<T>`",
                _ => "take it by value",
            };
            errors.at(
                reference.and_token.span,
                format_args!("a parameter of a tool cannot borrow, nobody keeps the value; {instead}"),
            );
        }
        Type::ImplTrait(open) => errors.at(
            open.impl_token.span,
            "a parameter of a tool cannot be `impl Trait`, its schema would be unknown; write the type",
        ),
        _ => inner_types(ty, &mut |ty| owned(ty, errors)),
    }
    if let Type::Path(path) = ty {
        for lifetime in lifetimes(path).filter(|lifetime| lifetime.ident != "static") {
            errors.at(
                lifetime.span(),
                "a parameter of a tool cannot borrow, nobody keeps the value; write an owned type",
            );
        }
    }
}

/// A returned value outlives the call; what it borrows would not.
fn returned(ty: &Type, place: Place, errors: &Errors) {
    match ty {
        Type::Reference(reference) => {
            let lifetime = reference.lifetime.as_ref();
            if lifetime.is_some_and(|lifetime| lifetime.ident == "static") {
                return;
            }
            match place {
                // A missing lifetime, with good advice.
                Place::Free => errors.leave_to_rustc(),
                Place::Method => errors.at(
                    reference.and_token.span,
                    "a tool cannot return what it borrowed; return an owned value, as `String` for `&str`",
                ),
            }
        }
        _ => inner_types(ty, &mut |ty| returned(ty, place, errors)),
    }
}

fn inner_types(ty: &Type, visit: &mut dyn FnMut(&Type)) {
    match ty {
        Type::Array(array) => visit(&array.elem),
        Type::Slice(slice) => visit(&slice.elem),
        Type::Paren(paren) => visit(&paren.elem),
        Type::Group(group) => visit(&group.elem),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(visit),
        Type::Path(path) => {
            for argument in arguments(path) {
                if let GenericArgument::Type(ty) = argument {
                    visit(ty);
                }
            }
        }
        _ => {}
    }
}

fn arguments(path: &syn::TypePath) -> impl Iterator<Item = &GenericArgument> {
    path.path
        .segments
        .iter()
        .filter_map(|segment| match &segment.arguments {
            PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
            _ => None,
        })
        .flatten()
}

fn lifetimes(path: &syn::TypePath) -> impl Iterator<Item = &syn::Lifetime> {
    arguments(path).filter_map(|argument| match argument {
        GenericArgument::Lifetime(lifetime) => Some(lifetime),
        _ => None,
    })
}
