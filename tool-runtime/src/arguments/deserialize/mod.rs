//! Arguments as a serde `Deserializer`. There is one, over whatever they stand in at the end: a coerced tree, or text or a value
//! that is known to conform.

pub(super) mod error;
pub(super) mod cursor;
mod map_key;
pub(super) mod reader;
pub(super) mod argument;
