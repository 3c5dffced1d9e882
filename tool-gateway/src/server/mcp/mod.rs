//! Servers of MCP: their processes, and the generations of their tools. The entry is [`McpServers`].

#[cfg(not(feature = "mcp"))]
mod off;
#[cfg(feature = "mcp")]
mod sources;
#[cfg(feature = "mcp")]
mod servers;

#[cfg(not(feature = "mcp"))]
pub(crate) use off::McpServers;
#[cfg(feature = "mcp")]
pub(crate) use servers::McpServers;
