//! Attribute `#[tool]`: attr → raw → validate → expand.

use proc_macro2::TokenStream;
use quote::quote;

use crate::attr::ToolAttr;
use crate::errors::Errors;
use crate::expand::expand;
use crate::fallback::fallback;
use crate::function::Function;
use crate::incomplete::INCOMPLETE;
use crate::invalid_item::{self, ItemKind, strip_attributes};
use crate::raw::{Place, RawTool};
use crate::validate::{reject_incomplete, validate};

pub(crate) fn tool(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(error) => return not_a_function(attr, item, &error),
    };
    let errors = Errors::new();
    let attr = ToolAttr::parse(attr, &errors);
    let tool = RawTool::read(Place::Free, function, attr, &errors);
    match validate(tool, errors) {
        Ok(tool) => expand(&tool),
        Err(rejected) => fallback(&rejected),
    }
}

/// Emits another item, or an incomplete function, unchanged.
fn not_a_function(attr: TokenStream, item: &TokenStream, error: &syn::Error) -> TokenStream {
    let error = match invalid_item::kind(item) {
        ItemKind::Function(function) => return incomplete(attr, *function),
        ItemKind::Other(keyword) if keyword == "impl" => syn::Error::new(
            keyword.span(),
            "`#[tool]` belongs on the methods; write `#[tools]` on the `impl` block",
        ),
        ItemKind::Other(keyword) => syn::Error::new(
            keyword.span(),
            "a tool must be an `async fn`; put `#[tool]` on one",
        ),
        ItemKind::Unknown => error.clone(),
    };
    let item = strip_attributes(item.clone());
    let error = error.to_compile_error();
    quote!(#item #error)
}

/// Emits the parsed part of an incomplete function, whose syntax error rustc has reported.
fn incomplete(attr: TokenStream, function: Function) -> TokenStream {
    let errors = Errors::new();
    errors.leave_to_rustc(INCOMPLETE);
    let attr = ToolAttr::parse(attr, &errors);
    let tool = RawTool::read(Place::Free, function, attr, &errors);
    fallback(&reject_incomplete(tool, errors))
}
