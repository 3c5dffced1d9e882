//! [`MessageScan`]: rewrites the events of a message whose last text has calls.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::expected_calls::{ExpectedCalls, TextScanner};
use crate::upstream::answer::{MessageEvent, Part};
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextField};
use crate::wire::event::StreamEvent;
use crate::wire::fields::RawFields;
use crate::wire::half_pairs::{HalfPairs, JoinedEvent};
use crate::wire::message::WholeMessage;
use crate::wire::object::{Object, set_field};

/// Events of a message, with the calls of its last text.
///
/// Texts are scanned while they arrive, and leave as soon as they are certainly no part of a call. The text that is held at last is
/// decided at the end of the message, when its stop reason and all of its blocks are known.
#[derive(Debug)]
pub(super) struct MessageScan {
    expected: ExpectedCalls,
    halves: HalfPairs,
    /// Whether the message has a call that is not text.
    has_call: bool,
    open: Option<ScannedText>,
    /// `message_delta` events after the scanned text.
    ends: Vec<RawFields>,
    ready: VecDeque<MessageEvent>,
}

/// The last text of the message so far.
#[derive(Debug)]
struct ScannedText {
    index: usize,
    /// Start of the block, until its first text leaves.
    start: Option<Block>,
    scanner: TextScanner,
    is_stopped: bool,
}

/// Maximum number of bytes of a delta with held text.
const MAX_DELTA: usize = 16 << 10;

impl MessageScan {
    pub(super) fn new(expected: ExpectedCalls) -> Self {
        Self {
            expected,
            halves: HalfPairs::default(),
            has_call: false,
            open: None,
            ends: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<MessageEvent> {
        self.ready.pop_front()
    }

    /// Handles an event of the server's message.
    pub(super) fn push(&mut self, MessageEvent(part): MessageEvent) {
        match part {
            Part::Event(event) => {
                let JoinedEvent { before, event } = self.halves.join(event);
                for event in before.into_iter().chain([event]) {
                    self.push_event(event);
                }
            }
            Part::Whole(message) => self.push_whole(message),
            Part::Block(block) => {
                self.release();
                self.has_call |= is_call(&block);
                self.send(Part::Block(block));
            }
            part @ (Part::RecoveredCall(_) | Part::KeepAlive) => self.send(part),
        }
    }

    /// Ends a message that was cut off: the held text leaves unchanged.
    pub(super) fn release(&mut self) {
        if let Some(mut open) = self.open.take() {
            let text = std::mem::replace(&mut open.scanner, self.expected.scanner()).release();
            self.end_text(open, &text, false);
        }
        for end in std::mem::take(&mut self.ends) {
            self.send_event(StreamEvent::MessageDelta(end));
        }
    }

    fn push_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::BlockStart { index, block } => {
                self.release();
                self.has_call |= is_call(&block);
                if self.has_call || !block.object().is("type", "text") {
                    return self.send_event(StreamEvent::BlockStart { index, block });
                }
                self.start_text(index, &block);
            }
            StreamEvent::BlockDelta { index, delta } => self.push_delta(index, delta),
            StreamEvent::BlockStop { index } => match &mut self.open {
                Some(open) if open.index == index => open.is_stopped = true,
                _ => self.send_event(StreamEvent::BlockStop { index }),
            },
            StreamEvent::MessageDelta(end) if self.open.is_some() => self.ends.push(end),
            StreamEvent::MessageStop => {
                self.finish();
                self.send_event(StreamEvent::MessageStop);
            }
            StreamEvent::Error(error) => {
                self.release();
                self.send_event(StreamEvent::Error(error));
            }
            event => self.send_event(event),
        }
    }

    fn start_text(&mut self, index: usize, block: &Block) {
        let text = block.object().string("text").unwrap_or_default();
        let start = if text.is_empty() {
            block.clone()
        } else {
            block.with_string("text", "")
        };
        self.open = Some(ScannedText {
            index,
            start: Some(start),
            scanner: self.expected.scanner(),
            is_stopped: false,
        });
        if !text.is_empty() {
            self.push_delta(index, Delta::Text(TextField::Text, text));
        }
    }

    fn push_delta(&mut self, index: usize, delta: Delta) {
        let Some(open) = self.open.as_mut().filter(|open| open.index == index) else {
            return self.send_event(StreamEvent::BlockDelta { index, delta });
        };
        let piece = match &delta {
            Delta::Text(TextField::Text, text) => Cow::Borrowed(text.as_str()),
            Delta::Texts(run) if run.field == TextField::Text => Cow::Owned(run.pieces().collect()),
            _ => {
                // A text with something beside its characters, such as citations, is not the text of a server that did not parse calls.
                self.release();
                return self.send_event(StreamEvent::BlockDelta { index, delta });
            }
        };
        let held = open.scanner.held();
        let text = open.scanner.push(&piece);
        if text.is_empty() {
            // The bytes restart the idle timeout of the upstream.
            return self.send(Part::KeepAlive);
        }
        // Without held text, the event leaves in its notation.
        let text = (held > 0 || text.len() < piece.len()).then(|| text.to_owned());
        let start = open.start.take();
        if let Some(block) = start {
            self.send_event(StreamEvent::BlockStart { index, block });
        }
        match text {
            None => self.send_event(StreamEvent::BlockDelta { index, delta }),
            Some(text) => self.send_text(index, &text),
        }
    }

    /// Decides about the last text.
    fn finish(&mut self) {
        let is_stopped = self.open.as_ref().is_some_and(|open| open.is_stopped);
        let stop_reason = self.ends.iter().rev().find_map(stop_reason);
        if !is_stopped || !ends_by_itself(stop_reason.as_deref()) {
            return self.release();
        }
        let Some(mut open) = self.open.take() else {
            return;
        };
        let scanner = std::mem::replace(&mut open.scanner, self.expected.scanner());
        let mut recovered = scanner.finish();
        let calls = self.expected.accepted(&mut recovered);
        self.end_text(open, &recovered.text, !calls.is_empty());
        let has_calls = !calls.is_empty();
        for call in calls {
            let block = Block::call("", &call.name, &call.arguments);
            self.send(Part::RecoveredCall(block));
        }
        for mut end in std::mem::take(&mut self.ends) {
            if has_calls {
                set_tool_use(&mut end);
            }
            self.send_event(StreamEvent::MessageDelta(end));
        }
    }

    /// Sends the rest of a scanned text. With `is_call`, a text without characters is no block.
    fn end_text(&mut self, open: ScannedText, rest: &str, is_call: bool) {
        let ScannedText {
            index,
            start,
            is_stopped,
            ..
        } = open;
        if let Some(block) = start {
            if is_call && rest.is_empty() {
                return;
            }
            self.send_event(StreamEvent::BlockStart { index, block });
        }
        self.send_text(index, rest);
        if is_stopped {
            self.send_event(StreamEvent::BlockStop { index });
        }
    }

    /// Sends a text in pieces.
    fn send_text(&mut self, index: usize, mut text: &str) {
        while !text.is_empty() {
            let mut end = text.len().min(MAX_DELTA);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let (piece, rest) = text.split_at(end);
            let delta = Delta::Text(TextField::Text, piece.to_owned());
            self.send_event(StreamEvent::BlockDelta { index, delta });
            text = rest;
        }
    }

    /// Handles a message that is not streamed. A message without calls in its text is sent unchanged.
    fn push_whole(&mut self, message: WholeMessage) {
        let blocks: Vec<_> = message.shared_blocks().collect();
        let text = blocks.last().filter(|block| block.object().is("type", "text"));
        let text = text.and_then(|block| block.object().string("text"));
        let object = Object::from_json(message.as_str()).unwrap_or_default();
        let is_scanned = !blocks.iter().any(is_call) && ends_by_itself(object.text("stop_reason").as_deref());
        let Some(text) = text.filter(|_| is_scanned) else {
            return self.send(Part::Whole(message));
        };
        let mut scanner = self.expected.scanner();
        let mut rest = scanner.push(&text).to_owned();
        let mut recovered = scanner.finish();
        rest.push_str(&recovered.text);
        let calls = self.expected.accepted(&mut recovered);
        if calls.is_empty() {
            return self.send(Part::Whole(message));
        }
        let (start, mut end) = message.start_and_end();
        self.send_event(StreamEvent::MessageStart(start));
        let count = blocks.len();
        for (at, block) in blocks.into_iter().enumerate() {
            if at + 1 < count {
                self.send(Part::Block(block));
            } else if !rest.is_empty() {
                self.send(Part::Block(block.with_string("text", &rest)));
            }
        }
        for call in calls {
            let block = Block::call("", &call.name, &call.arguments);
            self.send(Part::RecoveredCall(block));
        }
        set_tool_use(&mut end);
        self.send_event(StreamEvent::MessageDelta(end));
        self.send_event(StreamEvent::MessageStop);
    }

    fn send_event(&mut self, event: StreamEvent) {
        self.send(Part::Event(event));
    }

    fn send(&mut self, part: Part) {
        self.ready.push_back(MessageEvent(part));
    }
}

/// Returns whether a block is a call of the model, also of a tool that the server runs.
fn is_call(block: &Block) -> bool {
    let object = block.object();
    ["tool_use", "server_tool_use", "mcp_tool_use"]
        .iter()
        .any(|kind| object.is("type", kind))
}

/// Returns whether the model ended its message, so that nothing is cut off.
fn ends_by_itself(stop_reason: Option<&str>) -> bool {
    matches!(stop_reason, Some("end_turn" | "stop_sequence"))
}

/// Returns the stop reason in the fields of a `message_delta`.
fn stop_reason(end: &RawFields) -> Option<String> {
    Object::from_json(end.get("delta")?)?.string("stop_reason")
}

/// Makes the end of a message the end of a message with calls.
fn set_tool_use(end: &mut RawFields) {
    let Some(delta) = end.get("delta") else { return };
    let delta = set_field(delta, "stop_reason", r#""tool_use""#);
    let delta = set_field(&delta, "stop_sequence", "null");
    end.set("delta", delta);
}
