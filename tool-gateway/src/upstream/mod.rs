//! Upstreams of the gateway: an Anthropic-compatible server, or a script. An upstream is a dialect over a transport. The entry is
//! [`Upstream`].

// A module uses only modules that are declared before it.
mod error;
mod translation_warnings;
pub(crate) mod turn_context;
mod signed_thinking;
pub(crate) mod transport;
#[cfg(feature = "mcp")]
pub(crate) mod tool_server;
pub(crate) mod answer;
pub(crate) mod anthropic;
pub(crate) mod text_calls;
mod service;
mod recovering;
pub(crate) mod openai;
pub mod script;

pub use answer::{MessageEvent, MessageEvents, TurnBody};
pub use anthropic::AnthropicUpstream;
pub use error::UpstreamError;
pub use openai::OpenAiUpstream;
pub use recovering::TextCalls;
pub use script::ScriptUpstream;
pub use service::{Upstream, UpstreamFuture};
pub use text_calls::reader::TextCallReader;
pub use text_calls::rules::TextCallRules;
pub use translation_warnings::TranslationWarnings;
pub use transport::invalid::InvalidUpstream;
