//! [`Assembly`]: builds the blocks of a streamed message.

use super::block::Block;
use super::block_builder::BlockBuilder;
use super::delta::TextEvent;
use super::event::StreamEvent;

/// Builds the blocks of a message from the message's events.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// Blocks that have begun, with their indexes.
    open: Vec<(usize, BlockBuilder)>,
    blocks: Vec<Block>,
}

impl Assembly {
    /// Handles an event about a block. Returns any other event.
    pub(crate) fn push(&mut self, event: StreamEvent) -> Option<StreamEvent> {
        match event {
            StreamEvent::BlockStart { index, block } => self.open.push((index, BlockBuilder::new(block))),
            StreamEvent::BlockDelta { index, delta } => {
                if let Some((_, builder)) = self.open.iter_mut().find(|(open, _)| *open == index) {
                    builder.push(&delta);
                }
            }
            StreamEvent::BlockStop { index } => {
                if let Some(found) = self.open.iter().position(|(open, _)| *open == index) {
                    self.blocks.push(self.open.remove(found).1.finish());
                }
            }
            event => return Some(event),
        }
        None
    }

    /// Handles an event that appends to a text.
    pub(crate) fn push_text(&mut self, event: &TextEvent<'_>) {
        if let Some((_, builder)) = self.open.iter_mut().find(|(open, _)| *open == event.index) {
            builder.push_text(event.field, &event.piece);
        }
    }

    /// Adds a whole block.
    pub(crate) fn push_block(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Returns the complete blocks.
    pub(crate) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }
}
