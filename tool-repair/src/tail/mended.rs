//! What a repair of the rest ends with.

use super::super::fixes::{Fixes, Reason};

/// What the rest became.
pub(in super::super) struct Mended {
    /// Takes the place of everything from where the rest begins.
    pub(in super::super) text: String,
    pub(in super::super) fixes: Fixes,
}

/// Why the rest stays as it is.
pub(in super::super) enum Unmended {
    /// The text ends while everything so far was followed.
    Truncated(Reason),
    Refused(Reason),
}
