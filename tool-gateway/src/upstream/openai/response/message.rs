//! [`MessageBuilder`]: builds the events of a message from chunks.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::stream::{CallEvent, CallReader, Dialect, ReadCall};

use super::chunk::{Chunk, Piece};
use super::expected::ExpectedResponse;
use super::stop_reason::{Ending, stop_reason};
use super::usage::ChatUsage;
use crate::upstream::answer::{MessageEvent, Part};
use crate::upstream::error::UpstreamError;
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextField};
use crate::wire::event::StreamEvent;

/// Builds the events of a message from the chunks of a stream. Text and thinking are sent at once. A call is sent when it is complete, and
/// later blocks wait for the call.
#[derive(Debug)]
pub(super) struct MessageBuilder {
    expected: ExpectedResponse,
    calls: CallReader,
    /// Parts that have begun but have not left, in order.
    waiting: VecDeque<Waiting>,
    /// The open block.
    open: Option<OpenBlock>,
    /// White space before a text, which waits for other characters.
    blank: String,
    /// Number of blocks that have begun.
    blocks: usize,
    is_started: bool,
    has_call: bool,
    has_refusal: bool,
    finish_reason: Option<String>,
    usage: Option<ChatUsage>,
    events: VecDeque<MessageEvent>,
}

/// A part of the message that has not left.
#[derive(Debug)]
enum Waiting {
    Text(TextField, String),
    Call { number: u64, call: Option<ReadCall> },
}

/// A block whose end has not left.
#[derive(Debug, Clone, Copy)]
struct OpenBlock {
    index: usize,
    field: TextField,
}

impl MessageBuilder {
    /// Creates a builder.
    pub(super) fn new(expected: ExpectedResponse) -> Self {
        Self {
            expected,
            calls: CallReader::new(Dialect::ChatCompletions, FormatFixing::for_every_tool()),
            waiting: VecDeque::new(),
            open: None,
            blank: String::new(),
            blocks: 0,
            is_started: false,
            has_call: false,
            has_refusal: false,
            finish_reason: None,
            usage: None,
            events: VecDeque::new(),
        }
    }

    /// Returns whether an event can be taken.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }

    /// Reads a chunk of a stream.
    pub(super) fn read_chunk(&mut self, data: &str) -> Result<(), UpstreamError> {
        let chunk =
            Chunk::parse(data).ok_or_else(|| UpstreamError::new("the upstream sent an invalid chunk"))?;
        self.read(chunk, data)
    }

    /// Reads a whole completion, as a stream of one chunk.
    pub(super) fn read_whole(&mut self, text: &str) -> Result<(), UpstreamError> {
        let completion = Chunk::parse(text)
            .ok_or_else(|| UpstreamError::new("the upstream's response is not a completion"))?;
        if completion.error().is_none() && !completion.has_choice() {
            return Err(UpstreamError::new("the upstream's response has no choice"));
        }
        let message = completion.message().unwrap_or("{}");
        let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{message}}}]}}"#);
        self.read(completion, &chunk)?;
        self.end()
    }

    /// Reads a chunk. `calls` is the text for the reader of calls.
    fn read(&mut self, chunk: Chunk<'_>, calls: &str) -> Result<(), UpstreamError> {
        if let Some(error) = chunk.error() {
            return Err(UpstreamError::new(format!("the upstream failed: {error}")));
        }
        if let Some(usage) = chunk.usage().and_then(ChatUsage::read) {
            self.usage = Some(usage);
        }
        self.start();
        for piece in chunk.pieces() {
            match piece {
                Piece::Thinking(text) => self.push_text(TextField::Thinking, &text),
                Piece::Text(text) => self.push_text(TextField::Text, &text),
                Piece::Refusal(text) => {
                    self.has_refusal = true;
                    self.push_text(TextField::Text, &text);
                }
            }
        }
        if let Some(reason) = chunk.finish_reason() {
            self.finish_reason = Some(reason.into_owned());
        }
        let events = self.calls.read(None, calls);
        self.read_calls(events)?;
        self.release();
        Ok(())
    }

    fn read_calls(&mut self, events: Vec<CallEvent>) -> Result<(), UpstreamError> {
        for event in events {
            match event {
                CallEvent::Begun { call, choice, .. } if choice.is_none_or(|choice| choice == 0) => {
                    self.waiting.push_back(Waiting::Call {
                        number: call,
                        call: None,
                    });
                }
                CallEvent::Ended(ended) => {
                    let mut waiting = self.waiting.iter_mut();
                    let found = waiting.find_map(|waiting| match waiting {
                        Waiting::Call { number, call } if *number == ended.call => Some(call),
                        _ => None,
                    });
                    if let Some(call) = found {
                        *call = Some(ended);
                    }
                }
                CallEvent::Unattributed => {
                    return Err(UpstreamError::new(
                        "the upstream's response was cut off: a piece of a call belongs to no call",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Ends the message.
    pub(super) fn end(&mut self) -> Result<(), UpstreamError> {
        if !self.is_started {
            return Err(UpstreamError::new("the upstream's response is empty"));
        }
        let events = self.calls.finish();
        self.read_calls(events)?;
        self.release();
        self.close();
        let ending = Ending {
            finish_reason: self.finish_reason.as_deref(),
            has_call: self.has_call,
            has_refusal: self.has_refusal,
        };
        let delta = json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason(&ending), "stop_sequence": null },
            "usage": self.usage(),
        });
        self.send(&delta);
        self.send(&json!({ "type": "message_stop" }));
        Ok(())
    }

    /// Sends the start of the message.
    fn start(&mut self) {
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        let message = json!({
            "id": format!("msg_{}", crate::random::id()),
            "type": "message",
            "role": "assistant",
            "model": self.expected.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": self.usage(),
        });
        self.send(&json!({ "type": "message_start", "message": message }));
    }

    /// Returns the usage that was received, or an estimate.
    fn usage(&self) -> ChatUsage {
        let estimate = || ChatUsage::estimated(self.expected.input_tokens);
        self.usage.clone().unwrap_or_else(estimate)
    }

    fn send(&mut self, event: &Value) {
        self.events.extend(MessageEvent::parse(&event.to_string()).ok());
    }

    /// Adds a piece of a text, which waits for calls before it.
    fn push_text(&mut self, field: TextField, piece: &str) {
        if self.waiting.is_empty() {
            return self.send_text(field, piece);
        }
        if let Some(Waiting::Text(last, text)) = self.waiting.back_mut()
            && *last == field
        {
            return text.push_str(piece);
        }
        self.waiting.push_back(Waiting::Text(field, piece.to_owned()));
    }

    /// Sends the blocks that no longer wait for a call.
    fn release(&mut self) {
        while let Some(front) = self.waiting.pop_front() {
            match front {
                Waiting::Text(field, text) => self.send_text(field, &text),
                Waiting::Call { call: Some(call), .. } => self.send_call(&call),
                Waiting::Call { .. } => return self.waiting.push_front(front),
            }
        }
    }

    fn send_text(&mut self, field: TextField, piece: &str) {
        let open = self.open.filter(|open| open.field == field);
        let open = if let Some(open) = open {
            open
        } else {
            self.blank.push_str(piece);
            if self.blank.trim_ascii().is_empty() {
                return;
            }
            self.close();
            self.open_block(field)
        };
        let text = if self.blank.is_empty() {
            piece.to_owned()
        } else {
            std::mem::take(&mut self.blank)
        };
        self.events
            .push_back(MessageEvent(Part::Event(StreamEvent::BlockDelta {
                index: open.index,
                delta: Delta::Text(field, text),
            })));
    }

    fn open_block(&mut self, field: TextField) -> OpenBlock {
        let index = self.blocks;
        self.blocks += 1;
        let block = match field {
            TextField::Thinking => r#"{"type":"thinking","thinking":"","signature":""}"#,
            _ => r#"{"type":"text","text":""}"#,
        };
        self.events
            .push_back(MessageEvent(Part::Event(StreamEvent::BlockStart {
                index,
                block: Block::new(block),
            })));
        let open = OpenBlock { index, field };
        self.open = Some(open);
        open
    }

    /// Ends the open block.
    fn close(&mut self) {
        if let Some(OpenBlock { index, .. }) = self.open.take() {
            let stop = StreamEvent::BlockStop { index };
            self.events.push_back(MessageEvent(Part::Event(stop)));
        }
    }

    fn send_call(&mut self, call: &ReadCall) {
        self.close();
        self.has_call = true;
        self.blocks += 1;
        let id = call.id.as_deref().unwrap_or_default();
        let block = Block::call(id, &call.tool, &call.arguments);
        self.events.push_back(MessageEvent(Part::Block(block)));
    }
}
