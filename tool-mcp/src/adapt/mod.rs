//! Conversions of lists, calls and results: no I/O.

pub(crate) mod era;
pub(crate) mod text;
pub(crate) mod listing;
pub(crate) mod progress;
pub(crate) mod fault;
pub(crate) mod result;
