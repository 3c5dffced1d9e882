//! Parses the `impl` block of `#[tools]`: functions are parsed, other items remain tokens.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Generics, Token, Type, WhereClause, braced, token};

use crate::function::{Function, empty_generics};

pub(crate) struct ImplBlock {
    attrs: Vec<Attribute>,
    unsafety: Option<Token![unsafe]>,
    impl_token: Token![impl],
    pub(crate) generics: Generics,
    pub(crate) of_trait: Option<(Type, Token![for])>,
    pub(crate) ty: Type,
    brace: token::Brace,
    inner_attrs: Vec<Attribute>,
    pub(crate) items: Vec<Item>,
}

#[derive(Clone)]
pub(crate) enum Item {
    Function(Box<Function>),
    Other(Vec<Attribute>, TokenStream),
}

impl Parse for ImplBlock {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let unsafety = input.parse()?;
        let impl_token = input.parse()?;
        let mut generics: Generics = input.parse()?;
        let first: Type = input.parse()?;
        let for_token: Option<Token![for]> = input.parse()?;
        let (of_trait, ty) = match for_token {
            Some(for_token) => (Some((first, for_token)), input.parse()?),
            None => (None, first),
        };
        generics.where_clause = input.parse::<Option<WhereClause>>()?;
        let content;
        let brace = braced!(content in input);
        let inner_attrs = content.call(Attribute::parse_inner)?;
        let mut items = Vec::new();
        while !content.is_empty() {
            items.push(content.parse()?);
        }
        Ok(Self {
            attrs,
            unsafety,
            impl_token,
            generics,
            of_trait,
            ty,
            brace,
            inner_attrs,
            items,
        })
    }
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let ahead = input.fork();
        if let Ok(function) = Function::after_attrs(Vec::new(), &ahead) {
            syn::parse::discouraged::Speculative::advance_to(input, &ahead);
            return Ok(Self::Function(Box::new(Function { attrs, ..function })));
        }
        let mut other = TokenStream::new();
        while !input.is_empty() {
            let token: TokenTree = input.parse()?;
            let last = match &token {
                TokenTree::Punct(punct) => punct.as_char() == ';',
                // A brace group ends the item. Tokens after it are parsed as the next item.
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                _ => false,
            };
            token.to_tokens(&mut other);
            if last {
                break;
            }
        }
        Ok(Self::Other(attrs, other))
    }
}

impl ImplBlock {
    /// Returns the `cfg`s of the block, which apply to everything generated from it.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }
}

impl ToTokens for ImplBlock {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self {
            attrs,
            unsafety,
            impl_token,
            generics,
            ty,
            inner_attrs,
            items,
            ..
        } = self;
        let of_trait = self.of_trait.iter().map(|(of, for_token)| quote!(#of #for_token));
        let clause = &generics.where_clause;
        let mut parameters = generics.to_token_stream();
        if generics.params.is_empty() {
            empty_generics(&mut parameters);
        }
        tokens.extend(quote!(#(#attrs)* #unsafety #impl_token #parameters #(#of_trait)* #ty #clause));
        self.brace.surround(tokens, |tokens| {
            tokens.extend(quote!(#(#inner_attrs)* #(#items)*));
        });
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Function(function) => function.to_tokens(tokens),
            Self::Other(attrs, other) => tokens.extend(quote!(#(#attrs)* #other)),
        }
    }
}

/// Returns the name of the macro that an item calls.
pub(crate) fn macro_name(item: &TokenStream) -> Option<Ident> {
    let mut name = None;
    for token in item.clone() {
        match token {
            TokenTree::Ident(ident) => name = Some(ident),
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            TokenTree::Punct(punct) if punct.as_char() == '!' => return name,
            _ => return None,
        }
    }
    None
}
