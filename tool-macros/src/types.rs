//! What the syntax of a type gives away: that it borrows, is left open, or has no size.
//!
//! Everything else is judged by the runtime's traits: they see through aliases.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, Lifetime, Path, PathArguments, Type, TypeParamBound, TypePath, TypeReference};

use crate::errors::Errors;

/// A parameter's type: owned, closed and sized. No trait could say so with one message.
pub(crate) fn of_parameter(ty: &Type, errors: &Errors) {
    match ty {
        Type::Path(path) if path.path.is_ident("str") => {
            errors.at(path.span(), "a `str` has no size of its own; take a `String`");
        }
        Type::Slice(slice) => errors.at(
            slice.bracket_token.span.open(),
            "a slice has no size of its own; take a `Vec<T>`",
        ),
        Type::TraitObject(object) => errors.at(
            object.dyn_token.map_or_else(|| object.span(), |word| word.span),
            "a parameter of a tool cannot be `dyn Trait`, its schema would be unknown; write the type",
        ),
        Type::Paren(paren) => of_parameter(&paren.elem, errors),
        Type::Group(group) => of_parameter(&group.elem, errors),
        _ => owned(ty, errors),
    }
}

/// Nothing in it is borrowed or left open.
fn owned(ty: &Type, errors: &Errors) {
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
    for lifetime in lifetimes(ty) {
        errors.at(
            lifetime.span(),
            "a parameter of a tool cannot borrow, nobody keeps the value; write an owned type",
        );
    }
}

/// The type of a `#[tools]` block: its value is shared by calls that outlive whatever it could borrow.
pub(crate) fn of_set(ty: &Type, errors: &Errors) {
    for lifetime in lifetimes(ty) {
        errors.at(
            lifetime.span(),
            "a set of tools cannot borrow, its calls outlive the value; let it own what it needs, or hold an `Arc`",
        );
    }
}

/// A returned value outlives the call; what it borrows would not. `is_method`: there is something to borrow from.
pub(crate) fn of_result(ty: &Type, is_method: bool, errors: &Errors) {
    match ty {
        Type::Never(never) => errors.at(
            never.bang_token.span,
            "a tool answers; write the type of its answer, or return nothing",
        ),
        Type::ImplTrait(open) if is_future(ty) => errors.at(
            open.impl_token.span,
            "an `async fn` is a future already; write the type that it yields",
        ),
        Type::Reference(reference) => {
            if reference.lifetime.as_ref().is_some_and(is_static) {
                return;
            }
            borrowed(reference.and_token.span, is_method, errors);
        }
        _ => inner_types(ty, &mut |ty| of_result(ty, is_method, errors)),
    }
    for lifetime in lifetimes(ty) {
        borrowed(lifetime.span(), is_method, errors);
    }
}

fn borrowed(span: Span, is_method: bool, errors: &Errors) {
    if is_method {
        errors.at(
            span,
            "a tool cannot return what it borrowed; return an owned value, as `String` for `&str`",
        );
    } else {
        // A missing lifetime, with good advice.
        errors.leave_to_rustc("what this tool returns is borrowed from nowhere");
    }
}

/// Whether it looks like what people return who know futures from before `async`. For wording only.
pub(crate) fn is_future(ty: &Type) -> bool {
    let named = |path: &Path, names: &[&str]| {
        let last = path.segments.last();
        last.is_some_and(|last| names.iter().any(|name| last.ident == name))
    };
    match ty {
        Type::ImplTrait(open) => bounds(open.bounds.iter()).any(|path| named(path, &["Future"])),
        Type::TraitObject(object) => bounds(object.bounds.iter()).any(|path| named(path, &["Future"])),
        Type::Path(path) if named(&path.path, &["BoxFuture", "LocalBoxFuture"]) => true,
        Type::Path(path) if named(&path.path, &["Pin", "Box"]) => {
            let mut found = false;
            inner_types(ty, &mut |ty| found |= is_future(ty));
            found
        }
        _ => false,
    }
}

/// Whether a closure's parameter may have it: `impl Trait` is for functions alone.
pub(crate) fn is_closed(ty: &Type) -> bool {
    let mut closed = !matches!(ty, Type::ImplTrait(_));
    inner_types(ty, &mut |ty| closed &= is_closed(ty));
    closed
}

/// Whether `Self` is in it: then the function stands in an `impl` block.
pub(crate) fn own_type(ty: &Type) -> Option<Span> {
    if let Type::Path(path) = ty
        && let Some(first) = path.path.segments.first()
        && first.ident == "Self"
    {
        return Some(first.ident.span());
    }
    let mut found = None;
    inner_types(ty, &mut |ty| found = found.or_else(|| own_type(ty)));
    found
}

/// The reference in `&Self`.
pub(crate) fn reference_to_self(ty: &Type) -> Option<&TypeReference> {
    match ungrouped(ty) {
        Type::Reference(reference) => match ungrouped(&reference.elem) {
            Type::Path(path) if path.path.is_ident("Self") => Some(reference),
            _ => None,
        },
        _ => None,
    }
}

/// Without the parentheses around it, and without those that a macro leaves.
fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Paren(paren) => ungrouped(&paren.elem),
        Type::Group(group) => ungrouped(&group.elem),
        _ => ty,
    }
}

/// Where a type is named: the last word of its path, not the first.
pub(crate) fn name_of(ty: &Type) -> Span {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.span()),
        Type::Paren(paren) => Some(name_of(&paren.elem)),
        Type::Group(group) => Some(name_of(&group.elem)),
        _ => None,
    }
    .unwrap_or_else(|| ty.span())
}

fn inner_types(ty: &Type, visit: &mut dyn FnMut(&Type)) {
    match ty {
        Type::Array(array) => visit(&array.elem),
        Type::Slice(slice) => visit(&slice.elem),
        Type::Paren(paren) => visit(&paren.elem),
        Type::Group(group) => visit(&group.elem),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(visit),
        Type::Reference(reference) => visit(&reference.elem),
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

fn arguments(path: &TypePath) -> impl Iterator<Item = &GenericArgument> {
    path.path
        .segments
        .iter()
        .filter_map(|segment| match &segment.arguments {
            PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
            _ => None,
        })
        .flatten()
}

/// The lifetimes that are named anywhere in it, but `'static` and `'_`.
pub(crate) fn named_lifetimes(ty: &Type) -> Vec<Lifetime> {
    let mut named: Vec<Lifetime> = lifetimes(ty).cloned().collect();
    if let Type::Reference(reference) = ty {
        let of_reference = reference.lifetime.iter().filter(|lifetime| !is_static(lifetime));
        named.extend(of_reference.cloned());
    }
    inner_types(ty, &mut |ty| named.extend(named_lifetimes(ty)));
    named.retain(|lifetime| lifetime.ident != "_");
    named
}

/// The lifetimes that a path is given, but `'static`.
fn lifetimes(ty: &Type) -> impl Iterator<Item = &Lifetime> {
    let path = match ty {
        Type::Path(path) => Some(path),
        _ => None,
    };
    path.into_iter()
        .flat_map(arguments)
        .filter_map(|argument| match argument {
            GenericArgument::Lifetime(lifetime) if !is_static(lifetime) => Some(lifetime),
            _ => None,
        })
}

fn is_static(lifetime: &Lifetime) -> bool {
    lifetime.ident == "static"
}

fn bounds<'a>(bounds: impl Iterator<Item = &'a TypeParamBound>) -> impl Iterator<Item = &'a Path> {
    bounds.filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) => Some(&bound.path),
        _ => None,
    })
}
