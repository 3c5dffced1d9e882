//! [`Step`]: effect of an event on the calls of a stream.

use std::ops::Range;

use super::outcome::Ending;
use super::state::StreamState;
use crate::repairer::Status;

/// Effect of an event on a call. `call` is the number of the call in the stream. Arguments are the contents of a JSON
/// string: escaped, and without quotes.
#[derive(Debug)]
pub(crate) enum Step {
    /// A call began. The id and the name of the call may still be incomplete.
    Begun {
        call: u64,
        choice: Option<u64>,
        id: Option<String>,
        tool: String,
    },
    /// The event has a piece of a call's arguments.
    Piece {
        call: u64,
        /// Position of the value in the event's JSON, with its quotes.
        span: Range<usize>,
        /// Replacement for the text; `None` if the piece is sent unchanged.
        contents: Option<String>,
    },
    /// The event has all arguments of a call whose arguments were not sent in pieces.
    Whole { call: u64, contents: String },
    /// The received arguments are discarded: the stream sends all arguments again.
    Restart { call: u64 },
    /// Held arguments are sent.
    Release {
        call: u64,
        address: Address,
        rest: String,
    },
    /// Changes the carrier of the call: the event that is the template of an additional event with the held bytes. If
    /// `holds`, a copy of this event becomes the carrier; otherwise, the carrier is discarded.
    Carrier { call: u64, holds: bool },
    /// The event repeats arguments that the repair has changed.
    Copy { span: Range<usize>, contents: String },
    /// The event must not be sent before the outcome of this call is known.
    HoldEvent { call: u64 },
    /// The outcome of the call is known, so its held events are sent. `status` determines whether copies of its
    /// arguments in these events are replaced with the repaired arguments; with `None`, the events are sent unchanged.
    SendHeldEvents { call: u64, status: Option<Status> },
    /// A piece of arguments belongs to no call.
    Unattributed,
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

/// Fields that identify a call in an additional event with its arguments.
#[derive(Debug)]
pub(crate) enum Address {
    Chat(ChatAddress),
    Anthropic,
    Responses {
        /// Whether the arguments were sent in pieces, which clients join.
        in_pieces: bool,
    },
}

/// Fields that identify a call of Chat Completions.
#[derive(Debug)]
pub(crate) struct ChatAddress {
    pub(crate) choice: String,
    pub(crate) index: Option<String>,
    pub(crate) id: Option<String>,
    /// Whether the call is a `function_call`.
    pub(crate) legacy: bool,
}

/// Context of an event: the state of the stream, and the effects of the event.
pub(crate) struct EventContext<'a> {
    pub(crate) state: &'a mut StreamState,
    pub(crate) steps: &'a mut Vec<Step>,
    /// Size of the event in bytes, for the limit of held bytes.
    pub(crate) size: usize,
}

impl EventContext<'_> {
    /// Releases held arguments.
    pub(crate) fn release(&mut self, call: u64, address: impl FnOnce() -> Address, rest: String) {
        if !rest.is_empty() {
            let address = address();
            self.steps.push(Step::Release { call, address, rest });
        }
    }

    /// Ends the stream with an error.
    pub(crate) fn fail(&mut self, call: u64, message: String) {
        self.steps.push(Step::Fail { call, message });
        self.state.failed = true;
    }
}

/// An event with JSON data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawEvent<'a> {
    /// Value of the `event:` line.
    pub(crate) name: Option<&'a str>,
    pub(crate) text: &'a str,
    /// Whether the event is complete; only the last event of a stream can lack its blank line.
    pub(crate) ended: bool,
}
