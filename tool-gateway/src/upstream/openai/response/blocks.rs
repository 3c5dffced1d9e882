//! [`BlockWriter`]: writes the events of a message's blocks.

use std::collections::VecDeque;

use serde_json::Value;

use super::content::PieceText;
use crate::upstream::answer::{MessageEvent, Part};
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextField};
use crate::wire::event::StreamEvent;
use crate::wire::fields::ObjectText;

/// Writes the events of blocks: a text has at most one open block, which ends when another kind of block begins.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    events: VecDeque<MessageEvent>,
    open: Option<OpenBlock>,
    /// White space before a text, which waits for other characters.
    blank: Option<(TextField, String)>,
    /// Number of blocks that have begun.
    count: usize,
}

/// A block whose end was not written.
#[derive(Debug, Clone, Copy)]
struct OpenBlock {
    index: usize,
    field: TextField,
}

impl BlockWriter {
    /// Returns whether an event can be taken.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }

    /// Writes an event that is not part of a block.
    pub(super) fn push(&mut self, event: &Value) {
        self.events.extend(MessageEvent::parse(&event.to_string()).ok());
    }

    /// Writes a piece of a text.
    pub(super) fn push_text(&mut self, field: TextField, piece: PieceText<'_>) {
        if self.open.is_none_or(|open| open.field != field)
            && let PieceText::Plain(text) = &piece
            && text.trim_ascii().is_empty()
        {
            match &mut self.blank {
                Some((blank, before)) if *blank == field => before.push_str(text),
                blank => *blank = Some((field, text.clone().into_owned())),
            }
            return;
        }
        let index = self.open_block(field);
        let blank = self.blank.take().filter(|(blank, _)| *blank == field);
        let blank = blank.map(|(_, blank)| blank);
        match (piece, blank) {
            (PieceText::Plain(text), None) => self.push_delta(index, Delta::Text(field, text.into_owned())),
            (PieceText::Plain(text), Some(mut blank)) => {
                blank.push_str(&text);
                self.push_delta(index, Delta::Text(field, blank));
            }
            (PieceText::Broken(json), blank) => {
                if let Some(blank) = blank {
                    self.push_delta(index, Delta::Text(field, blank));
                }
                let name = field.as_str();
                let delta = format!(r#"{{"type":"{name}_delta","{name}":{json}}}"#);
                // The gateway joins half a pair with the other half in the next piece.
                if let Some(delta) = ObjectText::new(&delta) {
                    self.push_delta(index, Delta::Other(delta));
                }
            }
        }
    }

    fn push_delta(&mut self, index: usize, delta: Delta) {
        let delta = StreamEvent::BlockDelta { index, delta };
        self.events.push_back(MessageEvent(Part::Event(delta)));
    }

    /// Returns the index of the open block of a text, which begins if another kind is open.
    fn open_block(&mut self, field: TextField) -> usize {
        if let Some(open) = self.open.filter(|open| open.field == field) {
            return open.index;
        }
        self.close();
        let index = self.count;
        self.count += 1;
        let block = Block::new(match field {
            TextField::Thinking => r#"{"type":"thinking","thinking":"","signature":""}"#,
            _ => r#"{"type":"text","text":""}"#,
        });
        let start = StreamEvent::BlockStart { index, block };
        self.events.push_back(MessageEvent(Part::Event(start)));
        self.open = Some(OpenBlock { index, field });
        index
    }

    /// Ends the open block.
    pub(super) fn close(&mut self) {
        if let Some(OpenBlock { index, .. }) = self.open.take() {
            let stop = StreamEvent::BlockStop { index };
            self.events.push_back(MessageEvent(Part::Event(stop)));
        }
    }

    /// Writes a whole block.
    pub(super) fn push_block(&mut self, block: Block) {
        self.close();
        self.blank = None;
        self.count += 1;
        self.events.push_back(MessageEvent(Part::Block(block)));
    }
}
