//! What stands in the place of a tool with mistakes: the function and a stub, so that the mistakes are all that
//! the compiler has to say, and an editor still knows the names.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{FnArg, GenericParam, LifetimeParam, ReturnType, Type, parse_quote};

use crate::ast::{Place, ToolFn};
use crate::check::hides_a_type;
use crate::crate_path::Runtime;
use crate::errors::{Errors, Refused};
use crate::expand::{answer, implementation, param, structure};
use crate::signature::Function;
use crate::{limits, types};

pub(crate) fn fallback(tool: &ToolFn, refused: &Refused) -> TokenStream {
    // In the midst of an `impl` block there is no place for more.
    if tool.receiver_or_own_type().is_some() || hides_a_type(tool) {
        let function = compiling(&tool.function);
        return quote!(#function #refused);
    }
    let function = compiling(&with_lifetimes(tool));
    let structure = structure(tool);
    let rt = Runtime::new(tool.attr.krate.as_ref(), &tool.function.sig.ident);
    let judged = judged(tool, &rt);
    let net = refused.net();
    let stub = implementation(tool, &rt, &quote!(#(let _ = #judged;)* #net loop {}));
    quote! {
        #function

        #structure

        #stub

        #refused
    }
}

/// What the macro has nothing against: the compiler says what it has, in the same go.
pub(crate) fn judged(tool: &ToolFn, rt: &Runtime) -> Vec<TokenStream> {
    if !tool.function.sig.generics.params.is_empty() {
        return Vec::new();
    }
    let sound = tool.params.iter().filter(|param| {
        let is_sound = |check: &dyn Fn(&Errors)| {
            let errors = Errors::new();
            check(&errors);
            errors.finish().is_ok()
        };
        param.is_sound
            && is_sound(&|errors| types::of_parameter(&param.ty, errors))
            && is_sound(&|errors| limits::check(&param.arg, errors))
    });
    let params = sound.map(|param| self::param(param, rt));
    params.chain(returned(tool, rt)).collect()
}

/// What is returned, if nothing was said of it.
fn returned(tool: &ToolFn, rt: &Runtime) -> Option<TokenStream> {
    let sig = &tool.function.sig;
    let ReturnType::Type(_, ty) = &sig.output else {
        return None;
    };
    let errors = Errors::new();
    types::of_result(ty, tool.place == Place::Method, &errors);
    let is_sound = errors.finish().is_ok() && types::is_closed(ty) && sig.asyncness.is_some();
    is_sound.then(|| {
        let span = types::name_of(ty);
        let value = Ident::new("returned", Span::mixed_site());
        let answer = answer(tool, &quote!(#value), span, rt);
        quote!(|#value: #ty| #answer)
    })
}

/// The function with the lifetimes that its parameters name and nobody declared: that they borrow was refused.
fn with_lifetimes(tool: &ToolFn) -> Function {
    let mut function = tool.function.clone();
    for lifetime in tool
        .params
        .iter()
        .flat_map(|param| types::named_lifetimes(&param.ty))
    {
        let declared = &mut function.sig.generics.params;
        let is_declared = declared
            .iter()
            .any(|generic| matches!(generic, GenericParam::Lifetime(known) if known.lifetime == lifetime));
        if !is_declared {
            declared.insert(0, GenericParam::Lifetime(LifetimeParam::new(lifetime)));
        }
    }
    function
}

/// The function without what was refused and what rustc would refuse once more.
pub(crate) fn compiling(function: &Function) -> TokenStream {
    let mut function = function.clone();
    function
        .attrs
        .retain(|attr| !attr.path().is_ident("arg") && !crate::signature::is_tool(attr));
    function.sig.variadic = None;
    for input in &mut function.sig.inputs {
        if let FnArg::Typed(typed) = input {
            sized(&mut typed.ty);
        }
    }
    if function.sig.asyncness.is_some() {
        function.sig.constness = None;
    }
    if !function.has_body() {
        function.body = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, quote!(loop {})).into();
    }
    function.into_token_stream()
}

/// A parameter without a size would be refused once more, and again in the body; a borrowed one is not.
fn sized(ty: &mut Type) {
    let is_unsized = match ty {
        Type::Path(path) => path.path.is_ident("str"),
        Type::Slice(_) | Type::TraitObject(_) => true,
        _ => false,
    };
    if is_unsized {
        *ty = parse_quote!(&(#ty));
    }
}
