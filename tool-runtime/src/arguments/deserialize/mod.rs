//! Arguments as a serde `Deserializer`: a single implementation for a coerced tree, and for text or a value that
//! conforms.

pub(super) mod error;
pub(super) mod cursor;
mod map_key;
pub(super) mod reader;
pub(super) mod argument;
