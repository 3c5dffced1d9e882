//! A turn: from a request to the message that the client sees, with the rounds in between that it does not. Without I/O.

pub(crate) mod ownership;
pub(crate) mod upstream_request;
pub(crate) mod thinking;
pub(crate) mod restore;
pub(crate) mod rules;
pub(crate) mod event;
pub(crate) mod action;
mod incoming;
pub(crate) mod machine;
#[cfg(test)]
mod tests;
