//! [`PassingMessage`]: reads the model's message from the bytes that pass.

use serde_json::{Map, Value};

use crate::upstream::anthropic::events::{MessagePart, MessageReader, ReadError};
use crate::wire::assembly::Assembly;
use crate::wire::block::Block;
use crate::wire::block_order::BlockOrder;
use crate::wire::event::StreamEvent;
use crate::wire::half_pairs::{HalfPairs, JoinedEvent};
use crate::wire::usage;

/// A passing message, read as blocks.
#[derive(Debug)]
pub(crate) struct PassingMessage {
    /// Message that is kept; `None` if the message or a part of the message is too large.
    reader: Option<MessageReader>,
    assembly: Assembly,
    order: BlockOrder,
    halves: HalfPairs,
    /// Whether the events arrived in the order of the API. Otherwise they do not form a message.
    is_in_order: bool,
    usage: Map<String, Value>,
    pub(crate) is_complete: bool,
}

impl PassingMessage {
    pub(crate) fn new(is_stream: bool) -> Self {
        Self::with_reader(MessageReader::new(is_stream))
    }

    fn with_reader(reader: MessageReader) -> Self {
        Self {
            reader: Some(reader),
            assembly: Assembly::default(),
            order: BlockOrder::default(),
            halves: HalfPairs::default(),
            is_in_order: true,
            usage: Map::new(),
            is_complete: false,
        }
    }

    /// Reads bytes of the body.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let Some(mut reader) = self.reader.take() else {
            return;
        };
        let read = reader.push(bytes).and_then(|()| self.read(&mut reader));
        if read.is_ok() {
            self.reader = Some(reader);
        } else {
            self.assembly = Assembly::default();
        }
    }

    /// Reads the available parts. An error means that the message cannot be known without the unreadable part.
    fn read(&mut self, reader: &mut MessageReader) -> Result<(), ReadError> {
        loop {
            match reader.read(|part| self.push_part(part)) {
                Err(ReadError::InvalidEvent | ReadError::InvalidMessage | ReadError::Foreign(_)) => {}
                read => return read,
            }
        }
    }

    fn push_part(&mut self, part: MessagePart<'_>) {
        let event = match part {
            MessagePart::Text(event) => {
                self.is_in_order &= self.order.push_piece(event.index).is_ok();
                if !event.piece.is_empty()
                    && let Some(half) = self.halves.take(event.index)
                {
                    self.push_event(half);
                }
                return self.assembly.push_text(&event);
            }
            MessagePart::Whole(message) => {
                message
                    .shared_blocks()
                    .for_each(|block| self.assembly.push_block(block));
                self.usage = message.usage();
                self.is_complete = true;
                return;
            }
            MessagePart::Event(event) => event,
        };
        let JoinedEvent { before, event } = self.halves.join(event);
        for event in before.into_iter().chain([event]) {
            self.push_event(event);
        }
    }

    fn push_event(&mut self, event: StreamEvent) {
        self.is_in_order &= self.order.push(&event).is_ok();
        let counted = match self.assembly.push(event) {
            Some(StreamEvent::MessageStart(message)) => message.object().get("usage").and_then(usage::read),
            Some(StreamEvent::MessageDelta(fields)) => fields.get("usage").and_then(usage::read),
            Some(StreamEvent::MessageStop) => {
                self.is_complete = true;
                return;
            }
            _ => return,
        };
        // Usage is cumulative within a message.
        usage::merge(&mut self.usage, counted.unwrap_or_default());
    }

    /// Returns the message, or its usage if the message is incomplete.
    pub(crate) fn finish(mut self) -> PassedMessage {
        let mut is_kept = false;
        if let Some(mut reader) = self.reader.take() {
            reader.finish();
            is_kept = self.read(&mut reader).is_ok() && self.is_in_order;
        }
        PassedMessage {
            blocks: (is_kept && self.is_complete).then(|| self.assembly.into_blocks()),
            usage: self.usage,
        }
    }
}

/// A message that has passed.
#[derive(Debug, Default)]
pub(crate) struct PassedMessage {
    /// `None` if the message was cut off or is invalid.
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
        let stop = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n\
            event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        for (is_stream, text) in [(false, message), (true, stop)] {
            for (limit, is_kept) in [(text.len(), true), (text.len() - 1, false)] {
                let mut passing = PassingMessage::with_reader(MessageReader::with_limit(is_stream, limit));
                passing.push(text.as_bytes());
                assert_eq!(passing.finish().blocks.is_some(), is_kept, "{text}");
            }
            let mut passing = PassingMessage::with_reader(MessageReader::with_limit(is_stream, 1000));
            for _ in 0..100 {
                passing.push(EVENT.as_bytes());
            }
            assert!(passing.reader.is_none() && passing.finish().blocks.is_none());
        }
    }
}
