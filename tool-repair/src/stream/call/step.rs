//! [`Step`]: what an event means for the calls of a stream.

use std::ops::Range;

use super::outcome::Ending;
use super::state::StreamState;
use crate::repairer::Status;

/// What an event means for the calls of a stream, in the order in which it happens. Texts of arguments are as they are between the
/// quotes of a JSON string. Each call has a number.
#[derive(Debug)]
pub(crate) enum Step {
    /// A call began. What names it may still be incomplete.
    Begun {
        call: u64,
        choice: Option<u64>,
        id: Option<String>,
        tool: String,
    },
    /// The event carries a piece of a call's arguments.
    Piece {
        call: u64,
        /// The value in the event's JSON, with its quotes.
        span: Range<usize>,
        /// The text that leaves instead; `None` if all of the piece may leave as it is.
        contents: Option<String>,
    },
    /// The event carries all arguments of a call that had no pieces.
    Whole { call: u64, contents: String },
    /// The arguments so far were a copy: they begin again.
    Restart { call: u64 },
    /// Arguments that were held leave.
    Release {
        call: u64,
        address: Address,
        rest: String,
    },
    /// The event carried the last piece of a call of which something is held, or nothing is held any more.
    Carrier { call: u64, holds: bool },
    /// The event repeats the arguments of a call that were changed.
    Copy { span: Range<usize>, contents: String },
    /// The event must not leave before it is known what becomes of this call.
    Keep { call: u64 },
    /// That is known. In copies of the arguments in the events that were kept, they are as this says.
    LetGo { call: u64, copies: Option<Status> },
    /// A piece of arguments names no call.
    Stray,
    /// A call could not be repaired, and the stream ends with this error.
    Fail { call: u64, message: String },
    /// A call ended.
    Ended(Box<EndedCall>),
}

/// A call at its end.
#[derive(Debug)]
pub(crate) struct EndedCall {
    pub(crate) call: u64,
    pub(crate) id: Option<String>,
    pub(crate) tool: String,
    pub(crate) ending: Ending,
}

/// The names of a call in one more event that carries arguments of it.
#[derive(Debug)]
pub(crate) enum Address {
    Chat(ChatAddress),
    Anthropic,
    Responses {
        /// Its arguments came in pieces, so that clients put them together.
        in_pieces: bool,
    },
}

/// The names of a call of Chat Completions.
#[derive(Debug)]
pub(crate) struct ChatAddress {
    pub(crate) choice: String,
    pub(crate) index: Option<String>,
    pub(crate) id: Option<String>,
    /// The call is a `function_call`.
    pub(crate) legacy: bool,
}

/// The state of a stream, for the time of one event.
pub(crate) struct Reading<'a> {
    pub(crate) state: &'a mut StreamState,
    pub(crate) steps: &'a mut Vec<Step>,
    /// The size of the event, if it is kept.
    pub(crate) size: usize,
}

impl Reading<'_> {
    /// Held arguments leave.
    pub(crate) fn release(&mut self, call: u64, address: impl FnOnce() -> Address, rest: String) {
        if !rest.is_empty() {
            let address = address();
            self.steps.push(Step::Release { call, address, rest });
        }
    }

    /// The stream ends with an error.
    pub(crate) fn fail(&mut self, call: u64, message: String) {
        self.steps.push(Step::Fail { call, message });
        self.state.failed = true;
    }
}

/// An event that is JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming<'a> {
    /// The `event:` line.
    pub(crate) name: Option<&'a str>,
    pub(crate) text: &'a str,
    /// Whether it is complete; only the last event of a stream can be without its blank line.
    pub(crate) ended: bool,
}
