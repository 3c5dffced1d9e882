//! The outcomes of the parser.

use crate::fixes::{Fixes, Reason};

/// The repaired rest.
pub(crate) struct Repair {
    /// Replacement for the rest of the text, from its start.
    pub(crate) text: String,
    pub(crate) fixes: Fixes,
    /// Name of the tool in the packaging.
    pub(crate) tool: Option<String>,
}

/// Reason why the rest is unchanged.
pub(crate) enum Failure {
    /// The text ends before the end of its value, without an earlier error.
    Truncated(Reason),
    Refused(Reason),
}
