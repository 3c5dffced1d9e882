//! `#[tool]`: attr → ast → check → expand.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::{Place, ToolFn};
use crate::attr::ToolAttr;
use crate::check::check;
use crate::errors::Errors;
use crate::expand::expand;
use crate::fallback::fallback;
use crate::item;
use crate::signature::Function;

pub(crate) fn tool(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(error) => return no_function(item, &error),
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

/// Something else than a function: it stays as it is.
fn no_function(item: &TokenStream, error: &syn::Error) -> TokenStream {
    let error = match item::keyword(item) {
        Some(keyword) if keyword == "impl" => syn::Error::new(
            keyword.span(),
            "`#[tool]` belongs on the methods; write `#[tools]` on the `impl` block",
        ),
        Some(keyword) if OTHERS.iter().any(|other| keyword == other) => {
            syn::Error::new(keyword.span(), "a tool is an `async fn`; put `#[tool]` on one")
        }
        _ => error.clone(),
    };
    let error = error.to_compile_error();
    quote!(#item #error)
}

/// What begins an item that is no function.
const OTHERS: [&str; 9] = [
    "enum",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "use",
];
