//! The JSON in an event: its strings, its values by their spans, and its place in the raw bytes.

pub(crate) mod escapes;
pub(crate) mod cursor;
pub(crate) mod payload;
