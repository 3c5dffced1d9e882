//! Principals of requests, limits of each client, and the hop count. The entry is [`client_key::authenticate`].

pub(crate) mod hop;
pub(crate) mod client_key;
pub(crate) mod client_limits;
pub(crate) mod byte_budget;
