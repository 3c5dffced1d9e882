//! What was sent, as a tree that keeps the text of its numbers and the order of its keys.

pub(super) mod node;
pub(super) mod json;
pub(super) mod parse;
