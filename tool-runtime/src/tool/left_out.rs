//! [`LeftOut`]: a tool that was not registered with the others of its source.

use std::fmt;

use crate::tool::registry_error::RegistryError;

/// A tool that [`register_usable`](crate::ToolRegistry::register_usable) or
/// [`nest_usable`](crate::ToolRegistry::nest_usable) left out, with the reason.
///
/// ```
/// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};
///
/// let listed = [("add", json!({ "type": "object" })), ("broken", json!({ "type": "objekt" }))];
/// let definitions = listed.map(|(name, schema)| ToolDefinition::new(name, "Listed.", schema));
/// let mut registry = ToolRegistry::new();
/// let left_out = registry.register_usable(definitions, async |_, _, _| "done");
/// assert!(registry.get_tool("add").is_some());
/// assert_eq!((left_out[0].name.as_str(), left_out[0].error.code()), ("broken", "invalid_schema"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct LeftOut {
    /// Name in the source, or in the nested registry.
    pub name: String,
    /// Reason why the tool was not registered.
    pub error: RegistryError,
}

impl LeftOut {
    pub(crate) fn new(name: impl Into<String>, error: RegistryError) -> Self {
        let name = name.into();
        Self { name, error }
    }
}

/// Displays the reason, which contains the name.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
