//! [`CallReader`]: reads the calls of a stream from its events.

use std::collections::HashMap;

use super::dialect::Dialect;
use super::reader::Reader;
use crate::format_fixing::FormatFixing;
use crate::repairer::Status;
use crate::stream::call::piece::encoded;
use crate::stream::call::record::RepairRecord;
use crate::stream::call::state::StreamLimits;
use crate::stream::call::step::{EndedCall, RawEvent, Step};
use crate::stream::json::cursor::contents;
use crate::stream::json::escapes;

/// Reads the calls of a stream from its events, for example to build a message or a stream of another API. A
/// [`StreamRepairer`](crate::stream::StreamRepairer) has the same rules: the arguments of a call equal the joined pieces
/// of the repaired stream.
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

/// An event about a call. The calls of a stream are numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEvent {
    /// A call began.
    Begun {
        /// Number of the call.
        call: u64,
        /// Choice of a Chat Completions stream.
        choice: Option<u64>,
        /// Id of the call, if it is known at this time.
        id: Option<String>,
        /// Name of the tool, or the part that is known.
        tool: String,
    },
    /// The next arguments of a call. All arguments so far are a beginning of JSON, or the call is refused or truncated.
    Arguments {
        /// Number of the call.
        call: u64,
        /// Text of the arguments.
        text: String,
    },
    /// The received arguments were a copy of the arguments that follow.
    Restarted {
        /// Number of the call.
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
    /// Number of the call.
    pub call: u64,
    /// Id of the call; `None` if the stream has no id.
    pub id: Option<String>,
    /// Name of the tool; empty if the stream has no name.
    pub tool: String,
    /// Arguments; JSON if the status is `Valid` or `Repaired`, and empty if the stream has no arguments.
    pub arguments: String,
    /// Outcome of the arguments. Calls of tools outside the [targets](FormatFixing::target_tools) are
    /// [`Valid`](Status::Valid), also with invalid arguments.
    pub status: Status,
    /// Whether pieces of the call may belong to another call, or the call may be a piece of another call. Such a call
    /// must not run, even if its arguments are JSON. The status is [`Refused`](Status::Refused).
    pub ambiguous: bool,
}

/// Received arguments of a call.
#[derive(Debug, Default)]
struct Arguments {
    text: String,
    /// High surrogate at the end of the last piece.
    half: Option<u16>,
}

impl CallReader {
    /// Creates a reader with the default limits.
    pub fn new(dialect: Dialect, fixing: FormatFixing) -> Self {
        Self::with(dialect, fixing, StreamLimits::default())
    }

    /// Creates a reader with other limits. The caller must limit the size of events, since `event` has no effect here.
    pub fn with(dialect: Dialect, fixing: FormatFixing, limits: StreamLimits) -> Self {
        Self {
            reader: Reader::new(dialect, fixing, limits),
            steps: Vec::new(),
            arguments: HashMap::new(),
        }
    }

    /// Reads an event: the value of its `event:` line, and its data. Data other than JSON and `[DONE]` are ignored.
    pub fn read(&mut self, name: Option<&str>, data: &str) -> Vec<CallEvent> {
        if self.reader.state.bailout_reason().is_some() {
            return Vec::new();
        }
        if self.reader.has_done() && data.trim_ascii() == "[DONE]" {
            return self.finish();
        }
        let event = RawEvent {
            name,
            text: data,
            ended: true,
        };
        self.reader.read(event, 0, &mut self.steps);
        self.take_events(Some(data))
    }

    /// Ends the stream and its open calls.
    pub fn finish(&mut self) -> Vec<CallEvent> {
        self.reader.end(false, &mut self.steps);
        self.take_events(None)
    }

    /// Ends a stream that broke off. Its open calls are truncated.
    pub fn abort(&mut self) -> Vec<CallEvent> {
        self.reader.end(true, &mut self.steps);
        self.take_events(None)
    }

    /// Returns the records, as [`StreamRepairer::take_records`](crate::stream::StreamRepairer::take_records) does.
    #[must_use = "each record is returned once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.reader.state.take_records()
    }

    /// Returns the reason why no more calls are read: there were more calls than the [limits](StreamLimits) allow.
    pub fn bailout_reason(&self) -> Option<&str> {
        self.reader.state.bailout_reason()
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
            // A call reader receives all arguments, even if a repaired stream would end with an error.
            Step::Fail { call, .. } => {
                self.arguments.remove(&call);
                None
            }
            Step::Unattributed => Some(CallEvent::Unattributed),
            Step::Carrier { .. }
            | Step::Copy { .. }
            | Step::HoldEvent { .. }
            | Step::SendHeldEvents { .. } => None,
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
