//! [`Incoming`]: an incomplete message of the upstream, with the positions of its blocks in the client's stream.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::session::record::{Call, Origin, Owner, TrueMessage};
use crate::wire::block::Block;
use crate::wire::block_builder::BlockBuilder;
use crate::wire::delta::Delta;
use crate::wire::fields::RawFields;
use crate::wire::object::Object;
use crate::wire::role::Role;

/// An incomplete message of the upstream.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Incoming {
    #[serde(skip)]
    parts: Vec<IncomingBlock>,
    pub(super) usage: Map<String, Value>,
    /// Fields of `message_delta`.
    pub(super) end: RawFields,
}

/// A block of an incomplete message.
#[derive(Debug, Clone, PartialEq)]
struct IncomingBlock {
    upstream_index: usize,
    shown: Shown,
    builder: Option<BlockBuilder>,
    block: Option<Block>,
}

/// Position and id of a block in the client's stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    /// Index of the block in the client's stream; `None` for an internal call.
    pub(super) index: Option<usize>,
    /// Id of an external call in the client's stream.
    pub(super) id: Option<String>,
}

impl Shown {
    /// Returns the block with the client's id.
    pub(super) fn block(&self, block: &Block) -> Block {
        let id = self.id.as_ref();
        id.map_or_else(|| block.clone(), |id| block.with_string("id", id))
    }
}

/// A complete message of the upstream.
pub(super) struct Complete {
    pub(super) message: TrueMessage,
    /// Visible blocks that digests count, with their origins.
    pub(super) visible: Vec<(Block, Origin)>,
    pub(super) calls: Vec<Call>,
}

impl Incoming {
    /// Begins a block that arrives in pieces.
    pub(super) fn start_block(&mut self, upstream_index: usize, block: Block, shown: Shown) {
        self.parts.push(IncomingBlock {
            upstream_index,
            shown,
            builder: Some(BlockBuilder::new(block)),
            block: None,
        });
    }

    /// Adds a piece to a block. Returns the index of the block in the client's stream.
    pub(super) fn push_delta(&mut self, upstream_index: usize, delta: &Delta) -> Option<usize> {
        let part = self.part(upstream_index)?;
        if let Some(builder) = &mut part.builder {
            builder.push(delta);
        }
        part.shown.index
    }

    /// Completes a block. Returns the index of the block in the client's stream.
    pub(super) fn stop_block(&mut self, upstream_index: usize) -> Option<usize> {
        let part = self.part(upstream_index)?;
        part.block = part.builder.take().map(BlockBuilder::finish);
        part.shown.index
    }

    /// Adds a whole block.
    pub(super) fn push_block(&mut self, block: Block, shown: Shown) {
        self.parts.push(IncomingBlock {
            upstream_index: self.parts.len(),
            shown,
            builder: None,
            block: Some(block),
        });
    }

    fn part(&mut self, upstream_index: usize) -> Option<&mut IncomingBlock> {
        let mut parts = self.parts.iter_mut();
        parts.find(|part| part.upstream_index == upstream_index)
    }

    /// Returns whether the message ended with the stop reason `tool_use`.
    fn is_tool_use(&self) -> bool {
        let delta = self.end.get("delta").and_then(|delta| Object::parse(delta).ok());
        delta.is_some_and(|delta| delta.is("stop_reason", "tool_use"))
    }

    /// Completes the message. `place` is the message's index in the true transcript.
    pub(super) fn complete(self, place: usize) -> Complete {
        let is_tool_use = self.is_tool_use();
        let mut blocks = Vec::new();
        let (mut visible, mut calls) = (Vec::new(), Vec::new());
        for part in self.parts {
            let Some(block) = part.block.or_else(|| part.builder.map(BlockBuilder::finish)) else {
                continue;
            };
            let is_shown = part.shown.index.is_some();
            if !is_shown && !is_tool_use {
                // Calls of a message that did not end with `tool_use` never run, and would have no result.
                continue;
            }
            let shown = part.shown.block(&block);
            // The client may answer external calls after any stop reason.
            if let Some(call) = block.tool_use() {
                calls.push(Call {
                    visible_id: part.shown.id.unwrap_or_else(|| call.id.clone()),
                    id: call.id,
                    name: call.name,
                    input: call.input,
                    owner: if is_shown {
                        Owner::External
                    } else {
                        Owner::Internal
                    },
                    result: None,
                    is_begun: false,
                });
            }
            if is_shown && shown.is_counted() {
                let origin = Origin {
                    message: place,
                    block: blocks.len(),
                };
                visible.push((shown, origin));
            }
            blocks.push(block);
        }
        let message = TrueMessage {
            role: Role::Assistant,
            blocks,
        };
        Complete {
            message,
            visible,
            calls,
        }
    }
}
