//! Items that the macros cannot parse: their kinds, and their tokens without the attributes of the macros. rustc would
//! report the attributes, too.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{Attribute, Visibility};

use crate::function::Function;
use crate::incomplete;

pub(crate) enum ItemKind {
    /// An incomplete function.
    Function(Box<Function>),
    /// Another item, with its keyword.
    Other(Ident),
    /// Tokens that do not start an item.
    Unknown,
}

pub(crate) fn kind(item: &TokenStream) -> ItemKind {
    if let Some(function) = incomplete::parse(item) {
        return ItemKind::Function(Box::new(function));
    }
    let keyword = |input: ParseStream<'_>| {
        Attribute::parse_outer(input)?;
        Visibility::parse(input)?;
        let keyword = Ident::parse_any(input)?;
        let _: TokenStream = input.parse()?;
        Ok(keyword)
    };
    keyword
        .parse2(item.clone())
        .map_or(ItemKind::Unknown, ItemKind::Other)
}

/// Removes `#[tool]`, and `#[arg]` and doc comments between parentheses.
pub(crate) fn strip_attributes(item: TokenStream) -> TokenStream {
    strip(item, &["tool"])
}

fn strip(tokens: TokenStream, ours: &[&str]) -> TokenStream {
    let mut stripped = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if tokens.next_if(|next| is_attribute(next, ours)).is_none() {
                    punct.to_tokens(&mut stripped);
                }
            }
            TokenTree::Group(group) => {
                let ours: &[&str] = match group.delimiter() {
                    Delimiter::Parenthesis => &["tool", "arg", "doc"],
                    _ => &["tool"],
                };
                let mut inner = Group::new(group.delimiter(), strip(group.stream(), ours));
                inner.set_span(group.span());
                inner.to_tokens(&mut stripped);
            }
            other => other.to_tokens(&mut stripped),
        }
    }
    stripped
}

fn is_attribute(token: &TokenTree, ours: &[&str]) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    let name = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(name, Some(TokenTree::Ident(name)) if ours.iter().any(|ours| name == ours))
}
