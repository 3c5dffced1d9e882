//! Repairs the rest of a text, from the first byte that is not JSON.
//!
//! A single pass reads the rest token by token, in the union of three grammars: JSON with raw control characters in
//! its strings, JSON5, and the literals of Python. If a token has two meanings, evidence elsewhere in the text
//! decides ([`evidence`]). If no grammar continues, one kind of slip is fixed.
//!
//! Each file has the methods of the [parser](state::Parser) for one part of the grammar. The methods call only methods of
//! earlier files.

mod number;
mod failure;
mod evidence;
mod frame;
mod literal;
mod state;
mod gap;
mod escape;
mod result;
mod string;
mod dict;
mod key;
mod inner_quotes;
mod value;
mod after_value;
mod packaging;
mod document;
mod machine;
mod brackets;
mod escaped;

use crate::limits::Limits;
use crate::scan::Deviation;

pub(super) use failure::{Failure, Repair};

/// Repairs `rest`, the text from [`Deviation::at`] to its end. `sent` is the text before `rest`, unless it was longer
/// than [`Limits::sent`].
///
/// Offsets in the fixes and in the reason are counted from the start of the whole text.
pub(super) fn repair(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
) -> Result<Repair, Failure> {
    if let Some(repaired) = escaped::unescape_document(rest, sent, deviation, limits) {
        return repaired;
    }
    match (machine::parse(rest, sent, deviation, limits, None), sent) {
        (Err(Failure::Refused(reason)), Some(sent)) => {
            brackets::repair(rest, sent, deviation, limits).ok_or(Failure::Refused(reason))
        }
        (parsed, _) => parsed,
    }
}
