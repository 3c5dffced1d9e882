//! [`Runtime`]: path of the runtime, from `crate = path`. The path occurs once in the expansion.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Path, parse_quote};

/// Path of the runtime, and its alias in the expansion.
pub(crate) struct Runtime {
    path: Path,
    alias: &'static str,
}

impl Runtime {
    /// Creates the runtime's path; `taken` is a name that the alias must not shadow.
    pub(crate) fn new(path: Option<&Path>, taken: &Ident) -> Self {
        Self {
            path: path.cloned().unwrap_or_else(|| parse_quote!(::tool_runtime)),
            alias: if taken == "__rt" { "__rt_" } else { "__rt" },
        }
    }

    /// Returns the alias at `span`, where errors of paths with this alias are shown.
    pub(crate) fn at(&self, span: Span) -> Ident {
        Ident::new(self.alias, span)
    }

    pub(crate) fn import(&self) -> TokenStream {
        let path = self.path.to_token_stream();
        let alias = self.at(Span::mixed_site());
        quote! {
            use #path::__private as #alias;
            use #alias::{Respond as _, WithOutputSchema as _};
        }
    }
}
