//! The attribute macros of `tool-runtime`, documented at their re-exports there.

// Dependencies first: a module uses only modules declared before it.
mod errors;
mod suggest;
mod rename;
mod crate_path;
mod doc;
mod keys;
mod pattern;
mod attr;
mod function;
mod types;
mod incomplete;
mod invalid_item;
mod raw;
mod limits;
mod validate;
mod expand;
mod fallback;
mod tool;
mod impl_block;
mod tools;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

#[allow(missing_docs, reason = "documented at the re-export")]
#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    tool::tool(attr.into(), &item.into()).into()
}

#[allow(missing_docs, reason = "documented at the re-export")]
#[proc_macro_attribute]
pub fn tools(attr: TokenStream, item: TokenStream) -> TokenStream {
    tools::tools(attr.into(), &item.into()).into()
}
