//! Text that is not JSON made JSON, where that is no guess: whole, or in pieces as a model sends it.
//!
//! Some models answer with `{'todos': [{'content': '…'}]}`, a Python dict where JSON belongs. [`repair`] takes a
//! whole text, a [`Repairer`] takes it in pieces of any size and passes on at once what is JSON. Both know nothing
//! of tools, and both keep one promise: **valid JSON leaves byte for byte as it came, and what cannot be repaired
//! without guessing comes back as it was, with the reason.**

mod limits;
mod fixes;
mod stack;
mod scan;
mod tail;
mod repairer;
mod format_fixing;
pub mod stream;

pub use fixes::{Fix, FixCode, Fixes, Reason};
pub use format_fixing::{FormatFixing, TargetTools};
pub use limits::Limits;
pub use repairer::{Finished, Repaired, Repairer, Status, repair, repair_with};
