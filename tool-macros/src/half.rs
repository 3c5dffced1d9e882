//! A function that is half-typed: as much of its signature as can be read, so that the rest of the crate, and an
//! editor, still know it. What is wrong with it rustc has said before any macro runs.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, Ident, ReturnType, Signature, Token, parse_quote};

use crate::signature::Function;

/// What is said should rustc, against all expectation, have nothing to say.
pub(crate) const HALF_TYPED: &str = "this tool's signature cannot be read";

/// The function that an item begins to be.
pub(crate) fn read(item: &TokenStream) -> Option<Function> {
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
        })
    };
    function.parse2(item.clone()).ok()
}

/// `const`, `unsafe`, `extern "C"`: not our concern yet.
fn qualifier(input: ParseStream<'_>) -> syn::Result<()> {
    match input.parse()? {
        TokenTree::Ident(word) if QUALIFIERS.iter().any(|qualifier| word == qualifier) => Ok(()),
        TokenTree::Literal(_abi) => Ok(()),
        other => Err(syn::Error::new(other.span(), "no function")),
    }
}

const QUALIFIERS: [&str; 5] = ["const", "extern", "gen", "safe", "unsafe"];

/// What follows the name: parameters, what is returned, the body. Each may be missing.
fn rest(sig: &mut Signature, tokens: TokenStream) -> syn::Result<Group> {
    let mut before_body = TokenStream::new();
    let mut body = None;
    let mut is_whole = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis && !is_whole => {
                (sig.inputs, is_whole) = params.parse2(group.stream())?;
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
        Err(_) => is_whole = false,
    }
    // A body would only be held against a signature that nobody wrote.
    Ok(body
        .filter(|_| is_whole)
        .unwrap_or_else(|| Group::new(Delimiter::Brace, quote!(loop {}))))
}

/// The parameters, and whether each could be read; one without a type may be anything.
fn params(input: ParseStream<'_>) -> syn::Result<(Punctuated<FnArg, Token![,]>, bool)> {
    let mut params = Punctuated::new();
    let mut are_whole = true;
    while !input.is_empty() {
        let ahead = input.fork();
        match ahead.parse::<FnArg>() {
            Ok(param) if ahead.is_empty() || ahead.peek(Token![,]) || begins(&ahead) => {
                syn::parse::discouraged::Speculative::advance_to(input, &ahead);
                are_whole &= !begins(input);
                params.push(param);
            }
            _ => {
                are_whole = false;
                if input.call(Attribute::parse_outer).is_err() || input.peek(Token![#]) {
                    // Not even that is whole.
                    let _: Option<Token![#]> = input.parse()?;
                }
                if let Some(name) = skip(input) {
                    params.push(parse_quote!(#name: impl ::core::marker::Sized));
                }
            }
        }
        let _: Option<Token![,]> = input.parse()?;
    }
    Ok((params, are_whole))
}

/// Another parameter, where a comma was forgotten.
fn begins(input: ParseStream<'_>) -> bool {
    input.peek(Token![#]) || (input.peek(Ident) && input.peek2(Token![:]) && !input.peek2(Token![::]))
}

/// Goes to the next comma between parameters; the first word that may be a name is one.
fn skip(input: ParseStream<'_>) -> Option<Ident> {
    let mut name = None;
    let mut depth = 0_usize;
    let mut is_there = false;
    while !input.is_empty() && !input.peek(Token![#]) && (depth > 0 || !input.peek(Token![,])) {
        is_there = true;
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
    is_there.then(|| name.unwrap_or_else(|| format_ident!("_unnamed")))
}
