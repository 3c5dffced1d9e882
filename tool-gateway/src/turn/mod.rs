//! A turn, from a request to the client's message, with the hidden rounds between them. Modules here do no I/O.

pub(crate) mod ownership;
pub(crate) mod thinking;
pub(crate) mod round_messages;
pub(crate) mod upstream_request;
mod system_messages;
pub(crate) mod restore;
mod client_schemas;
mod forced_nulls;
pub(crate) mod client_calls;
pub(crate) mod rules;
pub(crate) mod event;
pub(crate) mod action;
pub(crate) mod machine;
#[cfg(test)]
mod tests;
