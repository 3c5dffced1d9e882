//! A function whose body stays tokens: it is not this crate's business, and half of one is fine.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Signature, Visibility, token};

#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// A block, or `;`.
    pub(crate) body: TokenTree,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        Self::after_attrs(attrs, input)
    }
}

impl Function {
    pub(crate) fn after_attrs(attrs: Vec<Attribute>, input: ParseStream<'_>) -> syn::Result<Self> {
        let vis = input.parse()?;
        let sig = input.parse()?;
        if !input.peek(token::Brace) && !input.peek(syn::Token![;]) {
            return Err(input.error("expected the body of the function: `{ .. }`"));
        }
        let body = input.parse()?;
        Ok(Self {
            attrs,
            vis,
            sig,
            body,
        })
    }

    pub(crate) fn has_body(&self) -> bool {
        matches!(self.body, TokenTree::Group(_))
    }

    /// The `cfg`s of the function, which whatever is made from it shares.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }
}

pub(crate) fn is_tool(attr: &Attribute) -> bool {
    is(attr, "tool")
}

pub(crate) fn is_tools(attr: &Attribute) -> bool {
    is(attr, "tools")
}

fn is(attr: &Attribute, name: &str) -> bool {
    attr.path().segments.last().is_some_and(|last| last.ident == name)
}

/// Whether the parameters of a function that is no tool say what only a tool's can; that is taken away.
pub(crate) fn describes(sig: &mut Signature) -> bool {
    let mut described = false;
    for input in &mut sig.inputs {
        attrs_of(input).retain(|attr| {
            let ours = attr.path().is_ident("doc") || attr.path().is_ident("arg");
            described |= ours;
            !ours
        });
    }
    described
}

/// Takes the attributes away that only this crate understands, and with them what rustc allows on no parameter.
pub(crate) fn clean(input: &mut FnArg) -> Vec<Attribute> {
    attrs_of(input)
        .extract_if(.., |attr| {
            is_tool(attr) || OF_PARAMETERS.iter().any(|ours| attr.path().is_ident(ours))
        })
        .collect()
}

fn attrs_of(input: &mut FnArg) -> &mut Vec<Attribute> {
    match input {
        FnArg::Receiver(receiver) => &mut receiver.attrs,
        FnArg::Typed(typed) => &mut typed.attrs,
    }
}

/// Ours; what rustc allows on no parameter; and what is written by mistake for ours.
const OF_PARAMETERS: [&str; 14] = [
    "arg",
    "doc",
    "cfg",
    "cfg_attr",
    "args",
    "argument",
    "default",
    "description",
    "field",
    "param",
    "parameter",
    "schemars",
    "serde",
    "tools",
];

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self {
            attrs,
            vis,
            sig,
            body,
        } = self;
        let mut sig = sig.to_token_stream();
        if self.sig.generics.params.is_empty() {
            sig = with_no_generics(sig);
        }
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

/// `<>` behind the name.
fn with_no_generics(sig: TokenStream) -> TokenStream {
    let mut behind_fn = false;
    let mut tokens = TokenStream::new();
    for token in sig {
        let is_name = std::mem::replace(
            &mut behind_fn,
            matches!(&token, TokenTree::Ident(word) if word == "fn"),
        );
        tokens.extend([token]);
        if is_name {
            no_generics(&mut tokens);
        }
    }
    tokens
}

/// `<>`, where nobody wrote any: a type that is not found gets one message and not two. To the one in the signature
/// rustc would add the advice to make it generic, which is wrong for a tool and keeps the two from being alike; it does
/// not where a macro wrote the generics.
pub(crate) fn no_generics(tokens: &mut TokenStream) {
    tokens.extend(quote_spanned!(Span::mixed_site()=> <>));
}
