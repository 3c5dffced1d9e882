//! From a checked tool to what stands in its place: the function, a struct of its name, and `Tool` for that.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, ReturnType};

use crate::ast::{Param, ToolFn};
use crate::attr::Keyed;
use crate::crate_path::Runtime;

pub(crate) fn expand(tool: &ToolFn) -> TokenStream {
    let function = &tool.function;
    let ident = &function.sig.ident;
    let cfgs: Vec<_> = function.cfgs().collect();
    let structure = structure(tool);
    let rt = &Runtime::new(tool.attr.krate.as_ref(), ident);
    let import = rt.import();
    let params = params(tool, rt);
    let types = types(tool, rt);
    let declaration = declaration(tool, &quote!(&Self::PARAMS), rt);
    let call = Ident::new("call", Span::mixed_site());
    let run = run(tool, &quote!(#ident), rt);
    let pattern = bindings(tool);
    let started = Ident::new("run", ident.span());
    let rt = rt.at(Span::mixed_site());
    quote! {
        #function

        #structure

        #(#cfgs)*
        const _: () = {
            #import

            impl #ident {
                const PARAMS: #types = #params;
            }

            #[automatically_derived]
            impl #rt::Tool for #ident {
                fn declare() -> #rt::Declaration {
                    #declaration
                }

                fn call(#call: #rt::Call<'_>) -> #rt::Handled {
                    #call.#started(&Self::PARAMS, |#pattern| #run)
                }
            }
        };
    }
}

/// The type of the tool's name: types and functions do not share their names.
pub(crate) fn structure(tool: &ToolFn) -> TokenStream {
    let cfgs = tool.function.cfgs();
    let vis = &tool.function.vis;
    let ident = &tool.function.sig.ident;
    quote! {
        #(#cfgs)*
        /// The tool made from the function of the same name.
        #[allow(non_camel_case_types, missing_debug_implementations, reason = "it is the function's name")]
        #vis struct #ident {}
    }
}

/// `(Param<A>, Param<B>)`: each type is named once, so that a bad one is reported once, under itself.
pub(crate) fn types(tool: &ToolFn, rt: &Runtime) -> TokenStream {
    let types = tool.params.iter().map(|Param { ty, .. }| {
        let rt = rt.at(ty.span());
        quote!(#rt::Param<#ty>)
    });
    quote!((#(#types,)*))
}

/// A line for each parameter.
pub(crate) fn params(tool: &ToolFn, rt: &Runtime) -> TokenStream {
    let params = tool.params.iter().map(|param| self::param(param, rt));
    quote!((#(#params,)*))
}

fn param(param: &Param, rt: &Runtime) -> TokenStream {
    let name = &param.name;
    let span = param.ident.span();
    let spanned = rt.at(span);
    let mut line = if let Some(description) = &param.description {
        quote_spanned!(span=> #spanned::Param::of(#name, #description))
    } else {
        quote_spanned!(span=> #spanned::Param::undescribed(#name))
    };
    if let Some(Keyed { key, value }) = &param.arg.default {
        let value = fit(value, rt);
        line.extend(quote_spanned!(*key=> .default(|| #value)));
    }
    let facets = facets(param, rt);
    if !facets.is_empty() {
        let it = Ident::new("it", Span::mixed_site());
        line.extend(quote!(.refine(|#it| #it #facets)));
    }
    line
}

/// What the attributes say beyond the type, as calls on `Facets`.
fn facets(param: &Param, rt: &Runtime) -> TokenStream {
    let arg = &param.arg;
    let mut calls = TokenStream::new();
    if let Some(Keyed { key, value }) = &arg.range {
        calls.extend(quote_spanned!(*key=> .range(#value)));
    }
    if let Some(Keyed { key, value }) = &arg.length {
        calls.extend(quote_spanned!(*key=> .length(#value)));
    }
    if let Some(Keyed { key, value }) = &arg.pattern {
        calls.extend(quote_spanned!(*key=> .pattern(#value)));
    }
    if let Some(Keyed { key, value }) = &arg.values {
        let values = value.elems.iter().map(|value| fit(value, rt));
        calls.extend(quote_spanned!(*key=> .values([#(#values),*])));
    }
    if let Some(Keyed { key, value }) = &arg.example {
        let value = fit(value, rt);
        calls.extend(quote_spanned!(*key=> .example(#value)));
    }
    let flags = [
        ("not_blank", arg.not_blank),
        ("strict", arg.strict),
        ("case_sensitive", arg.case_sensitive),
    ];
    for (flag, key) in flags {
        if let Some(key) = key {
            let flag = Ident::new(flag, key);
            calls.extend(quote_spanned!(key=> .#flag()));
        }
    }
    calls
}

/// A value as it is written, made into the parameter's type.
fn fit(value: &Expr, rt: &Runtime) -> TokenStream {
    let rt = rt.at(value.span());
    quote_spanned!(value.span()=> #rt::Fits::fit(#value))
}

/// `Declaration::new(..)` and what the keys of `#[tool(..)]` add.
pub(crate) fn declaration(tool: &ToolFn, params: &TokenStream, rt: &Runtime) -> TokenStream {
    let rt = rt.at(Span::mixed_site());
    let attr = &tool.attr;
    let name = &tool.name;
    let description = &tool.description;
    let mut declaration = quote!(#rt::Declaration::new(#name, #description, #params));
    if let Some(title) = &attr.title {
        declaration.extend(quote!(.title(#title)));
    }
    for (hint, holds) in &attr.hints {
        declaration.extend(quote!(.#hint(#holds)));
    }
    if attr.strict {
        declaration.extend(quote!(.strict()));
    }
    if let Some(timeout) = attr.timeout {
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let timeout = if let (0, seconds) = (timeout.subsec_millis(), timeout.as_secs()) {
            quote!(from_secs(#seconds))
        } else {
            quote!(from_millis(#millis))
        };
        declaration.extend(quote!(.timeout(#rt::Duration::#timeout)));
    }
    if let Some(errors) = &attr.errors {
        declaration.extend(quote!(.errors(#errors)));
    }
    if !attr.input_examples.is_empty() {
        let examples = &attr.input_examples;
        declaration.extend(quote!(.examples([#(#rt::json!({ #examples })),*])));
    }
    declaration
}

/// `(a, b)`, out of reach of everything that the user wrote.
pub(crate) fn bindings(tool: &ToolFn) -> TokenStream {
    let bindings = tool.params.iter().map(|param| binding(&param.ident));
    quote!((#(#bindings,)*))
}

/// Awaits `function(a, b)` and answers with what it returns.
pub(crate) fn run(tool: &ToolFn, function: &TokenStream, rt: &Runtime) -> TokenStream {
    let sig = &tool.function.sig;
    let returned = match &sig.output {
        ReturnType::Default => sig.ident.span(),
        ReturnType::Type(_, ty) => ty.span(),
    };
    let this = this(tool).map(|this| quote!(&#this));
    let arguments = tool
        .params
        .iter()
        .map(|param| binding(&param.ident).into_token_stream());
    let arguments = this.into_iter().chain(arguments);
    let rt = rt.at(returned);
    let called = quote!(#function(#(#arguments),*).await);
    let answer = quote_spanned!(returned=> #rt::Output(#called).respond());
    quote_spanned!(sig.ident.span()=> async move { #answer })
}

fn binding(param: &Ident) -> Ident {
    let mut binding = param.clone();
    binding.set_span(Span::mixed_site());
    binding
}

/// What a method is called on.
pub(crate) fn this(tool: &ToolFn) -> Option<Ident> {
    let this = Ident::new("this", Span::mixed_site());
    tool.receiver.as_ref().map(|_| this)
}
