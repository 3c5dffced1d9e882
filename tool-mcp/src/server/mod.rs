//! Server with the tools of a registry.

mod message;
mod cursor;
mod tool_list;
mod sessions;
mod admission;
mod progress;
mod call;
pub(crate) mod mcp_server;
mod dispatch;
pub(crate) mod stdio;
