//! [`UnknownTool`]: a setting names a tool that the gateway does not have.

use tool_runtime::ToolRegistry;

/// A tool was named that the registry does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{name}`; the tools are {}", .known.join(", "))]
pub struct UnknownTool {
    /// The name.
    pub name: String,
    /// The names that there are, in the order of registration.
    pub known: Vec<String>,
}

impl UnknownTool {
    /// Checks that the registry has all of these tools.
    pub(crate) fn check<'n>(
        registry: &ToolRegistry,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), Self> {
        let unknown = names.into_iter().find(|name| registry.get_tool(name).is_none());
        let Some(name) = unknown else { return Ok(()) };
        let known = registry.tool_definitions().into_iter();
        Err(Self {
            name: name.to_owned(),
            known: known.map(|tool| tool.name.as_str().to_owned()).collect(),
        })
    }
}
