//! The repair of the rest of a text, from the first byte that is not JSON: followed token by token, in the union
//! of JSON's grammar and Python's, once.

mod inner;
mod number;

use super::fixes::{Fixes, Reason};
use super::limits::Limits;
use super::scan::Deviation;

/// What the rest became.
pub(super) struct Mended {
    /// Takes the place of everything from [`Deviation::at`] on.
    pub(super) text: String,
    pub(super) fixes: Fixes,
}

/// Why the rest stays as it is.
pub(super) enum Unmended {
    /// The text ends while everything so far was followed.
    Truncated(Reason),
    Refused(Reason),
}

/// Repairs `rest`, the text from [`Deviation::at`] to its end. `sent` is what came before, unless that was more
/// than [`Limits::sent`].
///
/// Offsets in the fixes and in the reason are counted from the start of the whole text.
pub(super) fn mend(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
) -> Result<Mended, Unmended> {
    let _ = (rest, sent, limits);
    Err(Unmended::Refused(Reason::new(deviation.found, "not JSON")))
}
