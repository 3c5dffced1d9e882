//! Server over HTTP, as a tower service without a session of the protocol.

pub(crate) mod principal;
mod authority;
mod rules;
mod headers;
pub(crate) mod body;
mod request_body;
mod call_stream;
mod respond;
pub(crate) mod service;
