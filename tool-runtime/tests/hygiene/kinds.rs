//! Visibilities, conditions, and other attributes, in every order.

use tool_runtime::{RegistryError, ToolRegistry, tool};

/// Private.
#[tool]
async fn private() {}

/// For the module above.
#[tool]
#[must_use]
pub(super) async fn above() -> u8 {
    1
}

/// Item of another module.
#[tool]
#[cfg(any())]
pub(crate) async fn elsewhere() -> Missing {}

/// Number of the first place.
#[cfg(not(any()))]
#[tool]
pub(crate) async fn somewhere() {}

/// Number of the second place.
#[cfg(any())]
#[tool]
pub(crate) async fn somewhere(missing: Missing) {}

/// On its way out: models may still call it, and registering it is no use of the function.
#[tool]
#[deprecated(since = "0.1.0", note = "call another")]
#[must_use = "it is all that it does"]
#[inline]
pub(crate) async fn outdated(
    /// A number.
    number: u8,
) -> u8 {
    number
}

/// Function with its attributes in another order.
#[expect(
    clippy::too_many_arguments,
    clippy::many_single_char_names,
    reason = "they are counted"
)]
#[deprecated]
#[tool]
pub(crate) async fn outdated_too(
    #[arg(default = 1)]
    #[doc = "A."]
    a: u8,
    /// B.
    #[allow(unused_variables, reason = "an attribute of rustc's stays")]
    b: Option<u8>,
    /// C.
    c: Option<u8>,
    /// D.
    d: Option<u8>,
    /// E.
    e: Option<u8>,
    /// F.
    f: Option<u8>,
    /// G.
    g: Option<u8>,
    /// H.
    h: Option<u8>,
) -> Vec<Option<u8>> {
    vec![Some(a), c, d, e, f, g, h]
}

/// A family of them.
#[derive(Debug)]
pub(crate) struct Outdated;

#[tool_runtime::tools]
impl Outdated {
    /// Outdated, too.
    #[deprecated]
    #[tool]
    async fn method(&self) {}

    /// Item of another module.
    #[cfg(any())]
    #[tool]
    async fn nowhere(&self) -> Missing {}
}

pub(crate) fn all() -> impl tool_runtime::IntoTools {
    tool_runtime::tool_set![private, above, somewhere, outdated, outdated_too]
}

#[test]
fn every_definition_registers() -> Result<(), RegistryError> {
    let mut registry = ToolRegistry::new();
    registry.register_all(all())?.register_all(Outdated)?;
    let definitions = registry.tool_definitions();
    let names: Vec<_> = definitions.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "private",
            "above",
            "somewhere",
            "outdated",
            "outdated_too",
            "method"
        ],
    );
    Ok(())
}
