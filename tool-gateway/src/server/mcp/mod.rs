//! Servers of MCP: their processes, and the generations of their tools. The entry is [`McpServers`].

pub(crate) mod listed_tools;
#[cfg(not(feature = "mcp"))]
mod off;
#[cfg(all(feature = "mcp", not(feature = "otlp")))]
mod trace_context_off;
#[cfg(all(feature = "mcp", feature = "otlp"))]
mod trace_context;
#[cfg(feature = "mcp")]
mod starts;
#[cfg(feature = "mcp")]
mod scoped_clients;
#[cfg(feature = "mcp")]
mod started_server;
#[cfg(feature = "mcp")]
mod sources;
#[cfg(feature = "mcp")]
mod servers;

#[cfg(not(feature = "mcp"))]
pub(crate) use off::McpServers;
#[cfg(feature = "mcp")]
pub(crate) use servers::McpServers;
