//! Admission of requests: host, origin and hops, the limits of the client, the size of the body. The entry is [`admission`].

mod origin;
pub(crate) mod admission;
pub(crate) mod request_body;
