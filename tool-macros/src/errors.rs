//! All mistakes of one invocation, collected and reported together. Forgetting them panics.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

pub(crate) struct Errors(RefCell<Option<Collected>>);

#[derive(Default)]
struct Collected {
    messages: Vec<syn::Error>,
    left_to_rustc: Option<&'static str>,
}

/// What stands in the way of an expansion.
#[derive(Debug)]
pub(crate) struct Refused {
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

    pub(crate) fn over(&self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&self, error: syn::Error) {
        if let Some(collected) = &mut *self.0.borrow_mut() {
            collected.messages.push(error);
        }
    }

    /// How many there are so far.
    pub(crate) fn count(&self) -> usize {
        self.0
            .borrow()
            .as_ref()
            .map_or(0, |collected| collected.messages.len())
    }

    /// Whether nothing is wrong so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.0
            .borrow()
            .as_ref()
            .is_none_or(|collected| collected.messages.is_empty() && collected.left_to_rustc.is_none())
    }

    /// For mistakes that the compiler itself reports in the function that is emitted. Should it not, `message` keeps
    /// the build from passing.
    pub(crate) fn leave_to_rustc(&self, message: &'static str) {
        if let Some(collected) = &mut *self.0.borrow_mut() {
            collected.left_to_rustc = Some(message);
        }
    }

    pub(crate) fn finish(self) -> Result<(), Refused> {
        let collected = self.0.borrow_mut().take().unwrap_or_default();
        if collected.messages.is_empty() && collected.left_to_rustc.is_none() {
            return Ok(());
        }
        Err(Refused {
            messages: collected
                .messages
                .iter()
                .map(syn::Error::to_compile_error)
                .collect(),
            left_to_rustc: collected.left_to_rustc,
        })
    }
}

impl Refused {
    /// A statement for the stub, which is evaluated only where there was no other error.
    pub(crate) fn net(&self) -> Option<TokenStream> {
        let message = self.left_to_rustc?;
        Some(quote!(const { ::core::panic!(#message) };))
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(
            std::thread::panicking() || self.0.get_mut().is_none(),
            "the errors of an invocation were forgotten",
        );
    }
}

impl ToTokens for Refused {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.messages.to_tokens(tokens);
    }
}
