//! `#[tools]`: the same way as a single tool's, for the methods of a type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Path, Type};

use crate::ast::{Place, ToolFn};
use crate::attr::{ToolAttr, tools_attr};
use crate::check::{check, owned};
use crate::crate_path::Runtime;
use crate::errors::{Errors, Refused};
use crate::expand::declared;
use crate::fallback::{compiling, judged};
use crate::impl_block::{ImplBlock, Item};
use crate::item;
use crate::signature::{Function, is_tool};

pub(crate) fn tools(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let mut block = match syn::parse2::<ImplBlock>(item.clone()) {
        Ok(block) => block,
        Err(error) => return no_impl(item, &error),
    };
    let errors = Errors::new();
    let krate = tools_attr(attr, &errors);
    let tools = methods(&mut block, &errors);
    check_block(&block, &tools, &errors);
    for tool in &tools {
        check(tool, &errors);
    }
    match errors.finish() {
        Ok(()) => expand(&block, &tools, krate.as_ref()),
        Err(refused) => fallback(block, &tools, krate.as_ref(), &refused),
    }
}

/// The tools among the functions; they stay in the block, clean.
fn methods(block: &mut ImplBlock, errors: &Errors) -> Vec<ToolFn> {
    let mut tools = Vec::new();
    for item in &mut block.items {
        let function = match item {
            Item::Function(function) => function,
            Item::Other(attrs, _) => {
                for attr in attrs.extract_if(.., |attr| is_tool(attr)) {
                    errors.over(attr.path(), "a tool is an `async fn`; put `#[tool]` on one");
                }
                continue;
            }
        };
        let Some(place) = function.attrs.iter().position(is_tool) else {
            continue;
        };
        let attr = ToolAttr::of_method(&function.attrs.remove(place), errors);
        let tool = ToolFn::read(Place::Method, (**function).clone(), attr, errors);
        **function = tool.function.clone();
        tools.push(tool);
    }
    tools
}

fn check_block(block: &ImplBlock, tools: &[ToolFn], errors: &Errors) {
    if let Some((of, _)) = &block.of_trait {
        errors.over(
            of,
            "`#[tools]` belongs on a type's own `impl`; move the tools out of the trait's",
        );
        return;
    }
    if let Some(generic) = block.generics.params.first() {
        errors.over(
            generic,
            "a set of tools cannot be generic, its definitions are made once; write the types",
        );
    }
    owned(&block.ty, errors);
    if tools.is_empty() {
        errors.over(&block.ty, "no function here is a tool; put `#[tool]` on one");
    }
}

fn expand(block: &ImplBlock, tools: &[ToolFn], krate: Option<&Path>) -> TokenStream {
    let rt = &runtime(krate, &block.ty);
    let list = tools.iter().map(|tool| {
        let cfgs = tool.function.cfgs();
        let declared = declared(tool, rt);
        quote!(#(#cfgs)* { #declared })
    });
    let list = quote!(#(#list),*);
    let set = set(block, rt, |rt| quote!(#rt::Vec::from([#list])));
    quote!(#block #set)
}

/// The block without what was refused, and an empty set.
fn fallback(mut block: ImplBlock, tools: &[ToolFn], krate: Option<&Path>, refused: &Refused) -> TokenStream {
    for item in &mut block.items {
        if let Item::Function(function) = item {
            *item = Item::Other(Vec::new(), compiling(function));
        }
    }
    if block.of_trait.is_some() || !block.generics.params.is_empty() {
        return quote!(#block #refused);
    }
    let runtime = &runtime(krate, &block.ty);
    let judged = tools.iter().map(|tool| {
        let cfgs = tool.function.cfgs();
        let lines = judged(tool, runtime);
        quote!(#(#cfgs)* let _ = (#(#lines,)*);)
    });
    let judged = quote!(#(#judged)*);
    let set = set(&block, runtime, |rt| quote!(#judged #rt::Vec::new()));
    quote!(#block #set #refused)
}

fn set(block: &ImplBlock, rt: &Runtime, list: impl FnOnce(Ident) -> TokenStream) -> TokenStream {
    let cfgs = block.cfgs();
    let ty = &block.ty;
    let import = rt.import();
    let rt = rt.at(Span::mixed_site());
    let list = list(rt.clone());
    quote! {
        #(#cfgs)*
        const _: () = {
            #import

            #[automatically_derived]
            impl #rt::ToolSet for #ty {
                fn tools(self: #rt::Arc<Self>) -> #rt::Vec<#rt::DeclaredTool> {
                    #list
                }
            }
        };
    }
}

fn runtime(krate: Option<&Path>, ty: &Type) -> Runtime {
    let taken = match ty {
        Type::Path(path) => path.path.get_ident().cloned(),
        _ => None,
    };
    Runtime::new(
        krate,
        &taken.unwrap_or_else(|| Ident::new("_other", Span::mixed_site())),
    )
}

/// Something else than an `impl` block: it stays as it is.
fn no_impl(item: &TokenStream, error: &syn::Error) -> TokenStream {
    let error = match (syn::parse2::<Function>(item.clone()), item::keyword(item)) {
        (Ok(function), _) => syn::Error::new_spanned(
            function.sig.fn_token,
            "`#[tools]` belongs on an `impl` block; for one function write `#[tool]`",
        ),
        (_, Some(keyword)) if keyword != "impl" && keyword != "unsafe" => {
            syn::Error::new(keyword.span(), "`#[tools]` belongs on an `impl` block")
        }
        _ => error.clone(),
    };
    let error = error.to_compile_error();
    quote!(#item #error)
}
