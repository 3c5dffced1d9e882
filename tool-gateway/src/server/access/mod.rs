//! Access: the principal of a request, limits for each client, the hop count. The entry is [`principal`].

pub(crate) mod hop;
pub(crate) mod principal;
pub(crate) mod client_limits;
pub(crate) mod unknown_tool;
