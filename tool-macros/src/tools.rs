//! Attribute `#[tools]`, with the steps of `#[tool]` for the methods of a type.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Attribute, Meta, Path, Type, parse_quote};

use crate::attr::{ToolAttr, tools_attr};
use crate::crate_path::Runtime;
use crate::doc;
use crate::errors::{CompileErrors, Errors};
use crate::expand::{allow_deprecated, declared_tool, implement};
use crate::fallback::{compilable, type_checks};
use crate::function::{self, Function, is_tool, is_tools};
use crate::impl_block::{self, ImplBlock, Item};
use crate::incomplete::INCOMPLETE;
use crate::invalid_item::{self, ItemKind, strip_attributes};
use crate::raw::{Place, RawTool};
use crate::types;
use crate::validate::{Parts, Rejected, Tool, generic_span, validate};

pub(crate) fn tools(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let mut block = match syn::parse2::<ImplBlock>(item.clone()) {
        Ok(block) => block,
        Err(error) => return not_an_impl_block(item, &error),
    };
    let errors = Errors::new();
    let krate = tools_attr(attr, &errors);
    let tools = read_methods(&mut block, &errors);
    let is_implementable = check_block(&block, &tools, &errors);
    let tools = tools
        .into_iter()
        .map(|(tool, errors)| validate(tool, errors))
        .collect();
    match all_valid(tools, errors) {
        Ok(tools) => expand(&block, &tools, krate.as_ref()),
        Err((tools, errors)) => {
            let set = is_implementable.then(|| empty_set(&block, &tools, krate.as_ref(), &errors));
            let block = compilable_block(block);
            quote!(#block #set #(#errors)*)
        }
    }
}

/// Returns the tools if the whole block is valid. The error has the valid parts of each tool and all mistakes.
fn all_valid(
    tools: Vec<Result<Tool, Box<Rejected>>>,
    errors: Errors,
) -> Result<Vec<Tool>, (Vec<Parts>, Vec<CompileErrors>)> {
    let mut all_errors = Vec::from_iter(errors.finish().err());
    if all_errors.is_empty() && tools.iter().all(Result::is_ok) {
        return Ok(tools.into_iter().flatten().collect());
    }
    let mut all_parts = Vec::new();
    for tool in tools {
        match tool {
            Ok(tool) => all_parts.push(tool.into()),
            Err(rejected) => {
                all_parts.push(rejected.parts);
                all_errors.push(rejected.errors);
            }
        }
    }
    Err((all_parts, all_errors))
}

/// Returns the tools among the functions, each with its errors. The functions stay in the block, without the attributes of
/// the macros.
fn read_methods(block: &mut ImplBlock, errors: &Errors) -> Vec<(RawTool, Errors)> {
    let mut tools = Vec::new();
    for item in &mut block.items {
        match item {
            Item::Function(function) => tools.extend(read_method(function, errors)),
            Item::Other(..) => other_item(item, errors),
        }
    }
    if tools.is_empty() && errors.is_empty() {
        report_macro_calls(block, errors);
    }
    tools
}

fn read_method(function: &mut Function, errors: &Errors) -> Option<(RawTool, Errors)> {
    for attr in function.attrs.extract_if(.., |attr| is_tools(attr)) {
        errors.spanned(
            attr.path(),
            "`#[tools]` belongs on the `impl` block; write `#[tool]` on its methods",
        );
    }
    let Some(attr) = take_tool_attr(function) else {
        if function::strip_param_docs(&mut function.sig) {
            let ident = &function.sig.ident;
            errors.at(
                ident.span(),
                format_args!(
                    "only the parameters of a tool have attributes and doc comments; write `#[tool]` above `{ident}`, or remove them"
                ),
            );
        }
        return None;
    };
    let errors = Errors::new();
    let attr = ToolAttr::from_method(&attr, &errors);
    let tool = RawTool::read(Place::Method, function.clone(), attr, &errors);
    *function = tool.function.clone();
    Some((tool, errors))
}

/// Removes `#[tool]` from a method. A `cfg_attr` around the attribute makes the tool conditional, since rustc does
/// not expand it here.
fn take_tool_attr(function: &mut Function) -> Option<Attribute> {
    if let Some(place) = function.attrs.iter().position(is_tool) {
        return Some(function.attrs.remove(place));
    }
    for place in 0..function.attrs.len() {
        let Some(attr) = function.attrs.get_mut(place) else {
            break;
        };
        let Some((condition, mut metas)) = doc::cfg_attr(&attr.meta) else {
            continue;
        };
        let is_tool = |meta: &Meta| {
            meta.path()
                .segments
                .last()
                .is_some_and(|last| last.ident == "tool")
        };
        if let Some(tool) = metas.iter().position(is_tool) {
            let tool = metas.remove(tool);
            if metas.is_empty() {
                function.attrs.remove(place);
            } else {
                *attr = parse_quote!(#[cfg_attr(#condition #(, #metas)*)]);
            }
            function.tool_cfg = Some(parse_quote!(#[cfg(#condition)]));
            return Some(parse_quote!(#[#tool]));
        }
    }
    None
}

/// Handles an incomplete function, whose parsed part is kept, or another item.
fn other_item(item: &mut Item, errors: &Errors) {
    let Item::Other(attrs, other) = item else { return };
    let incomplete = match invalid_item::kind(other) {
        ItemKind::Function(function) => Some(function),
        _ => None,
    };
    for attr in attrs.extract_if(.., |attr| is_tool(attr)) {
        if incomplete.is_some() {
            errors.leave_to_rustc(INCOMPLETE);
        } else {
            errors.spanned(attr.path(), "a tool must be an `async fn`; put `#[tool]` on one");
        }
    }
    if let Some(mut function) = incomplete {
        function.attrs = std::mem::take(attrs);
        function::strip_param_docs(&mut function.sig);
        *item = Item::Function(function);
    }
}

/// Reports macro calls in a block without a tool. Probably the calls should expand to tools, but rustc expands them after
/// `#[tools]`.
fn report_macro_calls(block: &mut ImplBlock, errors: &Errors) {
    for item in &mut block.items {
        if let Item::Other(_, other) = item
            && let Some(name) = impl_block::macro_name(other)
        {
            errors.at(
                name.span(),
                "a macro call inside of the block is expanded too late to add tools; let it expand to the whole block with `#[tools]`",
            );
            *other = TokenStream::new();
        }
    }
}

/// Returns whether the set can be implemented for the type, even without tools.
fn check_block(block: &ImplBlock, tools: &[(RawTool, Errors)], errors: &Errors) -> bool {
    if let Some((of, _)) = &block.of_trait {
        errors.spanned(
            of,
            "`#[tools]` belongs on an inherent `impl` block; move the tools out of the `impl` of a trait",
        );
        return false;
    }
    if let Some(generic) = block.generics.params.first() {
        errors.at(
            generic_span(generic),
            "an `impl` block with tools cannot be generic; write concrete types",
        );
        return false;
    }
    let before = errors.count();
    types::check_self_type(&block.ty, errors);
    let is_owned = errors.count() == before;
    if tools.is_empty() && errors.is_empty() {
        errors.spanned(
            &block.ty,
            "expected at least one tool in this `impl` block; put `#[tool]` on a method",
        );
    }
    let mut names = HashSet::new();
    let mut idents = HashSet::new();
    let tools = tools.iter().map(|(tool, _)| tool);
    for tool in tools.filter(|tool| tool.function.cfgs().next().is_none()) {
        // rustc reports duplicate function names.
        if idents.insert(&tool.function.sig.ident) && !names.insert(tool.name.value()) {
            errors.at(
                tool.name.span(),
                format_args!("duplicate tool name \"{}\"", tool.name.value()),
            );
        }
    }
    is_owned
}

fn expand(block: &ImplBlock, tools: &[Tool], krate: Option<&Path>) -> TokenStream {
    let rt = &runtime(krate, &block.ty);
    let list = tools.iter().map(|tool| {
        let cfgs = tool.function.cfgs();
        let declared_tool = declared_tool(tool, rt);
        quote!(#(#cfgs)* { #declared_tool })
    });
    let list = quote!(#(#list),*);
    let functions = tools.iter().map(|tool| &tool.function);
    let set = set_impl(block, functions, rt, |rt| quote!(#rt::Vec::from([#list])));
    quote!(#block #set)
}

/// Returns the block without its reported parts.
fn compilable_block(mut block: ImplBlock) -> ImplBlock {
    for item in &mut block.items {
        if let Item::Function(function) = item {
            *item = Item::Other(Vec::new(), compilable(function));
        }
    }
    block
}

/// Returns a set without tools, in which the compiler checks the valid parts of the rejected tools.
fn empty_set(
    block: &ImplBlock,
    tools: &[Parts],
    krate: Option<&Path>,
    errors: &[CompileErrors],
) -> TokenStream {
    let runtime = &runtime(krate, &block.ty);
    let type_checks = tools.iter().map(|tool| {
        let cfgs = tool.function.cfgs();
        let lines = type_checks(tool, runtime);
        quote!(#(#cfgs)* let _ = (#(#lines,)*);)
    });
    let assertion = errors.iter().find_map(CompileErrors::rustc_assertion);
    let type_checks = quote!(#(#type_checks)* #assertion);
    let functions = tools.iter().map(|tool| &tool.function);
    set_impl(
        block,
        functions,
        runtime,
        |rt| quote!(#type_checks #rt::Vec::new()),
    )
}

fn set_impl<'a>(
    block: &ImplBlock,
    functions: impl IntoIterator<Item = &'a Function>,
    rt: &Runtime,
    list: impl FnOnce(Ident) -> TokenStream,
) -> TokenStream {
    let cfgs = block.cfgs();
    let allow_deprecated = allow_deprecated(functions);
    let ty = &block.ty;
    let import = rt.import();
    let rt = rt.at(Span::mixed_site());
    let list = list(rt.clone());
    let tools = quote! {
        fn tools(self: #rt::Arc<Self>) -> #rt::Vec<#rt::DeclaredTool> {
            #list
        }
    };
    let implementation = implement(
        &quote!(#rt::OneToolsBlockPerType),
        ty,
        types::name_span(ty),
        tools,
    );
    quote! {
        #(#cfgs)*
        #allow_deprecated
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

/// Emits another item unchanged.
fn not_an_impl_block(item: &TokenStream, error: &syn::Error) -> TokenStream {
    let on_a_function = "`#[tools]` belongs on an `impl` block; for one function write `#[tool]`";
    let error = match (syn::parse2::<Function>(item.clone()), invalid_item::kind(item)) {
        (Ok(function), _) => syn::Error::new(function.sig.fn_token.span, on_a_function),
        (_, ItemKind::Function(function)) => syn::Error::new(function.sig.fn_token.span, on_a_function),
        (_, ItemKind::Other(keyword)) if keyword != "impl" && keyword != "unsafe" => {
            syn::Error::new(keyword.span(), "`#[tools]` belongs on an `impl` block")
        }
        _ => error.clone(),
    };
    let item = strip_attributes(item.clone());
    let error = error.to_compile_error();
    quote!(#item #error)
}
