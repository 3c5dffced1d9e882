//! Tree of the arguments, with the text of numbers and the order of keys.

pub(crate) mod node;
pub(crate) mod json;
pub(crate) mod parse;
