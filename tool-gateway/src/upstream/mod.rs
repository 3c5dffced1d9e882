//! What the gateway asks: an Anthropic-compatible server, or a script.

// Dependencies first: a module uses only modules declared before it.
mod service;
pub(crate) mod transport;
pub mod anthropic;
pub mod script;

pub use anthropic::AnthropicUpstream;
pub use script::ScriptUpstream;
pub use service::{Upstream, UpstreamError, UpstreamFuture};
