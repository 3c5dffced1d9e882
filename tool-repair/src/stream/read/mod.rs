//! Reads the calls of a stream of any dialect from its events.

pub(crate) mod dialect;
mod encode;
pub(crate) mod reader;
pub(crate) mod call_reader;
