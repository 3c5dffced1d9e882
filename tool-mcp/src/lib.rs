//! The Model Context Protocol (MCP) for [`tool-runtime`](https://docs.rs/tool-runtime): servers as sources of tools, and a registry as
//! a server.
//!
//! With the feature `client`, `McpClient` starts a server, lists its tools and calls them: a registry offers these tools to a
//! model as if they were functions of this program. With the feature `http`, too, the server may be a URL. The protocol is implemented by
//! the official SDK, `rmcp`; this crate manages processes and tolerates the mistakes of servers.
//!
//! With the feature `server`, `serve_stdio` and `McpServer` serve the tools of a registry to any client.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "client", feature = "server"))]
mod adapt;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use adapt::listing::{LeftOut, LeftOutReason};
#[cfg(feature = "client")]
pub use client::command::McpCommand;
#[cfg(feature = "client")]
pub use client::error::McpError;
#[cfg(feature = "client")]
pub use client::hooks::MessageKind;
#[cfg(all(feature = "client", feature = "http"))]
pub use client::http_service::NotSent;
#[cfg(feature = "client")]
pub use client::mcp_client::{McpClient, McpStatus};
#[cfg(feature = "client")]
pub use client::settings::Protocol;
#[cfg(all(feature = "client", feature = "http"))]
pub use client::url::McpUrl;
#[cfg(all(feature = "server", feature = "http"))]
pub use server::http::body::McpBody;
#[cfg(all(feature = "server", feature = "http"))]
pub use server::http::principal::McpPrincipal;
#[cfg(all(feature = "server", feature = "http"))]
pub use server::http::service::McpService;
#[cfg(feature = "server")]
pub use server::mcp_server::McpServer;
#[cfg(feature = "server")]
pub use server::stdio::serve::serve_stdio;

#[cfg(all(doctest, feature = "client", feature = "http", feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
