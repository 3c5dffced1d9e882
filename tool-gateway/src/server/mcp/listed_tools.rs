//! [`ListedTools`]: all tools for a command that runs without the gateway.

use tool_runtime::ToolRegistry;

/// All tools for a command that runs without the gateway.
#[derive(Debug)]
pub(crate) struct ListedTools {
    pub(crate) registry: ToolRegistry,
    /// Tools that are left out, with reasons.
    pub(crate) left_out: Vec<String>,
    /// Servers that have not listed their tools, with reasons.
    pub(crate) failures: Vec<String>,
}
