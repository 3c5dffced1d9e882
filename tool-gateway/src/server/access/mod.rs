//! Access: the principal of a request, limits for each client, the hop count. The entry is [`client_key::authenticate`].

pub(crate) mod hop;
pub(crate) mod client_key;
pub(crate) mod client_limits;
