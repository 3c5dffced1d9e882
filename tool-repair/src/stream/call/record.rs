//! [`RepairRecord`]: outcome of a call whose arguments were not a string with valid JSON. The feature `tracing` also
//! logs the records.

#[cfg(feature = "tracing")]
use std::fmt;

use crate::fixes::{Fixes, Reason};
use crate::repairer::Status;

/// Outcome of a call whose arguments were not a string with valid JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairRecord {
    /// Name of the tool; empty if the stream has no name.
    pub tool: String,
    /// Id of the call: `call_…`, `toolu_…`; `None` if the stream has no id.
    pub call: Option<String>,
    /// Choice of a Chat Completions stream.
    pub choice: Option<u64>,
    /// `index` (Chat Completions, Anthropic) or `output_index` (Responses) of the call.
    pub index: Option<u64>,
    /// Outcome of the arguments. [`Valid`](Status::Valid) only together with [`was_object`](Self::was_object).
    pub status: Status,
    /// Changes; offsets are counted from the start of the call's arguments.
    pub fixes: Fixes,
    /// Reason why the arguments were not changed.
    pub reason: Option<Reason>,
    /// Whether the result was validated as JSON. The validation needs `strict_validation`.
    pub validated: bool,
    /// Whether the arguments were an object, which was sent as a string with the text of the object.
    pub was_object: bool,
}

#[cfg(feature = "tracing")]
impl RepairRecord {
    /// Logs the outcome and the offsets, but never the arguments.
    pub(crate) fn log(&self, each_fix: bool) {
        let (tool, call) = (self.tool.as_str(), self.call.as_deref().unwrap_or_default());
        let (choice, index) = (self.choice, self.index);
        let offset = self.reason.as_ref().map(|reason| reason.offset);
        match self.status {
            Status::Valid => {
                tracing::info!(
                    tool,
                    call,
                    choice,
                    index,
                    "arguments that were an object were sent as a string"
                );
            }
            Status::Repaired => {
                // Fixes are in the order of the repair, so the fix with the lowest offset may be the last one.
                let offset = self.fixes.iter().map(|fix| fix.offset).min();
                tracing::info!(
                    tool,
                    call,
                    choice,
                    index,
                    fixes = %CountsByCode(&self.fixes),
                    offset,
                    validated = self.validated,
                    "arguments were repaired"
                );
            }
            Status::Truncated => tracing::warn!(tool, call, choice, index, offset, "arguments were cut off"),
            Status::Refused => {
                tracing::warn!(
                    tool,
                    call,
                    choice,
                    index,
                    offset,
                    "arguments could not be repaired"
                );
            }
        }
        if each_fix {
            for fix in self.fixes.first() {
                let (code, offset) = (fix.code.as_str(), fix.offset);
                tracing::debug!(tool, call, choice, index, code, offset, "fixed");
            }
        }
    }
}

/// Codes with their counts: `single_quotes×9 python_literal×1`.
#[cfg(feature = "tracing")]
struct CountsByCode<'a>(&'a Fixes);

#[cfg(feature = "tracing")]
impl fmt::Display for CountsByCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (code, count)) in self.0.counts().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{code}×{count}")?;
        }
        Ok(())
    }
}
