//! Outcome of the arguments of a call.

use super::piece::{Piece, encoded};
use crate::fixes::{Fixes, Reason};
use crate::repairer::{Finished, Status};
use crate::stream::json::escapes;

/// Outcome of the arguments of a call.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Arguments that were not sent yet, as the contents of a JSON string.
    pub(crate) rest: String,
    pub(crate) status: Status,
    pub(crate) fixes: Fixes,
    pub(crate) reason: Option<Reason>,
    /// Whether the sent arguments are invalid JSON. Truncated JSON is not invalid.
    pub(crate) not_json: bool,
    /// Length of the arguments.
    pub(crate) received: usize,
    /// Whether the arguments end like a complete object or list, so that later text does not belong to them.
    pub(crate) closed: bool,
}

impl Outcome {
    pub(crate) fn new(finished: Finished, received: usize, not_json: bool, closed: bool) -> Self {
        Self {
            received,
            closed,
            rest: encoded(&finished.rest),
            not_json: not_json && finished.status != Status::Repaired,
            status: finished.status,
            fixes: finished.fixes,
            reason: finished.reason,
        }
    }

    /// Handles a piece after complete arguments. Any text except white space makes the arguments invalid.
    pub(crate) fn push_after_end(&mut self, piece: Piece<'_>) {
        let (mut half, mut text) = (None, String::new());
        let blank = matches!(piece, Piece::Text(raw) if escapes::decode(raw, &mut half, &mut text).is_ok());
        let more = !blank || half.is_some() || !text.trim_ascii().is_empty();
        if more && self.status != Status::Refused {
            *self = Self::refused(String::new(), Reason::new(self.received, AFTER_NEXT_CALL), true);
        }
        self.closed &= !more;
    }

    pub(crate) fn refused(rest: String, reason: Reason, not_json: bool) -> Self {
        Self {
            rest,
            status: Status::Refused,
            fixes: Fixes::default(),
            closed: false,
            received: reason.offset,
            reason: Some(reason),
            not_json,
        }
    }

    /// Changes the status to truncated: the stream reported the cutoff (`max_tokens`, `incomplete`) after all arguments
    /// were sent. Sent arguments cannot be corrected.
    pub(crate) fn cut_off(self) -> Self {
        let reason = || Reason::new(self.received, "the text was cut off here");
        Self {
            status: Status::Truncated,
            reason: Some(self.reason.unwrap_or_else(reason)),
            ..self
        }
    }
}

/// The end of a call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ending {
    /// Status of the arguments; `None` for a call that is not repaired, or has no arguments.
    pub(crate) status: Option<Status>,
    /// Whether some pieces may belong to another call.
    pub(crate) ambiguous: bool,
}

impl From<Option<&Outcome>> for Ending {
    fn from(outcome: Option<&Outcome>) -> Self {
        let reason = outcome.and_then(|outcome| outcome.reason.as_ref());
        Self {
            status: outcome.map(|outcome| outcome.status),
            ambiguous: reason.is_some_and(|reason| AMBIGUOUS.contains(&&*reason.message)),
        }
    }
}

// Reasons for which a call is not repaired: its arguments cannot be assigned to one call.
pub(crate) const MAY_CONTINUE_PREVIOUS_CALL: &str =
    "the previous call is not complete, and this may continue it";
pub(crate) const NEXT_CALL_BEGAN: &str = "another call began that may continue this one";
pub(crate) const UNKNOWN_CALL: &str = "a piece of arguments belongs to no call";
pub(crate) const AFTER_END: &str = "arguments arrived after their end";
const AMBIGUOUS: [&str; 5] = [
    MAY_CONTINUE_PREVIOUS_CALL,
    NEXT_CALL_BEGAN,
    UNKNOWN_CALL,
    AFTER_END,
    AFTER_NEXT_CALL,
];
const AFTER_NEXT_CALL: &str = "more arguments arrived after another call had begun";
