//! What goes wrong, what the model reads and what the host learns, as `docs/faults.md` has it.
//!
#![doc = "[coercion]: crate::coercion"] // the first definition of a link counts: not the document's path
#![doc = include_str!("docs/faults.md")]
