//! Server with the tools of a registry.

mod admission;
#[cfg(feature = "http")]
mod body_budget;
mod message;
mod cursor;
mod tool_list;
mod sessions;
mod progress;
mod call;
pub(crate) mod mcp_server;
mod dispatch;
pub(crate) mod stdio;
#[cfg(feature = "http")]
pub(crate) mod http;
