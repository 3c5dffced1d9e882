//! Reads the calls of a stream from its events, whatever the dialect. Knows no bytes.

pub(crate) mod dialect;
mod encode;
pub(crate) mod reader;
pub(crate) mod call_reader;
