//! What stands in the place of a tool with mistakes: the function and a stub, so that the mistakes are all that
//! the compiler has to say, and an editor still knows the names.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::ast::ToolFn;
use crate::crate_path::Runtime;
use crate::errors::Refused;
use crate::expand::{implementation, structure};
use crate::signature::Function;

pub(crate) fn fallback(tool: &ToolFn, refused: &Refused) -> TokenStream {
    let function = compiling(&tool.function);
    if tool.receiver.is_some() {
        return quote!(#function #refused);
    }
    let structure = structure(tool);
    let rt = Runtime::new(tool.attr.krate.as_ref(), &tool.function.sig.ident);
    let stub = implementation(tool, &rt, &quote!(loop {}));
    quote! {
        #function

        #structure

        #stub

        #refused
    }
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
