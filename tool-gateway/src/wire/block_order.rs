//! [`BlockOrder`]: checks the order of the events of a message.

use std::collections::BTreeMap;
use std::fmt;

use super::event::StreamEvent;
use super::message::{MAX_BLOCKS, MessageError};

/// Order of the blocks of a streamed message. Events in another order than the API defines would merge blocks, or parts of two messages.
#[derive(Debug, Default)]
pub(crate) struct BlockOrder {
    is_started: bool,
    /// Whether each block is open, by its index.
    blocks: BTreeMap<usize, bool>,
}

/// Error of an event in the wrong order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderError {
    /// No `message_start` precedes the event.
    MissingMessageStart,
    TooManyBlocks,
    /// Another block with this index has already begun.
    DuplicateIndex(usize),
    /// The event is a delta or the end of a block that is not open.
    MissingBlockStart(usize),
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingMessageStart => f.write_str("missing `message_start` in the upstream's response"),
            Self::TooManyBlocks => fmt::Display::fmt(&MessageError::TooManyBlocks, f),
            Self::DuplicateIndex(index) => {
                write!(f, "duplicate block index {index} in the upstream's response")
            }
            Self::MissingBlockStart(index) => {
                write!(
                    f,
                    "missing `content_block_start` of the block {index} in the upstream's response"
                )
            }
        }
    }
}

impl BlockOrder {
    /// Checks the next event of the message.
    pub(crate) fn push(&mut self, event: &StreamEvent) -> Result<(), OrderError> {
        match event {
            StreamEvent::MessageStart(_) => self.is_started = true,
            StreamEvent::BlockStart { index, .. } => {
                self.started()?;
                if self.blocks.len() >= MAX_BLOCKS {
                    return Err(OrderError::TooManyBlocks);
                }
                if self.blocks.insert(*index, true).is_some() {
                    return Err(OrderError::DuplicateIndex(*index));
                }
            }
            StreamEvent::BlockDelta { index, .. } => return self.push_piece(*index),
            StreamEvent::BlockStop { index } => {
                self.push_piece(*index)?;
                self.blocks.insert(*index, false);
            }
            StreamEvent::MessageDelta(_) | StreamEvent::MessageStop => return self.started(),
            StreamEvent::Ping | StreamEvent::Error(_) | StreamEvent::Other(_) => {}
        }
        Ok(())
    }

    /// Checks a piece of the block with this index.
    pub(crate) fn push_piece(&self, index: usize) -> Result<(), OrderError> {
        self.started()?;
        let is_open = self.blocks.get(&index).copied().unwrap_or_default();
        is_open.then_some(()).ok_or(OrderError::MissingBlockStart(index))
    }

    fn started(&self) -> Result<(), OrderError> {
        self.is_started
            .then_some(())
            .ok_or(OrderError::MissingMessageStart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(events: &[&str]) -> Result<(), OrderError> {
        let mut order = BlockOrder::default();
        events
            .iter()
            .try_for_each(|event| order.push(&StreamEvent::parse(event).unwrap()))
    }

    #[test]
    fn rejects_events_out_of_order() {
        const START: &str = r#"{"type":"message_start","message":{}}"#;
        const BLOCK: &str = r#"{"type":"content_block_start","index":0,"content_block":{}}"#;
        const OTHER: &str = r#"{"type":"content_block_start","index":7,"content_block":{}}"#;
        const PIECE: &str =
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
        const STOP: &str = r#"{"type":"content_block_stop","index":0}"#;
        const END: &str = r#"{"type":"message_stop"}"#;
        const PING: &str = r#"{"type":"ping"}"#;
        let duplicate = Err(OrderError::DuplicateIndex(0));
        let no_block = Err(OrderError::MissingBlockStart(0));
        let no_message = Err(OrderError::MissingMessageStart);
        for (events, expected) in [
            (&[PING, START, BLOCK, OTHER, PIECE, PING, STOP, END][..], Ok(())),
            (&[START, END], Ok(())),
            (&[START, BLOCK, BLOCK], duplicate),
            (&[START, BLOCK, STOP, BLOCK], duplicate),
            (&[START, PIECE], no_block),
            (&[START, OTHER, STOP], no_block),
            (&[START, BLOCK, STOP, PIECE], no_block),
            (&[START, BLOCK, STOP, STOP], no_block),
            (&[BLOCK], no_message),
            (&[PIECE], no_message),
            (&[END], no_message),
        ] {
            assert_eq!(order(events), expected, "{events:?}");
        }
    }
}
