//! Parses an incomplete function, which an editor expands while the user types. As much of the signature as possible is
//! parsed, so that the rest of the crate can use the function.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, Ident, ReturnType, Signature, Token, parse_quote};

use crate::function::Function;

/// Error message in case rustc reports none.
pub(crate) const INCOMPLETE: &str = "invalid signature of this tool";

/// Parses an incomplete function; `None` if the item does not start like one.
pub(crate) fn parse(item: &TokenStream) -> Option<Function> {
    let function = |input: ParseStream<'_>| {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let mut asyncness = None;
        while !input.peek(Token![fn]) {
            asyncness = asyncness.or(input.parse::<Option<Token![async]>>()?);
            if !input.peek(Token![async]) && !input.peek(Token![fn]) {
                qualifier(input)?;
            }
        }
        let fn_token: Token![fn] = input.parse()?;
        let ident: Ident = input.parse()?;
        let mut sig: Signature = parse_quote!(fn #ident());
        sig.asyncness = asyncness;
        sig.fn_token = fn_token;
        let body = rest(&mut sig, input.parse()?)?;
        Ok(Function {
            attrs,
            vis,
            sig,
            body: body.into(),
            tool_cfg: None,
        })
    };
    function.parse2(item.clone()).ok()
}

/// Skips `const`, `unsafe`, `extern "C"`.
fn qualifier(input: ParseStream<'_>) -> syn::Result<()> {
    match input.parse()? {
        TokenTree::Ident(word) if QUALIFIERS.iter().any(|qualifier| word == qualifier) => Ok(()),
        TokenTree::Literal(_abi) => Ok(()),
        other => Err(syn::Error::new(other.span(), "no function")),
    }
}

const QUALIFIERS: [&str; 5] = ["const", "extern", "gen", "safe", "unsafe"];

/// Parses the tokens after the name: parameters, return type, body. Any of these may be missing.
fn rest(sig: &mut Signature, tokens: TokenStream) -> syn::Result<Group> {
    let mut before_body = TokenStream::new();
    let mut body = None;
    let mut is_complete = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis && !is_complete => {
                (sig.inputs, is_complete) = params.parse2(group.stream())?;
                before_body = TokenStream::new();
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                body = Some(group);
                break;
            }
            other => other.to_tokens(&mut before_body),
        }
    }
    match syn::parse2::<ReturnType>(before_body) {
        Ok(output) => sig.output = output,
        Err(_) => is_complete = false,
    }
    // The body is dropped, since rustc would check the body against an incomplete signature.
    Ok(body
        .filter(|_| is_complete)
        .unwrap_or_else(|| Group::new(Delimiter::Brace, quote!(loop {}))))
}

/// Parses the parameters. Returns whether all parameters are complete. A parameter without a type becomes `impl Sized`.
fn params(input: ParseStream<'_>) -> syn::Result<(Punctuated<FnArg, Token![,]>, bool)> {
    let mut params = Punctuated::new();
    let mut are_complete = true;
    while !input.is_empty() {
        let ahead = input.fork();
        match ahead.parse::<FnArg>() {
            Ok(param) if ahead.is_empty() || ahead.peek(Token![,]) || starts_param(&ahead) => {
                syn::parse::discouraged::Speculative::advance_to(input, &ahead);
                are_complete &= !starts_param(input);
                params.push(param);
            }
            _ => {
                are_complete = false;
                if input.call(Attribute::parse_outer).is_err() || input.peek(Token![#]) {
                    // Skips an incomplete attribute.
                    let _: Option<Token![#]> = input.parse()?;
                }
                if let Some(name) = skip_param(input) {
                    params.push(parse_quote!(#name: impl ::core::marker::Sized));
                }
            }
        }
        let _: Option<Token![,]> = input.parse()?;
    }
    Ok((params, are_complete))
}

/// Returns whether another parameter starts here, without a comma before it.
fn starts_param(input: ParseStream<'_>) -> bool {
    input.peek(Token![#]) || (input.peek(Ident) && input.peek2(Token![:]) && !input.peek2(Token![::]))
}

/// Skips to the next comma between parameters, and returns the first identifier as the parameter's name.
fn skip_param(input: ParseStream<'_>) -> Option<Ident> {
    let mut name = None;
    let mut depth = 0_usize;
    let mut found_any = false;
    while !input.is_empty() && !input.peek(Token![#]) && (depth > 0 || !input.peek(Token![,])) {
        found_any = true;
        let _: Option<Token![->]> = input.parse().ok()?;
        if name.is_none() {
            name = input.fork().parse::<Ident>().ok();
        }
        match input.parse() {
            Ok(TokenTree::Punct(punct)) if punct.as_char() == '<' => depth += 1,
            Ok(TokenTree::Punct(punct)) if punct.as_char() == '>' => depth = depth.saturating_sub(1),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    found_any.then(|| name.unwrap_or_else(|| format_ident!("_unnamed")))
}
