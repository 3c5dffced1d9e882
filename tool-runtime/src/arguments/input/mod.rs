//! Input of a call: the tokens of its JSON text, and the tree for coercion.

pub(crate) mod tokens;
pub(crate) mod tree;
