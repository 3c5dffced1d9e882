//! The report of a stream: a record for each call whose arguments were not simply JSON, to the caller and, with the
//! feature of that name, through `tracing`.

#[cfg(feature = "tracing")]
use std::fmt;

use crate::fixes::{Fixes, Reason};
use crate::repairer::Status;

/// What became of the arguments of one call that were not simply JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairRecord {
    /// The name of the tool; empty when the stream never said it.
    pub tool: String,
    /// The id of the call: `call_…`, `toolu_…`; `None` when the stream never said it.
    pub call: Option<String>,
    /// Which choice of a Chat Completions stream.
    pub choice: Option<u64>,
    /// The call's `index` (Chat Completions, Anthropic) or `output_index` (Responses).
    pub index: Option<u64>,
    /// What the arguments turned out to be. [`Valid`](Status::Valid) only together with
    /// [`was_object`](Self::was_object).
    pub status: Status,
    /// What was changed; places are counted from the start of the call's arguments.
    pub fixes: Fixes,
    /// Why nothing was changed.
    pub reason: Option<Reason>,
    /// Whether the result was checked to be JSON: not without `strict_validation`.
    pub validated: bool,
    /// The arguments came as an object where a string belongs, and were sent as the string of its text.
    pub was_object: bool,
}

#[cfg(feature = "tracing")]
impl RepairRecord {
    /// Logs what happened and where; never the arguments themselves.
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
                // They are noted as they are made: what stands in front of the object comes last.
                let offset = self.fixes.iter().map(|fix| fix.offset).min();
                tracing::info!(
                    tool,
                    call,
                    choice,
                    index,
                    fixes = %Counts(&self.fixes),
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

/// The codes, each with its number: `single_quotes×9 python_literal×1`.
#[cfg(feature = "tracing")]
struct Counts<'a>(&'a Fixes);

#[cfg(feature = "tracing")]
impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (code, count)) in self.0.counts().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{code}×{count}")?;
        }
        Ok(())
    }
}
