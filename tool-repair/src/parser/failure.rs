//! What the parser ends with.

use crate::fixes::{Fixes, Reason};

/// What the rest became.
pub(crate) struct Repair {
    /// Takes the place of everything from where the rest begins.
    pub(crate) text: String,
    pub(crate) fixes: Fixes,
    /// The tool that the packaging names.
    pub(crate) tool: Option<String>,
}

/// Why the rest stays as it is.
pub(crate) enum Failure {
    /// The text ends while everything so far was followed.
    Truncated(Reason),
    Refused(Reason),
}
