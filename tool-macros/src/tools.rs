//! `#[tools]`: the same way as a single tool's, for the methods of a type.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Path, Type};

use crate::ast::{Place, ToolFn};
use crate::attr::{ToolAttr, tools_attr};
use crate::bare::{self, Kind, bare};
use crate::check::{check, name_of};
use crate::crate_path::Runtime;
use crate::errors::{Errors, Refused};
use crate::expand::{declared, implement, permission};
use crate::fallback::{compiling, judged};
use crate::half::HALF_TYPED;
use crate::impl_block::{self, ImplBlock, Item};
use crate::signature::{self, Function, is_tool, is_tools};
use crate::types;

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
        match item {
            Item::Function(function) => tools.extend(method(function, errors)),
            Item::Other(..) => no_method(item, errors),
        }
    }
    if tools.is_empty() && errors.is_empty() {
        tools_of_macros(block, errors);
    }
    tools
}

fn method(function: &mut Function, errors: &Errors) -> Option<ToolFn> {
    for attr in function.attrs.extract_if(.., |attr| is_tools(attr)) {
        errors.over(
            attr.path(),
            "`#[tools]` is for the whole block; write `#[tool]` on its methods",
        );
    }
    let Some(place) = function.attrs.iter().position(is_tool) else {
        if signature::describes(&mut function.sig) {
            let ident = &function.sig.ident;
            errors.at(
                ident.span(),
                format_args!(
                    "only a tool describes its parameters; write `#[tool]` above `{ident}`, or remove what is said of them"
                ),
            );
        }
        return None;
    };
    let attr = ToolAttr::of_method(&function.attrs.remove(place), errors);
    let tool = ToolFn::read(Place::Method, function.clone(), attr, errors);
    *function = tool.function.clone();
    Some(tool)
}

/// What is no function, or only half of one: that stays as far as it goes.
fn no_method(item: &mut Item, errors: &Errors) {
    let Item::Other(attrs, other) = item else { return };
    let half_typed = match bare::kind(other) {
        Kind::Function(function) => Some(function),
        _ => None,
    };
    for attr in attrs.extract_if(.., |attr| is_tool(attr)) {
        if half_typed.is_some() {
            errors.leave_to_rustc(HALF_TYPED);
        } else {
            errors.over(attr.path(), "a tool is an `async fn`; put `#[tool]` on one");
        }
    }
    if let Some(mut function) = half_typed {
        function.attrs = std::mem::take(attrs);
        signature::describes(&mut function.sig);
        *item = Item::Function(function);
    }
}

/// Macro calls in a block without a tool: they must be what is to write them, and cannot.
fn tools_of_macros(block: &mut ImplBlock, errors: &Errors) {
    for item in &mut block.items {
        if let Item::Other(_, other) = item
            && let Some(called) = impl_block::called(other)
        {
            errors.at(
                called.span(),
                "a macro call inside of the block comes too late to write a tool; let it write the whole block, `#[tools]` included",
            );
            *other = TokenStream::new();
        }
    }
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
        errors.at(
            name_of(generic),
            "a set of tools cannot be generic, its definitions are made once; write the types",
        );
        return;
    }
    types::of_set(&block.ty, errors);
    if tools.is_empty() && errors.is_empty() {
        errors.over(&block.ty, "no function here is a tool; put `#[tool]` on one");
    }
    let mut names = HashSet::new();
    let mut idents = HashSet::new();
    for tool in tools.iter().filter(|tool| tool.function.cfgs().next().is_none()) {
        // Two functions of a name are refused by the compiler.
        if idents.insert(&tool.function.sig.ident) && !names.insert(tool.name.value()) {
            errors.at(
                tool.name.span(),
                format_args!(
                    "another tool of the block is already named \"{}\"",
                    tool.name.value()
                ),
            );
        }
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
    let set = set(block, tools, rt, |rt| quote!(#rt::Vec::from([#list])));
    quote!(#block #set)
}

/// The block without what was refused, and an empty set.
fn fallback(mut block: ImplBlock, tools: &[ToolFn], krate: Option<&Path>, refused: &Refused) -> TokenStream {
    for item in &mut block.items {
        if let Item::Function(function) = item {
            *item = Item::Other(Vec::new(), compiling(function));
        }
    }
    let borrows = Errors::new();
    types::of_set(&block.ty, &borrows);
    let is_sound = borrows.finish().is_ok();
    if block.of_trait.is_some() || !block.generics.params.is_empty() || !is_sound {
        return quote!(#block #refused);
    }
    let runtime = &runtime(krate, &block.ty);
    let judged = tools.iter().map(|tool| {
        let cfgs = tool.function.cfgs();
        let lines = judged(tool, runtime);
        quote!(#(#cfgs)* let _ = (#(#lines,)*);)
    });
    let net = refused.net();
    let judged = quote!(#(#judged)* #net);
    let set = set(&block, tools, runtime, |rt| quote!(#judged #rt::Vec::new()));
    quote!(#block #set #refused)
}

fn set(
    block: &ImplBlock,
    tools: &[ToolFn],
    rt: &Runtime,
    list: impl FnOnce(Ident) -> TokenStream,
) -> TokenStream {
    let cfgs = block.cfgs();
    let permission = permission(tools);
    let ty = &block.ty;
    let import = rt.import();
    let rt = rt.at(Span::mixed_site());
    let list = list(rt.clone());
    let tools = quote! {
        fn tools(self: #rt::Arc<Self>) -> #rt::Vec<#rt::DeclaredTool> {
            #list
        }
    };
    let implementation = implement(&quote!(#rt::OneToolsBlockPerType), ty, types::name_of(ty), tools);
    quote! {
        #(#cfgs)*
        #permission
        const _: () = {
            #import

            #implementation
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
    let on_a_function = "`#[tools]` belongs on an `impl` block; for one function write `#[tool]`";
    let error = match (syn::parse2::<Function>(item.clone()), bare::kind(item)) {
        (Ok(function), _) => syn::Error::new(function.sig.fn_token.span, on_a_function),
        (_, Kind::Function(function)) => syn::Error::new(function.sig.fn_token.span, on_a_function),
        (_, Kind::Other(keyword)) if keyword != "impl" && keyword != "unsafe" => {
            syn::Error::new(keyword.span(), "`#[tools]` belongs on an `impl` block")
        }
        _ => error.clone(),
    };
    let item = bare(item.clone());
    let error = error.to_compile_error();
    quote!(#item #error)
}
