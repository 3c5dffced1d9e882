//! Input of a call: the tokens of its JSON text, and the tree that coercion works on.

pub(crate) mod tokens;
pub(crate) mod tree;
