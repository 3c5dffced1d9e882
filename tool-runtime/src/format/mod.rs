//! Converts tools, calls and results to and from the formats of each API. Pure functions, without network or state.
//! Needs the feature `formats`.
//!
//! | | tools | calls | results |
//! |---|---|---|---|
//! | [`anthropic`] | [`tool`](anthropic::tool), [`strict_tool`](anthropic::strict_tool) | [`calls`](anthropic::calls) | [`results`](anthropic::results) |
//! | [`openai::chat`] | [`tool`](openai::chat::tool), [`strict_tool`](openai::chat::strict_tool) | [`calls`](openai::chat::calls) | [`result`](openai::chat::result) |
//! | [`openai::responses`] | [`tool`](openai::responses::tool), [`strict_tool`](openai::responses::strict_tool) | [`calls`](openai::responses::calls) | [`result`](openai::responses::result) |
//! | [`mcp`] | [`tool`](mcp::tool), [`definition`](mcp::definition) | [`call`](mcp::call) | [`result`](mcp::result), [`output`](mcp::output) |
//!
//! A `Response` of [`anthropic`](anthropic::Response), [`openai::chat`](openai::chat::Response) and
//! [`openai::responses`](openai::responses::Response) is split into the message for the next request, its calls, and
//! the fields that only responses have. With the feature `stream`, each API has a `ResponseReader` for streams.

mod fields;
mod call_arguments;
mod call_ids;
#[cfg(feature = "stream")]
mod delta;
#[cfg(feature = "stream")]
mod stream_error;
#[cfg(feature = "stream")]
mod surrogates;
#[cfg(feature = "stream")]
mod events;
#[cfg(feature = "stream")]
mod reader;
pub mod strict;
pub mod anthropic;
pub mod openai;
pub mod mcp;

#[cfg(feature = "stream")]
pub use delta::Delta;
pub use fields::FormatError;
#[cfg(feature = "stream")]
pub use stream_error::StreamError;
