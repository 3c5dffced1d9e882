//! All faults of calls, with the text for the model and the failure for the host, from `docs/faults.md`.
//!
#![doc = "[coercion]: crate::coercion"] // the first definition of a link counts: not the document's path
#![doc = include_str!("docs/faults.md")]
