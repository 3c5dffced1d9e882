//! Items that cannot be read: what they are, and what is left of them without the attributes that only this crate
//! understands, so that rustc does not complain of those, too.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{Attribute, Visibility};

use crate::half;
use crate::signature::Function;

/// What such an item is.
pub(crate) enum Kind {
    /// A function, half-typed.
    Function(Box<Function>),
    /// Something else, and the word that says what.
    Other(Ident),
    /// No beginning of anything.
    Unknown,
}

pub(crate) fn kind(item: &TokenStream) -> Kind {
    if let Some(function) = half::read(item) {
        return Kind::Function(Box::new(function));
    }
    let keyword = |input: ParseStream<'_>| {
        Attribute::parse_outer(input)?;
        Visibility::parse(input)?;
        let keyword = Ident::parse_any(input)?;
        let _: TokenStream = input.parse()?;
        Ok(keyword)
    };
    keyword.parse2(item.clone()).map_or(Kind::Unknown, Kind::Other)
}

/// The item without `#[tool]`, and without `#[arg]` and doc comments where parameters are.
pub(crate) fn bare(item: TokenStream) -> TokenStream {
    stripped(item, &["tool"])
}

fn stripped(tokens: TokenStream, ours: &[&str]) -> TokenStream {
    let mut bare = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if tokens.next_if(|next| is_attribute(next, ours)).is_none() {
                    punct.to_tokens(&mut bare);
                }
            }
            TokenTree::Group(group) => {
                let ours: &[&str] = match group.delimiter() {
                    Delimiter::Parenthesis => &["tool", "arg", "doc"],
                    _ => &["tool"],
                };
                let mut inner = Group::new(group.delimiter(), stripped(group.stream(), ours));
                inner.set_span(group.span());
                inner.to_tokens(&mut bare);
            }
            other => other.to_tokens(&mut bare),
        }
    }
    bare
}

fn is_attribute(token: &TokenTree, ours: &[&str]) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    let name = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(name, Some(TokenTree::Ident(name)) if ours.iter().any(|ours| name == ours))
}
