//! The Model Context Protocol, revision 2025-11-25.
//!
//! Source: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools>. All forms are checked against the
//! types of the official SDK for TypeScript.

mod base64;
mod definition;
mod image;
mod output;
mod result;

pub use definition::{definition, tool};
pub use output::output;
pub use result::{call, result};

/// Supported revision of the protocol.
pub const PROTOCOL_VERSION: &str = "2025-11-25";
