//! [`Function`]: a function with an unparsed body. The macros do not need the body, and the body may be incomplete.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Signature, Type, Visibility, token};

#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// Tokens of the body: a block, or `;`.
    pub(crate) body: TokenTree,
    /// Condition of a conditional tool whose function is unconditional: the `cfg_attr` around `#[tool]`.
    pub(crate) tool_cfg: Option<Attribute>,
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
            return Err(input.error("expected a function body: `{ .. }`"));
        }
        let body = input.parse()?;
        Ok(Self {
            attrs,
            vis,
            sig,
            body,
            tool_cfg: None,
        })
    }

    pub(crate) fn has_body(&self) -> bool {
        matches!(self.body, TokenTree::Group(_))
    }

    /// Returns the types of the parameters without `self`.
    pub(crate) fn param_types(&self) -> impl Iterator<Item = &Type> {
        self.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Receiver(_) => None,
            FnArg::Typed(typed) => Some(&*typed.ty),
        })
    }

    /// Returns the `cfg`s of the function and of the tool, which apply to everything generated from it.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        let own = self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        own.chain(&self.tool_cfg)
    }
}

pub(crate) fn is_tool(attr: &Attribute) -> bool {
    is_named(attr, "tool")
}

pub(crate) fn is_tools(attr: &Attribute) -> bool {
    is_named(attr, "tools")
}

fn is_named(attr: &Attribute, name: &str) -> bool {
    attr.path().segments.last().is_some_and(|last| last.ident == name)
}

/// Removes `#[arg]` and doc comments from the parameters of a function that is not a tool. Returns whether an attribute or
/// a comment was removed.
pub(crate) fn strip_param_docs(sig: &mut Signature) -> bool {
    let mut stripped = false;
    for input in &mut sig.inputs {
        attrs_of(input).retain(|attr| {
            let ours = attr.path().is_ident("doc") || attr.path().is_ident("arg");
            stripped |= ours;
            !ours
        });
    }
    stripped
}

/// Removes and returns the macros' attributes, and attributes that rustc allows on no parameter.
pub(crate) fn take_tool_attrs(input: &mut FnArg) -> Vec<Attribute> {
    attrs_of(input)
        .extract_if(.., |attr| {
            is_tool(attr) || PARAM_ATTRS.iter().any(|ours| attr.path().is_ident(ours))
        })
        .collect()
}

fn attrs_of(input: &mut FnArg) -> &mut Vec<Attribute> {
    match input {
        FnArg::Receiver(receiver) => &mut receiver.attrs,
        FnArg::Typed(typed) => &mut typed.attrs,
    }
}

/// Attributes of the macros, attributes that rustc allows on no parameter, and likely misspellings of `#[arg]`.
const PARAM_ATTRS: [&str; 14] = [
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
            tool_cfg: _,
        } = self;
        let mut sig = sig.to_token_stream();
        if self.sig.generics.params.is_empty() {
            sig = with_empty_generics(sig);
        }
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

/// Inserts `<>` after the name.
fn with_empty_generics(sig: TokenStream) -> TokenStream {
    let mut is_after_fn = false;
    let mut tokens = TokenStream::new();
    for token in sig {
        let is_name = std::mem::replace(
            &mut is_after_fn,
            matches!(&token, TokenTree::Ident(word) if word == "fn"),
        );
        tokens.extend([token]);
        if is_name {
            empty_generics(&mut tokens);
        }
    }
    tokens
}

/// Emits empty generics `<>`, so that rustc reports an unknown type once. Without them, rustc suggests a generic
/// parameter in the signature. The suggestion is wrong for a tool, and the message then differs from the message for the
/// expansion, so rustc shows both.
pub(crate) fn empty_generics(tokens: &mut TokenStream) {
    tokens.extend(quote_spanned!(Span::mixed_site()=> <>));
}
