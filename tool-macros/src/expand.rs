//! From a checked tool to what stands in its place: the function, a struct of its name, and `Tool` for that.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, ReturnType};

use crate::ast::{Param, Place, ToolFn};
use crate::attr::Keyed;
use crate::crate_path::Runtime;
use crate::types;

pub(crate) fn expand(tool: &ToolFn) -> TokenStream {
    let function = &tool.function;
    let ident = &function.sig.ident;
    let structure = structure(tool);
    let rt = Runtime::new(tool.attr.krate.as_ref(), ident);
    let declared = declared(tool, &rt);
    let implementation = implementation(tool, &rt, &declared);
    quote! {
        #function

        #structure

        #implementation
    }
}

/// `Tool` for the struct, out of everybody's way.
pub(crate) fn implementation(tool: &ToolFn, rt: &Runtime, body: &TokenStream) -> TokenStream {
    let cfgs = tool.function.cfgs();
    let ident = &tool.function.sig.ident;
    let import = rt.import();
    let rt = rt.at(Span::mixed_site());
    let declare = quote! {
        fn declare() -> #rt::DeclaredTool {
            #body
        }
    };
    let permission = permission([tool]);
    let implementation = implement(&quote!(#rt::Tool), ident, ident.span(), declare);
    quote! {
        #(#cfgs)*
        #permission
        const _: () = {
            #import

            #implementation
        };
    }
}

/// `impl .. for ..`; that there are two of them is shown at `span`, not under the attribute.
pub(crate) fn implement(of: &TokenStream, ty: &impl ToTokens, span: Span, body: TokenStream) -> TokenStream {
    let span = Span::mixed_site().located_at(span);
    let word = Ident::new("impl", span);
    let mut body = Group::new(Delimiter::Brace, body);
    body.set_span(span);
    quote! {
        #[automatically_derived]
        #word #of for #ty #body
    }
}

/// To call what is deprecated: whoever else does so is told.
pub(crate) fn permission<'a>(tools: impl IntoIterator<Item = &'a ToolFn>) -> Option<TokenStream> {
    let is_deprecated = |tool: &ToolFn| {
        let mut attrs = tool.function.attrs.iter();
        attrs.any(|attr| attr.path().is_ident("deprecated"))
    };
    tools
        .into_iter()
        .any(is_deprecated)
        .then(|| quote!(#[allow(deprecated)]))
}

/// The type of the tool's name: types and functions do not share their names.
pub(crate) fn structure(tool: &ToolFn) -> TokenStream {
    let cfgs = tool.function.cfgs();
    let vis = &tool.function.vis;
    let ident = &tool.function.sig.ident;
    // Who has that name twice sees it there, not under the attribute.
    let span = Span::mixed_site().located_at(ident.span());
    let word = Ident::new("struct", span);
    let braces = quote_spanned!(span=> {});
    quote! {
        /// The tool made from the function of the same name.
        #(#cfgs)*
        #[allow(non_camel_case_types, missing_debug_implementations)]
        #vis #word #ident #braces
    }
}

/// The statements that make one tool: its parameters, its declaration, and the closure that calls it.
pub(crate) fn declared(tool: &ToolFn, rt: &Runtime) -> TokenStream {
    let lines = tool.params.iter().map(|param| self::param(param, rt));
    let params = Ident::new("params", Span::mixed_site());
    let about = Ident::new("declaration", Span::mixed_site());
    let declaration = declaration(tool, rt);
    let bindings = tool.params.iter().map(|param| binding(&param.ident));
    let bindings = quote!((#(#bindings,)*));
    let run = run(tool, rt);
    let span = tool.function.sig.ident.span();
    let rt = rt.at(span);
    let declared = if tool.receiver.is_some() {
        quote_spanned!(span=> #rt::DeclaredTool::method)
    } else {
        quote_spanned!(span=> #rt::DeclaredTool::function)
    };
    let shared = tool.receiver.iter().map(|receiver| {
        let span = receiver.self_token.span;
        quote_spanned!(span=> &self,)
    });
    let this = tool.receiver.iter().map(|_| this(tool));
    let closure = quote_spanned!(span=> |#(#this,)* #bindings| #run);
    let arguments = quote_spanned!(span=> (#about, #(#shared)* #params, #closure));
    quote! {
        let #params = (#(#lines,)*);
        let #about = #declaration;
        #declared #arguments
    }
}

/// A line for each parameter. Its type is named nowhere else, so a bad one is reported once, under itself.
pub(crate) fn param(param: &Param, rt: &Runtime) -> TokenStream {
    let mut line = supplied(param, rt);
    if let Some(Keyed { key, value }) = &param.arg.default {
        let value = fit(value, rt);
        line.extend(quote_spanned!(*key=> .default(|| #value)));
    }
    line.extend(facets(param, rt));
    line
}

/// Its name, its description, and by its type who supplies it.
fn supplied(param: &Param, rt: &Runtime) -> TokenStream {
    let name = &param.name;
    let ty = &param.ty;
    let span = types::name_of(ty);
    let spanned = rt.at(span);
    if let Some(description) = &param.description {
        quote_spanned!(span=> #spanned::Param::<#ty>::of(#name, #description))
    } else {
        let from_host = Ident::new("from_host", param.ident.span());
        quote_spanned!(span=> #spanned::Param::<#ty>::named(#name).#from_host())
    }
}

/// What the attributes say beyond the type.
fn facets(param: &Param, rt: &Runtime) -> TokenStream {
    let arg = &param.arg;
    let mut calls = TokenStream::new();
    let ranges = [("range", &arg.range), ("length", &arg.length)];
    for (method, range) in ranges {
        if let Some(Keyed { key, value }) = range {
            let method = Ident::new(method, *key);
            calls.extend(quote_spanned!(*key=> .#method(#value)));
        }
    }
    if let Some(Keyed { key, value }) = &arg.pattern {
        calls.extend(quote_spanned!(*key=> .pattern(#value)));
    }
    if let Some(Keyed { key, value }) = &arg.values {
        calls.extend(quote_spanned!(*key=> .values(#value)));
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
fn declaration(tool: &ToolFn, rt: &Runtime) -> TokenStream {
    let rt = rt.at(Span::mixed_site());
    let attr = &tool.attr;
    let name = &tool.name;
    let description = &tool.description;
    let mut declaration = quote!(#rt::Declaration::new(#name, #description));
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
        let timeout = if timeout.subsec_millis() == 0 {
            let seconds = Literal::u64_unsuffixed(timeout.as_secs());
            quote!(from_secs(#seconds))
        } else {
            let millis = Literal::u128_unsuffixed(timeout.as_millis());
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

/// Awaits the function and answers with what it returns.
fn run(tool: &ToolFn, rt: &Runtime) -> TokenStream {
    let sig = &tool.function.sig;
    let ident = &sig.ident;
    let returned = match &sig.output {
        ReturnType::Default => ident.span(),
        ReturnType::Type(_, ty) => types::name_of(ty),
    };
    let function = match tool.place {
        Place::Free => quote!(#ident),
        Place::Method => quote!(Self::#ident),
    };
    let this = tool.receiver.iter().map(|_| {
        let this = this(tool);
        quote_spanned!(this.span()=> &#this)
    });
    let arguments = tool
        .params
        .iter()
        .map(|param| binding(&param.ident).into_token_stream());
    let arguments = this.chain(arguments);
    let answer = answer(tool, &quote!(#function(#(#arguments),*).await), returned, rt);
    quote_spanned!(ident.span()=> async move { #answer })
}

/// Answers with a returned value; what is wrong with its type is shown at `span`.
pub(crate) fn answer(tool: &ToolFn, value: &TokenStream, span: Span, rt: &Runtime) -> TokenStream {
    let rt = rt.at(span);
    let causes = tool.attr.causes.map(|key| {
        let causes = Ident::new("causes", key);
        quote_spanned!(span=> .#causes())
    });
    quote_spanned!(span=> #rt::Output(#value).with_sources() #causes.respond())
}

/// A parameter's name, out of reach of everything that the user wrote.
fn binding(param: &Ident) -> Ident {
    if param == "gen" {
        // A word of this crate's edition, which may not be the user's.
        return Ident::new_raw("gen", Span::mixed_site());
    }
    let mut binding = param.clone();
    binding.set_span(Span::mixed_site());
    binding
}

/// What a method is called on; no parameter is called that.
fn this(tool: &ToolFn) -> Ident {
    let mut name = "this".to_owned();
    while tool.params.iter().any(|param| param.ident == name) {
        name.push('_');
    }
    // What it is borrowed for too long is shown at the function's name.
    Ident::new(
        &name,
        Span::mixed_site().located_at(tool.function.sig.ident.span()),
    )
}
