//! JSON in an event: strings, values as spans, and positions in the raw bytes.

pub(crate) mod escapes;
pub(crate) mod cursor;
pub(crate) mod payload;
