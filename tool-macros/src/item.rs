//! An item that is not what the attribute belongs on.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt as _;
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{Attribute, Visibility};

/// The word that says what the item is.
pub(crate) fn keyword(item: &TokenStream) -> Option<Ident> {
    let keyword = |input: ParseStream<'_>| {
        Attribute::parse_outer(input)?;
        Visibility::parse(input)?;
        let keyword = Ident::parse_any(input)?;
        let _: TokenStream = input.parse()?;
        Ok(keyword)
    };
    keyword.parse2(item.clone()).ok()
}
