//! What the gateway asks: an Anthropic-compatible server, or a script.

// Floors, bottom up: a file imports only from those above it in this list.
mod service;
mod hop_by_hop;
pub(crate) mod connector;
mod connection;
mod pool;
pub mod anthropic;
pub mod script;

pub use anthropic::AnthropicUpstream;
pub use script::ScriptUpstream;
pub use service::{Upstream, UpstreamError, UpstreamFuture};
