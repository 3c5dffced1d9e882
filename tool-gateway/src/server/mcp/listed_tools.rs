//! [`ListedTools`]: all tools for a command that runs without the gateway.

use tool_runtime::ToolRegistry;

/// All tools for a command that runs without the gateway.
#[derive(Debug)]
pub(crate) struct ListedTools {
    pub(crate) registry: ToolRegistry,
    /// Tools that are left out, with reasons, and patterns of the settings that match no tool.
    pub(crate) left_out: Vec<String>,
    /// Servers that have not listed their tools, with reasons.
    pub(crate) failures: Vec<String>,
    /// Last lines of the standard error of these servers, if there are several.
    pub(crate) stderr: Vec<String>,
}
