//! The HTTP client for upstreams: connections, their pool, and headers that are not forwarded.

// Dependencies first: a module uses only modules declared before it.
pub(super) mod hop_by_hop;
pub(crate) mod first_cause;
pub(crate) mod connector;
mod connection;
pub(super) mod pool;
