//! `#[tool]`: attr → ast → check → expand.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse as _, ParseStream, Parser as _};

use crate::ast::ToolFn;
use crate::attr::ToolAttr;
use crate::check::{Place, check};
use crate::errors::Errors;
use crate::expand::expand;
use crate::fallback::fallback;
use crate::signature::Function;

pub(crate) fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(error) => return no_function(&item, &error),
    };
    let errors = Errors::new();
    let attr = ToolAttr::parse(attr, &errors);
    let tool = ToolFn::read(function, attr, &errors);
    check(&tool, Place::Free, &errors);
    match errors.finish() {
        Ok(()) => expand(&tool),
        Err(refused) => fallback(&tool, &refused),
    }
}

/// Something else than a function: it stays as it is.
fn no_function(item: &TokenStream, error: &syn::Error) -> TokenStream {
    let keyword = (|input: ParseStream<'_>| {
        syn::Attribute::parse_outer(input)?;
        syn::Visibility::parse(input)?;
        let keyword: TokenTree = input.parse()?;
        let _: TokenStream = input.parse()?;
        Ok(keyword)
    })
    .parse2(item.clone());
    let instead = match &keyword {
        Ok(TokenTree::Ident(word)) if word == "impl" => {
            "`#[tool]` belongs on the methods; write `#[tools]` on the `impl` block"
        }
        Ok(TokenTree::Ident(word))
            if [
                "struct",
                "enum",
                "union",
                "trait",
                "mod",
                "type",
                "use",
                "static",
                "macro_rules",
            ]
            .iter()
            .any(|other| word == other) =>
        {
            "a tool is an `async fn`; put `#[tool]` on one"
        }
        _ => {
            let error = error.to_compile_error();
            return quote!(#item #error);
        }
    };
    let error = syn::Error::new_spanned(keyword.ok(), instead).to_compile_error();
    quote!(#item #error)
}
