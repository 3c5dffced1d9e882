//! `#[tool]`: attr → ast → check → expand.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::{Place, ToolFn};
use crate::attr::ToolAttr;
use crate::bare::{self, Kind, bare};
use crate::check::check;
use crate::errors::Errors;
use crate::expand::expand;
use crate::fallback::fallback;
use crate::half::HALF_TYPED;
use crate::signature::Function;

pub(crate) fn tool(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(error) => return no_function(attr, item, &error),
    };
    let errors = Errors::new();
    let attr = ToolAttr::parse(attr, &errors);
    let tool = ToolFn::read(Place::Free, function, attr, &errors);
    check(&tool, &errors);
    match errors.finish() {
        Ok(()) => expand(&tool),
        Err(refused) => fallback(&tool, &refused),
    }
}

/// Something else than a function, or half of one: it stays as it is.
fn no_function(attr: TokenStream, item: &TokenStream, error: &syn::Error) -> TokenStream {
    let error = match bare::kind(item) {
        Kind::Function(function) => return half_typed(attr, *function),
        Kind::Other(keyword) if keyword == "impl" => syn::Error::new(
            keyword.span(),
            "`#[tool]` belongs on the methods; write `#[tools]` on the `impl` block",
        ),
        Kind::Other(keyword) => {
            syn::Error::new(keyword.span(), "a tool is an `async fn`; put `#[tool]` on one")
        }
        Kind::Unknown => error.clone(),
    };
    let item = bare(item.clone());
    let error = error.to_compile_error();
    quote!(#item #error)
}

/// The function as far as it goes; rustc, too, finds it half-typed, and has said so.
fn half_typed(attr: TokenStream, function: Function) -> TokenStream {
    let errors = Errors::new();
    errors.leave_to_rustc(HALF_TYPED);
    let attr = ToolAttr::parse(attr, &errors);
    let mut tool = ToolFn::read(Place::Free, function, attr, &errors);
    // Who types has not come to the descriptions yet.
    tool.params.iter_mut().for_each(|param| param.is_sound = false);
    match errors.finish() {
        Ok(()) => expand(&tool),
        Err(refused) => fallback(&tool, &refused),
    }
}
