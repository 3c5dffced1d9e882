//! Expands a validated tool: the function, a struct of the same name, and its `Tool` implementation.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned as _;

use crate::attr::{Keyed, ParamOptions, ToolOptions};
use crate::crate_path::Runtime;
use crate::doc::Text;
use crate::function::Function;
use crate::raw::Place;
use crate::types;
use crate::validate::{Output, Param, Tool};

pub(crate) fn expand(tool: &Tool) -> TokenStream {
    let function = &tool.function;
    let ident = &function.sig.ident;
    let tool_struct = tool_struct(function);
    let rt = Runtime::new(tool.krate.as_ref(), ident);
    let declared = declared_tool(tool, &rt);
    let implementation = implementation(function, &rt, &declared);
    quote! {
        #function

        #tool_struct

        #implementation
    }
}

/// Implements `Tool` for the struct, in a separate scope.
pub(crate) fn implementation(function: &Function, rt: &Runtime, body: &TokenStream) -> TokenStream {
    let cfgs = function.cfgs();
    let ident = &function.sig.ident;
    let import = rt.import();
    let rt = rt.at(Span::mixed_site());
    let declare = quote! {
        fn declare() -> #rt::DeclaredTool {
            #body
        }
    };
    let allow_deprecated = allow_deprecated([function]);
    let implementation = implement(&quote!(#rt::Tool), ident, ident.span(), declare);
    quote! {
        #(#cfgs)*
        #allow_deprecated
        const _: () = {
            #import

            #implementation
        };
    }
}

/// Emits `impl .. for ..`; a conflict with another implementation is shown at `span`, not at the attribute.
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

/// Allows the expansion to call a deprecated function; other callers are still warned.
pub(crate) fn allow_deprecated<'a>(functions: impl IntoIterator<Item = &'a Function>) -> Option<TokenStream> {
    let is_deprecated = |function: &Function| {
        let mut attrs = function.attrs.iter();
        attrs.any(|attr| attr.path().is_ident("deprecated"))
    };
    functions
        .into_iter()
        .any(is_deprecated)
        .then(|| quote!(#[allow(deprecated)]))
}

/// Emits the struct with the tool's name: types and functions have separate namespaces.
pub(crate) fn tool_struct(function: &Function) -> TokenStream {
    let cfgs = function.cfgs();
    let vis = &function.vis;
    let ident = &function.sig.ident;
    // A duplicate definition is shown at the name, not at the attribute.
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

/// Emits the statements that declare a tool: its parameters, its declaration, and the closure that calls the
/// function.
pub(crate) fn declared_tool(tool: &Tool, rt: &Runtime) -> TokenStream {
    let lines = tool.params.iter().map(|param| self::param(param, rt));
    let params = Ident::new("params", Span::mixed_site());
    let declaration_ident = Ident::new("declaration", Span::mixed_site());
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
    let this = tool.receiver.iter().map(|_| self_ident(tool));
    let closure = quote_spanned!(span=> |#(#this,)* #bindings| #run);
    let arguments = quote_spanned!(span=> (#declaration_ident, #(#shared)* #params, #closure));
    quote! {
        let #params = (#(#lines,)*);
        let #declaration_ident = #declaration;
        #declared #arguments.with_output_schema()
    }
}

/// Emits the declaration of a parameter. The type occurs only here, so that an invalid type is reported once, at its
/// span.
pub(crate) fn param(param: &Param, rt: &Runtime) -> TokenStream {
    let mut line = param_source(param, rt);
    line.extend(param_options(&param.options, rt));
    line
}

/// Emits the name and the description. The model supplies a parameter with a description, and the host any other parameter.
fn param_source(param: &Param, rt: &Runtime) -> TokenStream {
    let name = &param.name;
    let ty = &param.ty;
    let span = types::name_span(ty);
    let spanned = rt.at(span);
    if let Some(description) = &param.description {
        quote_spanned!(span=> #spanned::Param::<#ty>::new(#name, #description))
    } else {
        let from_host = Ident::new("from_host", param.ident.span());
        quote_spanned!(span=> #spanned::Param::<#ty>::named(#name).#from_host())
    }
}

/// Emits the method calls for the keys of `#[arg(..)]`.
fn param_options(options: &ParamOptions, rt: &Runtime) -> TokenStream {
    let ParamOptions {
        default,
        range,
        length,
        pattern,
        values,
        example,
        not_blank,
        strict,
        case_sensitive,
    } = options;
    let mut calls = TokenStream::new();
    if let Some(Keyed { key, value }) = default {
        calls.extend(if let Some(function) = default_function(value) {
            quote_spanned!(*key=> .default(#function))
        } else {
            let value = convert(value, rt);
            quote_spanned!(*key=> .default(|| #value))
        });
    }
    for (method, range) in [("range", range), ("length", length)] {
        if let Some(Keyed { key, value }) = range {
            let method = Ident::new(method, *key);
            calls.extend(quote_spanned!(*key=> .#method(#value)));
        }
    }
    if let Some(Keyed { key, value }) = pattern {
        calls.extend(quote_spanned!(*key=> .pattern(#value)));
    }
    if let Some(Keyed { key, value }) = values {
        calls.extend(quote_spanned!(*key=> .values(#value)));
    }
    if let Some(Keyed { key, value }) = example {
        let value = convert(value, rt);
        calls.extend(quote_spanned!(*key=> .example(#value)));
    }
    let flags = [
        ("not_blank", not_blank),
        ("strict", strict),
        ("case_sensitive", case_sensitive),
    ];
    for (flag, key) in flags {
        if let Some(key) = key {
            let flag = Ident::new(flag, *key);
            calls.extend(quote_spanned!(*key=> .#flag()));
        }
    }
    calls
}

/// Returns the function in `Default::default()`. Its result needs no conversion to the parameter's type: with a conversion,
/// the compiler could not infer the type of the result.
fn default_function(value: &Expr) -> Option<&Expr> {
    let Expr::Call(call) = value else { return None };
    let Expr::Path(function) = &*call.func else {
        return None;
    };
    let mut names = function.path.segments.iter().rev().map(|segment| &segment.ident);
    let is_method = names.next().is_some_and(|name| name == "default");
    let is_default = is_method && names.next().is_some_and(|name| name == "Default");
    (is_default && call.args.is_empty()).then_some(&*call.func)
}

/// Emits the conversion of an expression to the parameter's type.
fn convert(value: &Expr, rt: &Runtime) -> TokenStream {
    let rt = rt.at(value.span());
    quote_spanned!(value.span()=> #rt::IntoParam::into_param(#value))
}

/// Emits `Declaration::new(..)` and the method calls for the keys of `#[tool(..)]`.
fn declaration(tool: &Tool, rt: &Runtime) -> TokenStream {
    let ToolOptions {
        title,
        read_only,
        destructive,
        idempotent,
        open_world,
        deferred,
        strict,
        timeout,
        errors,
        input_examples,
    } = &tool.options;
    let rt = rt.at(Span::mixed_site());
    let name = &tool.name;
    let description = &tool.description;
    let new = match description {
        Text::Conditional(_) => quote!(with_lines),
        Text::Literal(_) | Text::Computed(_) => quote!(new),
    };
    let mut declaration = quote!(#rt::Declaration::#new(#name, #description));
    if let Some(title) = title {
        declaration.extend(quote!(.title(#title)));
    }
    let hints = [
        ("read_only", read_only),
        ("destructive", destructive),
        ("idempotent", idempotent),
        ("open_world", open_world),
        ("deferred", deferred),
    ];
    for (hint, value) in hints {
        if let Some(Keyed { key, value }) = value {
            let hint = Ident::new(hint, *key);
            declaration.extend(quote!(.#hint(#value)));
        }
    }
    if *strict {
        declaration.extend(quote!(.strict()));
    }
    if let Some(timeout) = timeout {
        let timeout = if timeout.subsec_millis() == 0 {
            let seconds = Literal::u64_unsuffixed(timeout.as_secs());
            quote!(from_secs(#seconds))
        } else {
            let millis = Literal::u128_unsuffixed(timeout.as_millis());
            quote!(from_millis(#millis))
        };
        declaration.extend(quote!(.timeout(#rt::Duration::#timeout)));
    }
    if let Some(errors) = errors {
        declaration.extend(quote!(.errors(#errors)));
    }
    if !input_examples.is_empty() {
        declaration.extend(quote!(.examples([#(#rt::json!({ #input_examples })),*])));
    }
    declaration
}

/// Emits the call of the function and the response with its output.
fn run(tool: &Tool, rt: &Runtime) -> TokenStream {
    let ident = &tool.function.sig.ident;
    let span = tool.output.ty.as_ref().map_or(ident.span(), types::name_span);
    let function = match tool.place {
        Place::Free => quote!(#ident),
        Place::Method => quote!(Self::#ident),
    };
    let this = tool.receiver.iter().map(|_| {
        let this = self_ident(tool);
        quote_spanned!(this.span()=> &#this)
    });
    let arguments = tool
        .params
        .iter()
        .map(|param| binding(&param.ident).into_token_stream());
    let arguments = this.chain(arguments);
    let call = quote!(#function(#(#arguments),*));
    if tool.is_blocking {
        let response = respond(&tool.output, &call, span, rt);
        let rt = rt.at(ident.span());
        quote_spanned!(ident.span()=> #rt::blocking(move || #response))
    } else {
        let response = respond(&tool.output, &quote!(#call.await), span, rt);
        quote_spanned!(ident.span()=> async move { #response })
    }
}

/// Emits the response with a returned value; an invalid type is reported at `span`.
pub(crate) fn respond(output: &Output, value: &TokenStream, span: Span, rt: &Runtime) -> TokenStream {
    let rt = rt.at(span);
    let causes = output.causes.map(|key| {
        let causes = Ident::new("causes", key);
        quote_spanned!(span=> .#causes())
    });
    quote_spanned!(span=> #rt::Output(#value).with_sources() #causes.respond())
}

/// Returns a hygienic variable with the parameter's name. The user's code cannot refer to the variable.
fn binding(param: &Ident) -> Ident {
    if param == "gen" {
        // `gen` is a keyword of this crate's edition, but maybe not of the user's.
        return Ident::new_raw("gen", Span::mixed_site());
    }
    let mut binding = param.clone();
    binding.set_span(Span::mixed_site());
    binding
}

/// Returns the variable for `self`. Its name differs from the names of all parameters.
fn self_ident(tool: &Tool) -> Ident {
    let mut name = "this".to_owned();
    while tool.params.iter().any(|param| param.ident == name) {
        name.push('_');
    }
    // The span makes rustc show borrow errors at the function's name.
    Ident::new(
        &name,
        Span::mixed_site().located_at(tool.function.sig.ident.span()),
    )
}
