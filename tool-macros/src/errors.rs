//! Collects the errors of a tool, so that all errors are reported together. Dropping unreported errors panics.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

pub(crate) struct Errors(RefCell<Option<Collected>>);

#[derive(Default)]
struct Collected {
    messages: Vec<syn::Error>,
    left_to_rustc: Vec<&'static str>,
}

/// The errors as `compile_error!` calls.
#[derive(Debug, Default)]
pub(crate) struct CompileErrors {
    messages: TokenStream,
    left_to_rustc: Option<&'static str>,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self(RefCell::new(Some(Collected::default())))
    }

    pub(crate) fn at(&self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    pub(crate) fn spanned(&self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&self, error: syn::Error) {
        if let Some(collected) = &mut *self.0.borrow_mut() {
            collected.messages.push(error);
        }
    }

    /// Returns the number of recorded errors.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().as_ref().map_or(0, |collected| {
            collected.messages.len() + collected.left_to_rustc.len()
        })
    }

    /// Returns whether no error was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Records a mistake that rustc is expected to report, because the emitted function contains the mistake, too. If rustc does
    /// not report the mistake, the build fails with `message`.
    pub(crate) fn leave_to_rustc(&self, message: &'static str) {
        if let Some(collected) = &mut *self.0.borrow_mut() {
            collected.left_to_rustc.push(message);
        }
    }

    pub(crate) fn finish(self) -> Result<(), CompileErrors> {
        let collected = self.0.borrow_mut().take().unwrap_or_default();
        if collected.messages.is_empty() && collected.left_to_rustc.is_empty() {
            return Ok(());
        }
        Err(CompileErrors {
            messages: collected
                .messages
                .iter()
                .map(syn::Error::to_compile_error)
                .collect(),
            left_to_rustc: collected.left_to_rustc.first().copied(),
        })
    }
}

impl CompileErrors {
    /// Returns a statement for the emitted function. The statement fails the build if rustc does not report the mistake that was
    /// left to rustc. Returns `None` if no mistake was left to rustc.
    pub(crate) fn rustc_assertion(&self) -> Option<TokenStream> {
        let message = self.left_to_rustc?;
        // The `const` block of a generic function is evaluated only when the function is instantiated. After another error,
        // rustc does not instantiate functions, so the block adds no second error.
        Some(quote! {
            fn unreported<T>() {
                const { ::core::panic!(#message) }
            }
            unreported::<()>();
        })
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(
            std::thread::panicking() || self.0.get_mut().is_none(),
            "the errors of an invocation were not reported",
        );
    }
}

impl ToTokens for CompileErrors {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.messages.to_tokens(tokens);
    }
}
