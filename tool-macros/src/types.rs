//! Checks of a type's syntax: references, lifetimes, `impl Trait` and unsized types.
//!
//! The traits of the runtime check all other properties of types, since the compiler resolves aliases.

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{
    GenericArgument, Ident, Lifetime, Path, PathArguments, Type, TypeParamBound, TypePath, TypeReference,
};

use crate::errors::Errors;

/// Checks that the type of a parameter is owned, concrete and sized. The compiler would report a violation in several
/// messages.
pub(crate) fn check_param(ty: &Type, is_described: bool, errors: &Errors) {
    match ty {
        Type::Path(path) if path.path.is_ident("str") => {
            errors.at(path.span(), "a `str` is unsized; take a `String`");
        }
        Type::Slice(slice) => errors.at(
            slice.bracket_token.span.open(),
            "a slice is unsized; take a `Vec<T>`",
        ),
        Type::TraitObject(object) => errors.at(
            object.dyn_token.map_or_else(|| object.span(), |word| word.span),
            "a parameter of a tool cannot be `dyn Trait`, which has no schema; write a concrete type",
        ),
        Type::Paren(paren) => check_param(&paren.elem, is_described, errors),
        Type::Group(group) => check_param(&group.elem, is_described, errors),
        _ => {
            // The traits of the runtime accept `State<&'static str>`. A parameter from the model is deserialized, and rustc's
            // message about a reference in its type is less clear.
            let is_host_type = last_name(ty).is_some_and(|name| HOST_TYPES.iter().any(|known| name == known));
            check_owned(ty, !is_described || is_host_type, true, errors);
        }
    }
}

/// Types that contain a value of the host, for messages only.
pub(crate) const HOST_TYPES: [&str; 3] = ["State", "SessionState", "Extension"];

/// Reports references, lifetimes and `impl Trait` anywhere in the type. A `'static` reference is reported only if it is the
/// whole type, or if `may_hold_static` is `false`.
fn check_owned(ty: &Type, may_hold_static: bool, is_outer: bool, errors: &Errors) {
    let is_static = |reference: &TypeReference| reference.lifetime.as_ref().is_some_and(is_static);
    match ty {
        Type::Reference(reference) if may_hold_static && !is_outer && is_static(reference) => {}
        Type::Reference(reference) => {
            let instead = match &*reference.elem {
                Type::Slice(_) => "take a `Vec<T>`",
                Type::Path(path) => owned(&path.path).unwrap_or("take it by value"),
                _ => "take it by value",
            };
            errors.at(
                reference.and_token.span,
                format_args!("a parameter of a tool cannot borrow; {instead}"),
            );
        }
        Type::ImplTrait(open) => errors.at(
            open.impl_token.span,
            "a parameter of a tool cannot be `impl Trait`, which has no schema; write a concrete type",
        ),
        _ => inner_types(ty, &mut |ty| check_owned(ty, may_hold_static, false, errors)),
    }
    for lifetime in lifetimes(ty) {
        errors.at(
            lifetime.span(),
            "a parameter of a tool cannot borrow; write an owned type",
        );
    }
}

/// Returns the owned equivalent of an unsized type of the standard library, for messages only.
fn owned(path: &Path) -> Option<&'static str> {
    let last = path.segments.last().filter(|last| last.arguments.is_none())?;
    let (_, instead) = OWNED.iter().find(|(borrowed, _)| last.ident == borrowed)?;
    Some(instead)
}

const OWNED: [(&str, &str); 3] = [
    ("str", "take a `String`"),
    ("Path", "take a `PathBuf`"),
    ("OsStr", "take a `String`, or a `PathBuf` for a path"),
];

/// Checks the type of a `#[tools]` block, which must be owned, since calls share its value and may outlive a borrow.
pub(crate) fn check_self_type(ty: &Type, errors: &Errors) {
    for lifetime in lifetimes(ty) {
        errors.at(
            lifetime.span(),
            "a type with tools cannot borrow, as calls may outlive the borrow; own the data, or hold an `Arc`",
        );
    }
}

/// Checks the type of a returned value, which must be owned, since it outlives the call. With `is_method`, the value
/// could borrow from `self`.
pub(crate) fn check_output(ty: &Type, is_method: bool, is_blocking: bool, errors: &Errors) {
    match ty {
        Type::Never(never) => errors.at(
            never.bang_token.span,
            "a tool cannot return `!`; write the type of its result, or no type",
        ),
        Type::ImplTrait(open) if is_future(ty) && is_blocking => errors.at(
            open.impl_token.span,
            "a future does not block its thread; write an `async fn` without `blocking`, and return the output of the future",
        ),
        Type::ImplTrait(open) if is_future(ty) => errors.at(
            open.impl_token.span,
            "an `async fn` already returns a future; write the output of the future",
        ),
        Type::Reference(reference) => {
            if reference.lifetime.as_ref().is_some_and(is_static) {
                return;
            }
            report_borrowed(reference.and_token.span, is_method, errors);
        }
        _ => inner_types(ty, &mut |ty| check_output(ty, is_method, is_blocking, errors)),
    }
    for lifetime in lifetimes(ty) {
        report_borrowed(lifetime.span(), is_method, errors);
    }
}

fn report_borrowed(span: Span, is_method: bool, errors: &Errors) {
    if is_method {
        errors.at(
            span,
            "a tool cannot return borrowed data; return an owned value, such as `String` for `&str`",
        );
    } else {
        // rustc reports a missing lifetime, with good advice.
        errors.leave_to_rustc("missing lifetime in the return type of this tool");
    }
}

/// Returns whether the type looks like a future, for messages only.
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

/// Returns whether a closure parameter may have this type, which must not contain `impl Trait`.
pub(crate) fn is_closed(ty: &Type) -> bool {
    let mut closed = !matches!(ty, Type::ImplTrait(_));
    inner_types(ty, &mut |ty| closed &= is_closed(ty));
    closed
}

/// Returns the span of `Self` in the type. A function with `Self` in its signature is in an `impl` block.
pub(crate) fn self_type_span(ty: &Type) -> Option<Span> {
    if let Type::Path(path) = ty
        && let Some(first) = path.path.segments.first()
        && first.ident == "Self"
    {
        return Some(first.ident.span());
    }
    let mut found = None;
    inner_types(ty, &mut |ty| found = found.or_else(|| self_type_span(ty)));
    found
}

/// Returns the reference in `&Self`.
pub(crate) fn reference_to_self(ty: &Type) -> Option<&TypeReference> {
    match ungrouped(ty) {
        Type::Reference(reference) => match ungrouped(&reference.elem) {
            Type::Path(path) if path.path.is_ident("Self") => Some(reference),
            _ => None,
        },
        _ => None,
    }
}

/// Removes parentheses, and invisible groups of macros.
fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Paren(paren) => ungrouped(&paren.elem),
        Type::Group(group) => ungrouped(&group.elem),
        _ => ty,
    }
}

/// Returns the span of the last segment of a path, where rustc reports the type.
pub(crate) fn name_span(ty: &Type) -> Span {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.span()),
        Type::Paren(paren) => Some(name_span(&paren.elem)),
        Type::Group(group) => Some(name_span(&group.elem)),
        _ => None,
    }
    .unwrap_or_else(|| ty.span())
}

/// Returns the last name in the path of a type.
pub(crate) fn last_name(ty: &Type) -> Option<&Ident> {
    match ungrouped(ty) {
        Type::Path(path) => path.path.segments.last().map(|last| &last.ident),
        _ => None,
    }
}

/// Formats a type in the usual spelling.
pub(crate) fn text(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (spaced, written) in [
        (" :: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
    ] {
        text = text.replace(spaced, written);
    }
    text
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

/// Returns all lifetimes in the type except `'static` and `'_`.
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

/// Returns the lifetime arguments of a path except `'static`.
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
