//! [`PassingMessage`]: what the model says, read from the bytes that pass.

use serde_json::{Map, Value};
use tool_runtime::sse::{Frame, SseDecoder};

use crate::server::drive::forward::MAX_RESPONSE;
use crate::wire::assembly::Assembly;
use crate::wire::block::Block;
use crate::wire::delta::TextEvent;
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;

/// What a client is sent, as blocks, read from the bytes that pass.
#[derive(Debug)]
pub(crate) struct PassingMessage {
    stream: Option<SseDecoder>,
    bytes: Vec<u8>,
    assembly: Assembly,
    usage: Map<String, Value>,
    /// How many bytes may still come.
    rest: usize,
    pub(crate) is_complete: bool,
    is_lost: bool,
}

impl PassingMessage {
    pub(crate) fn new(is_stream: bool) -> Self {
        Self::with_limit(is_stream, MAX_RESPONSE)
    }

    fn with_limit(is_stream: bool, limit: usize) -> Self {
        Self {
            rest: limit,
            stream: is_stream.then(SseDecoder::new),
            bytes: Vec::new(),
            assembly: Assembly::default(),
            usage: Map::new(),
            is_complete: false,
            is_lost: false,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let Some(rest) = self.rest.checked_sub(bytes.len()) else {
            // It passes all the same, and its session does not go on from it.
            *self = Self {
                is_lost: true,
                ..Self::with_limit(self.stream.is_some(), 0)
            };
            return;
        };
        self.rest = rest;
        let Some(decoder) = &mut self.stream else {
            self.bytes.extend_from_slice(bytes);
            return;
        };
        decoder.push(bytes);
        while let Some(frame) = decoder.next_frame() {
            // What is too large to be read makes the message another.
            self.is_lost |= matches!(frame, Frame::Oversized { .. });
            let Frame::Event(event) = frame else { continue };
            if let Some(event) = TextEvent::parse(event.raw()) {
                self.assembly.push_text(&event);
                continue;
            }
            let Some(data) = event.data() else { continue };
            // Checked once, and not again for each string in it.
            let Ok(data) = std::str::from_utf8(&data) else {
                continue;
            };
            let event = StreamEvent::parse(data);
            let mut counted = match event.and_then(|event| self.assembly.push(event)) {
                Some(StreamEvent::MessageStart(fields) | StreamEvent::MessageDelta(fields)) => fields,
                Some(StreamEvent::MessageStop) => {
                    self.is_complete = true;
                    continue;
                }
                _ => continue,
            };
            // Cumulative within a message.
            if let Some(Value::Object(counted)) = counted.get_mut("usage").map(Value::take) {
                self.usage.extend(counted);
            }
        }
    }

    /// The message, or as much of it as came.
    pub(crate) fn finish(self) -> PassedMessage {
        if self.stream.is_some() {
            let is_whole = self.is_complete && !self.is_lost;
            return PassedMessage {
                blocks: is_whole.then(|| self.assembly.into_blocks()),
                usage: self.usage,
            };
        }
        let text = std::str::from_utf8(&self.bytes).ok();
        let Some(message) = text.and_then(WholeMessage::parse) else {
            return PassedMessage::default();
        };
        let (blocks, usage) = message.into_parts();
        PassedMessage {
            blocks: Some(blocks),
            usage,
        }
    }
}

/// A message that has passed.
#[derive(Debug, Default)]
pub(crate) struct PassedMessage {
    /// `None` if it broke off, or is none of the API's.
    pub(crate) blocks: Option<Vec<Block>>,
    pub(crate) usage: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

    #[test]
    fn passing_message_over_the_limit_is_not_kept() {
        let message = r#"{"id":"m","content":[],"usage":{}}"#;
        let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        for (is_stream, text) in [(false, message), (true, stop)] {
            for (limit, is_kept) in [(text.len(), true), (text.len() - 1, false)] {
                let mut passing = PassingMessage::with_limit(is_stream, limit);
                passing.push(text.as_bytes());
                assert_eq!(passing.finish().blocks.is_some(), is_kept, "{text}");
            }
            let mut passing = PassingMessage::with_limit(is_stream, 1000);
            for _ in 0..100 {
                passing.push(EVENT.as_bytes());
            }
            assert!(passing.bytes.is_empty() && passing.finish().blocks.is_none());
        }
    }
}
