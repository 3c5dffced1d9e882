//! Admission of requests by host, origin, hops, client limits and body size. The entry is [`admission`].

mod billing_header;
mod content_encoding;
mod cors;
mod origin;
mod framing;
pub(crate) mod admission;
pub(crate) mod request_body;
