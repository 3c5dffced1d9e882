//! [`CallReader`]: reads the calls of a stream from its events.

use std::collections::HashMap;

use super::dialect::Dialect;
use super::reader::Reader;
use crate::format_fixing::FormatFixing;
use crate::repairer::Status;
use crate::stream::call::piece::encoded;
use crate::stream::call::record::RepairRecord;
use crate::stream::call::state::StreamLimits;
use crate::stream::call::step::{EndedCall, Incoming, Step};
use crate::stream::json::cursor::contents;
use crate::stream::json::escapes;

/// Reads the calls of one stream from its events, in order to build a message or a stream of another API. The rules are
/// those of a [`StreamRepairer`](crate::stream::StreamRepairer): the arguments of a call are equal to the joined pieces
/// of a repaired stream.
///
/// ```
/// use tool_repair::{FormatFixing, Status};
/// use tool_repair::stream::{CallEvent, CallReader, Dialect};
///
/// let mut reader = CallReader::new(Dialect::ChatCompletions, FormatFixing::for_every_tool());
/// let mut events = reader.read(None, r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1",
///     "function":{"name":"Edit","arguments":"{'path': "}}]}}]}"#);
/// events.extend(reader.read(None, r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":
///     {"arguments":"'a.rs'}"}}]}}]}"#));
/// events.extend(reader.read(None, r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#));
///
/// let CallEvent::Ended(call) = events.last().unwrap() else { panic!() };
/// assert_eq!((call.id.as_deref(), call.tool.as_str()), (Some("call_1"), "Edit"));
/// assert_eq!((call.status, call.arguments.as_str()), (Status::Repaired, r#"{"path": "a.rs"}"#));
/// ```
#[derive(Debug)]
pub struct CallReader {
    reader: Reader,
    steps: Vec<Step>,
    arguments: HashMap<u64, Arguments>,
}

/// An event about a call. Each call of a stream has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEvent {
    /// A call began.
    Begun {
        /// The number of the call.
        call: u64,
        /// The choice of a Chat Completions stream.
        choice: Option<u64>,
        /// Its id, if the stream has it so far.
        id: Option<String>,
        /// Name of its tool, as far as the stream has it.
        tool: String,
    },
    /// More of the arguments of a call. The arguments are JSON so far, or the call has failed.
    Arguments {
        /// The number of the call.
        call: u64,
        /// The text.
        text: String,
    },
    /// All arguments so far were a copy of the arguments that follow.
    Restarted {
        /// The number of the call.
        call: u64,
    },
    /// A call ended.
    Ended(ReadCall),
    /// A piece of arguments may belong to several calls.
    Unattributed,
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadCall {
    /// The number of the call.
    pub call: u64,
    /// Its id; `None` if the stream never had it.
    pub id: Option<String>,
    /// Name of its tool; empty if the stream never named it.
    pub tool: String,
    /// Arguments: JSON, unless the status differs; empty if there were none.
    pub arguments: String,
    /// Outcome of the arguments. Calls of tools that are not [targets](FormatFixing::target_tools) are
    /// [`Valid`](Status::Valid), whatever their arguments.
    pub status: Status,
    /// Whether pieces may belong to another call, or the call may be a piece of another one: it must not run, even if
    /// it is JSON. The status is [`Refused`](Status::Refused).
    pub ambiguous: bool,
}

/// Arguments of a call, as far as they have arrived.
#[derive(Debug, Default)]
struct Arguments {
    text: String,
    /// The high surrogate at the end of the last piece.
    half: Option<u16>,
}

impl CallReader {
    /// Creates a reader with the default limits.
    pub fn new(dialect: Dialect, fixing: FormatFixing) -> Self {
        Self::with(dialect, fixing, StreamLimits::default())
    }

    /// Creates a reader with other limits. The caller limits the size of an event.
    pub fn with(dialect: Dialect, fixing: FormatFixing, limits: StreamLimits) -> Self {
        Self {
            reader: Reader::new(dialect, fixing, limits),
            steps: Vec::new(),
            arguments: HashMap::new(),
        }
    }

    /// Reads an event: its `event:` line and its data, JSON or `[DONE]`. Other data is ignored.
    pub fn read(&mut self, name: Option<&str>, data: &str) -> Vec<CallEvent> {
        if self.reader.state.lost().is_some() {
            return Vec::new();
        }
        if self.reader.has_done() && data.trim_ascii() == "[DONE]" {
            return self.finish();
        }
        let event = Incoming {
            name,
            text: data,
            ended: true,
        };
        self.reader.read(event, 0, &mut self.steps);
        self.take_events(Some(data))
    }

    /// Ends the stream: open calls end with it.
    pub fn finish(&mut self) -> Vec<CallEvent> {
        self.reader.end(false, &mut self.steps);
        self.take_events(None)
    }

    /// Ends a stream that broke off: open calls were cut off.
    pub fn abort(&mut self) -> Vec<CallEvent> {
        self.reader.end(true, &mut self.steps);
        self.take_events(None)
    }

    /// Takes the records, like [`StreamRepairer::take_records`](crate::stream::StreamRepairer::take_records).
    #[must_use = "the records are given out once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.reader.state.take_records()
    }

    /// Returns the reason why no more calls are read: there were more than the [limits](StreamLimits) allow.
    pub fn bailout_reason(&self) -> Option<&str> {
        self.reader.state.lost()
    }

    fn take_events(&mut self, data: Option<&str>) -> Vec<CallEvent> {
        let mut steps = std::mem::take(&mut self.steps);
        let events = steps
            .drain(..)
            .filter_map(|step| self.event(step, data))
            .collect();
        self.steps = steps;
        events
    }

    fn event(&mut self, step: Step, data: Option<&str>) -> Option<CallEvent> {
        match step {
            Step::Begun {
                call,
                choice,
                id,
                tool,
            } => Some(CallEvent::Begun {
                call,
                choice,
                id,
                tool,
            }),
            Step::Piece {
                call,
                span,
                contents: text,
            } => {
                if let Some(text) = text {
                    return self.more(call, &text);
                }
                let value = data?.get(span)?;
                match contents(value) {
                    Some(text) => self.more(call, text),
                    None => self.more(call, &encoded(value)),
                }
            }
            Step::Whole { call, contents: text } | Step::Release { call, rest: text, .. } => {
                self.more(call, &text)
            }
            Step::Restart { call } => {
                self.arguments.remove(&call);
                Some(CallEvent::Restarted { call })
            }
            Step::Ended(ended) => Some(CallEvent::Ended(self.ended(*ended))),
            // A reader of calls receives all arguments, also where a stream would end with an error.
            Step::Fail { call, .. } => {
                self.arguments.remove(&call);
                None
            }
            Step::Stray => Some(CallEvent::Unattributed),
            Step::Carrier { .. } | Step::Copy { .. } | Step::Keep { .. } | Step::LetGo { .. } => None,
        }
    }

    fn more(&mut self, call: u64, contents: &str) -> Option<CallEvent> {
        let arguments = self.arguments.entry(call).or_default();
        let before = arguments.text.len();
        escapes::decode_lossy(contents, &mut arguments.half, &mut arguments.text);
        let text = arguments.text.get(before..)?.to_owned();
        (!text.is_empty()).then_some(CallEvent::Arguments { call, text })
    }

    fn ended(&mut self, ended: EndedCall) -> ReadCall {
        let mut arguments = self.arguments.remove(&ended.call).unwrap_or_default();
        if arguments.half.is_some() {
            arguments.text.push(char::REPLACEMENT_CHARACTER);
        }
        ReadCall {
            call: ended.call,
            id: ended.id,
            tool: ended.tool,
            arguments: arguments.text,
            status: ended.ending.status.unwrap_or(Status::Valid),
            ambiguous: ended.ending.ambiguous,
        }
    }
}
