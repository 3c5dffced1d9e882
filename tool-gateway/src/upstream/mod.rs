//! What the gateway asks: an Anthropic-compatible server, or a script.

// Dependencies first: a module uses only modules declared before it.
mod error;
pub(crate) mod transport;
mod service;
pub(crate) mod anthropic;
pub mod script;

pub use anthropic::AnthropicUpstream;
pub use error::UpstreamError;
pub use script::ScriptUpstream;
pub use service::{Upstream, UpstreamFuture};
pub use transport::invalid::InvalidUpstream;
