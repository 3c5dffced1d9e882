//! What stands in the place of a tool with mistakes: the function and a stub, so that the mistakes are all that
//! the compiler has to say, and an editor still knows the names.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::ast::{Param, ToolFn};
use crate::check::owned;
use crate::crate_path::Runtime;
use crate::errors::{Errors, Refused};
use crate::expand::{implementation, structure, supplied};
use crate::signature::Function;

pub(crate) fn fallback(tool: &ToolFn, refused: &Refused) -> TokenStream {
    let function = compiling(&tool.function);
    if tool.receiver.is_some() {
        return quote!(#function #refused);
    }
    let structure = structure(tool);
    let rt = Runtime::new(tool.attr.krate.as_ref(), &tool.function.sig.ident);
    let judged = judged(tool, &rt);
    let stub = implementation(tool, &rt, &quote!(#(let _ = #judged;)* loop {}));
    quote! {
        #function

        #structure

        #stub

        #refused
    }
}

/// The parameters that the macro has nothing against: the compiler says what it has, in the same go.
pub(crate) fn judged(tool: &ToolFn, rt: &Runtime) -> Vec<TokenStream> {
    if !tool.function.sig.generics.params.is_empty() {
        return Vec::new();
    }
    let is_owned = |param: &&Param| {
        let errors = Errors::new();
        owned(&param.ty, &errors);
        errors.finish().is_ok()
    };
    let sound = tool.params.iter().filter(|param| param.is_sound).filter(is_owned);
    sound.map(|param| supplied(param, rt)).collect()
}

/// The function without what was refused and what rustc would refuse once more.
pub(crate) fn compiling(function: &Function) -> TokenStream {
    let mut function = function.clone();
    function
        .attrs
        .retain(|attr| !attr.path().is_ident("arg") && !crate::signature::is_tool(attr));
    function.sig.variadic = None;
    if function.sig.asyncness.is_some() {
        function.sig.constness = None;
    }
    if !function.has_body() {
        function.body = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, quote!(loop {})).into();
    }
    function.into_token_stream()
}
