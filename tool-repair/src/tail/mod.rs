//! The repair of the rest of a text, from the first byte that is not JSON: followed token by token, in the union
//! of JSON's grammar and Python's, once.

mod inner;
mod number;
mod mended;
mod frame;
mod hindsight;
mod evidence;
mod literal;
mod draft;
mod gap;
mod string;
mod skim;
mod key;
mod value;
mod after;
mod markup;
mod prose;
mod around;
mod escaped;
mod follow;

use super::limits::Limits;
use super::scan::Deviation;

pub(super) use mended::{Mended, Unmended};

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
    match escaped::whole(rest, sent, deviation, limits) {
        Some(mended) => mended,
        None => follow::follow(rest, sent, deviation, limits),
    }
}
