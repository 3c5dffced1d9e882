//! Servers of the Model Context Protocol (MCP) as sources of tools for [`tool-runtime`](https://docs.rs/tool-runtime).
//!
//! With the feature `client`, `McpClient` starts a server, lists its tools and calls them: a registry offers these tools to a
//! model as if they were functions of this program. The protocol is implemented by the official SDK, `rmcp`; this crate manages
//! processes and tolerates the mistakes of servers.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod adapt;
#[cfg(feature = "client")]
mod client;

#[cfg(feature = "client")]
pub use adapt::listing::{LeftOut, LeftOutReason};
#[cfg(feature = "client")]
pub use client::command::McpCommand;
#[cfg(feature = "client")]
pub use client::error::McpError;
#[cfg(feature = "client")]
pub use client::mcp_client::McpClient;
#[cfg(feature = "client")]
pub use client::settings::Protocol;

#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;
