//! Outcome of the arguments of a call.

use super::piece::{Piece, encoded};
use crate::fixes::{Fixes, Reason};
use crate::repairer::{Finished, Status};
use crate::stream::json::escapes;

/// Outcome of the arguments of a call.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Arguments that have not left yet, as the contents of a JSON string.
    pub(crate) rest: String,
    pub(crate) status: Status,
    pub(crate) fixes: Fixes,
    pub(crate) reason: Option<Reason>,
    /// The arguments that leave are not JSON, and not only their end is missing.
    pub(crate) not_json: bool,
    /// Length of the arguments.
    pub(crate) came: usize,
    /// Whether the arguments end like a complete object or list, so that later text does not belong to them.
    pub(crate) closed: bool,
}

impl Outcome {
    pub(crate) fn new(finished: Finished, came: usize, not_json: bool, closed: bool) -> Self {
        Self {
            came,
            closed,
            rest: encoded(&finished.rest),
            not_json: not_json && finished.status != Status::Repaired,
            status: finished.status,
            fixes: finished.fixes,
            reason: finished.reason,
        }
    }

    /// Takes more text for complete arguments: unless it is white space alone, they are not JSON any more.
    pub(crate) fn go_on(&mut self, piece: Piece<'_>) {
        let (mut half, mut text) = (None, String::new());
        let blank = matches!(piece, Piece::Text(raw) if escapes::decode(raw, &mut half, &mut text).is_ok());
        let more = !blank || half.is_some() || !text.trim_ascii().is_empty();
        if more && self.status != Status::Refused {
            *self = Self::refused(String::new(), Reason::new(self.came, AFTER_WHOLE), true);
        }
        self.closed &= !more;
    }

    pub(crate) fn refused(rest: String, reason: Reason, not_json: bool) -> Self {
        Self {
            rest,
            status: Status::Refused,
            fixes: Fixes::default(),
            closed: false,
            came: reason.offset,
            reason: Some(reason),
            not_json,
        }
    }

    /// Marks the arguments as cut off, as the stream reported after their end. Only valid JSON has left until then, so
    /// that nothing has to be taken back.
    pub(crate) fn cut_off(self) -> Self {
        let reason = || Reason::new(self.came, "the text was cut off here");
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
    /// `None` for a call that is not read, or has no arguments.
    pub(crate) status: Option<Status>,
    /// Whether some of its pieces may belong to another call.
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

/// The reason to pass a call that may be more of another one.
pub(crate) const MORE_OF_ANOTHER: &str = "the call before is not complete, and this may be more of it";
pub(crate) const ANOTHER_BEGAN: &str = "another call began that may be more of this one";
pub(crate) const NAMES_NO_CALL: &str = "a piece of arguments names no call";
pub(crate) const AFTER_END: &str = "arguments came after their end";
const AMBIGUOUS: [&str; 5] = [
    MORE_OF_ANOTHER,
    ANOTHER_BEGAN,
    NAMES_NO_CALL,
    AFTER_END,
    AFTER_WHOLE,
];
const AFTER_WHOLE: &str = "more came when the arguments were complete and another call had begun";
