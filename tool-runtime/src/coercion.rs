//! The rules of coercion, from `docs/coercion.md`.
#![doc = include_str!("docs/coercion.md")]
