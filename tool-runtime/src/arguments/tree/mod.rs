//! The tree of the arguments. It keeps the text of numbers and the order of keys.

pub(super) mod node;
pub(super) mod json;
pub(super) mod parse;
