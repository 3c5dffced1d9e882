//! Expands a rejected tool to the function and a stub, so that its mistakes cause no further errors, and editors find the names.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{FnArg, GenericParam, LifetimeParam, Type, parse_quote};

use crate::crate_path::Runtime;
use crate::expand::{implementation, param, respond, tool_struct};
use crate::function::Function;
use crate::types;
use crate::validate::{Output, Parts, Rejected};

pub(crate) fn fallback(rejected: &Rejected) -> TokenStream {
    let Rejected { parts, errors } = rejected;
    // A struct is impossible in an `impl` block, or with the name of a primitive type.
    if !parts.has_struct {
        let function = compilable(&parts.function);
        return quote!(#function #errors);
    }
    let function = compilable(&with_lifetimes(&parts.function));
    let tool_struct = tool_struct(&parts.function);
    let rt = Runtime::new(parts.krate.as_ref(), &parts.function.sig.ident);
    let type_checks = type_checks(parts, &rt);
    let assertion = errors.rustc_assertion();
    let body = quote!(#(let _ = #type_checks;)* #assertion loop {});
    let stub = implementation(&parts.function, &rt, &body);
    quote! {
        #function

        #tool_struct

        #stub

        #errors
    }
}

/// Returns expressions that make the compiler check the types of the valid parts in the same build.
pub(crate) fn type_checks(parts: &Parts, rt: &Runtime) -> Vec<TokenStream> {
    let params = parts.params.iter().map(|param| self::param(param, rt));
    let output = parts.output.as_ref();
    params
        .chain(output.and_then(|output| returned(output, rt)))
        .collect()
}

/// Returns a closure that converts a value of the output's type to a response; `None` if a closure cannot have a parameter
/// of this type.
fn returned(output: &Output, rt: &Runtime) -> Option<TokenStream> {
    let ty = output.ty.as_ref().filter(|ty| types::is_closed(ty))?;
    let span = types::name_span(ty);
    let value = Ident::new("returned", Span::mixed_site());
    let response = respond(output, &quote!(#value), span, rt);
    Some(quote!(|#value: #ty| #response))
}

/// Returns the function with declarations of its undeclared lifetimes. The borrows were already reported, so rustc must not
/// report their lifetimes.
fn with_lifetimes(function: &Function) -> Function {
    let mut function = function.clone();
    for lifetime in function
        .param_types()
        .flat_map(types::named_lifetimes)
        .collect::<Vec<_>>()
    {
        let declared = &mut function.sig.generics.params;
        let is_declared = declared
            .iter()
            .any(|generic| matches!(generic, GenericParam::Lifetime(known) if known.lifetime == lifetime));
        if !is_declared {
            declared.insert(0, GenericParam::Lifetime(LifetimeParam::new(lifetime)));
        }
    }
    function
}

/// Returns the function without the parts that were reported, and without parts that rustc would report again.
pub(crate) fn compilable(function: &Function) -> TokenStream {
    let mut function = function.clone();
    function
        .attrs
        .retain(|attr| !attr.path().is_ident("arg") && !crate::function::is_tool(attr));
    function.sig.variadic = None;
    for input in &mut function.sig.inputs {
        if let FnArg::Typed(typed) = input {
            make_sized(&mut typed.ty);
        }
    }
    if function.sig.asyncness.is_some() {
        function.sig.constness = None;
    }
    if !function.has_body() {
        function.body = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, quote!(loop {})).into();
    }
    function.into_token_stream()
}

/// Borrows an unsized type, which rustc would report again in the signature and in the body.
fn make_sized(ty: &mut Type) {
    let is_unsized = match ty {
        Type::Path(path) => path.path.is_ident("str"),
        Type::Slice(_) | Type::TraitObject(_) => true,
        _ => false,
    };
    if is_unsized {
        *ty = parse_quote!(&(#ty));
    }
}
