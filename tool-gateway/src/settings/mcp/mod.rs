//! The section `mcp`: servers of the Model Context Protocol (MCP), whose tools are the gateway's. The entry is [`McpSettings`].

#[cfg(not(feature = "mcp"))]
mod off;
#[cfg(feature = "mcp")]
mod in_order;
#[cfg(feature = "mcp")]
mod import;
#[cfg(feature = "mcp")]
pub(crate) mod pins;
#[cfg(feature = "mcp")]
pub(crate) mod url_headers;
#[cfg(feature = "mcp")]
pub(crate) mod server;
#[cfg(feature = "mcp")]
mod servers;

#[cfg(not(feature = "mcp"))]
pub(crate) use off::McpSettings;
#[cfg(feature = "mcp")]
pub(crate) use servers::McpSettings;
