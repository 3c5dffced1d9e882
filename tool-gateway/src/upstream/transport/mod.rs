//! HTTP transport of all APIs: base URL, credentials and pooled connections. The entry is [`HttpServer`](server::HttpServer).

// A module uses only modules that are declared before it.
pub(super) mod invalid;
mod hop_by_hop;
mod gzip;
pub(crate) mod first_cause;
mod proxy;
pub(crate) mod connector;
pub(super) mod connection;
mod pool;
pub(crate) mod response;
mod base_url;
pub(super) mod api_key;
pub(super) mod server;
