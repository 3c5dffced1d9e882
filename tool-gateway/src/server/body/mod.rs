//! Wrappers of request and response bodies: idle timeouts, delayed errors, and permits that live as long as a body.

pub(crate) mod idle;
pub(crate) mod flushed;
pub(crate) mod holding;
