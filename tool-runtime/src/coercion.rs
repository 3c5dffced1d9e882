//! The rules by which arguments are made to fit, as `docs/coercion.md` has them.
#![doc = include_str!("docs/coercion.md")]
