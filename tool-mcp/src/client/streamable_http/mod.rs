//! Streamable HTTP: each message is a POST, whose response is JSON or a stream of events.
//!
//! `rmcp` has a transport for HTTP, too, with a trait for HTTP clients (`StreamableHttpClient`). The transport reads the headers for
//! arguments only from lists that its types can hold, has no headers of a single call, and expects of each HTTP client ten methods that
//! parse messages and events. Here an HTTP client is a tower service.

mod failure;
mod body;
mod event_stream;
mod session;
mod http_wire;
mod exchange;
mod notifications;
pub(crate) mod task;
