//! The outcomes of the parser.

use crate::fixes::{Fixes, Reason};

/// The repaired rest.
pub(crate) struct Repair {
    /// Replacement for everything from the start of the rest.
    pub(crate) text: String,
    pub(crate) fixes: Fixes,
    /// The tool that the packaging names.
    pub(crate) tool: Option<String>,
}

/// The reason why the rest stays unchanged.
pub(crate) enum Failure {
    /// The text ends while all of it could be followed.
    Truncated(Reason),
    Refused(Reason),
}
