//! [`Incoming`]: the message of the upstream that is arriving, and where the client has its blocks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::session::record::{Call, Origin, Owner, TrueMessage};
use crate::wire::block::Block;
use crate::wire::block_builder::BlockBuilder;
use crate::wire::delta::Delta;
use crate::wire::fields::RawFields;
use crate::wire::object::Object;
use crate::wire::role::Role;

/// The message that is arriving.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Incoming {
    #[serde(skip)]
    parts: Vec<IncomingBlock>,
    pub(super) usage: Map<String, Value>,
    /// The fields of `message_delta`.
    pub(super) end: RawFields,
}

/// A block that is arriving.
#[derive(Debug, Clone, PartialEq)]
struct IncomingBlock {
    upstream_index: usize,
    shown: Shown,
    builder: Option<BlockBuilder>,
    block: Option<Block>,
}

/// What the client sees of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    /// Where the client has it; `None` for a call of the gateway.
    pub(super) index: Option<usize>,
    /// The id that the client knows, of a call of the client's.
    pub(super) id: Option<String>,
}

impl Shown {
    /// A block as the client has it.
    pub(super) fn block(&self, block: &Block) -> Block {
        let id = self.id.as_ref();
        id.map_or_else(|| block.clone(), |id| block.with_string("id", id))
    }
}

/// A message that has arrived.
pub(super) struct Complete {
    pub(super) message: TrueMessage,
    /// The visible blocks that count, with their origin.
    pub(super) visible: Vec<(Block, Origin)>,
    pub(super) calls: Vec<Call>,
}

impl Incoming {
    /// A block begins that comes in pieces.
    pub(super) fn start_block(&mut self, upstream_index: usize, block: Block, shown: Shown) {
        self.parts.push(IncomingBlock {
            upstream_index,
            shown,
            builder: Some(BlockBuilder::new(block)),
            block: None,
        });
    }

    /// Where the client has the block of this piece.
    pub(super) fn push_delta(&mut self, upstream_index: usize, delta: &Delta) -> Option<usize> {
        let part = self.part(upstream_index)?;
        if let Some(builder) = &mut part.builder {
            builder.push(delta);
        }
        part.shown.index
    }

    /// Where the client has the block that ends.
    pub(super) fn stop_block(&mut self, upstream_index: usize) -> Option<usize> {
        let part = self.part(upstream_index)?;
        part.block = part.builder.take().map(BlockBuilder::finish);
        part.shown.index
    }

    /// A block that comes as a whole.
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

    /// Whether it ended with the stop reason `tool_use`.
    fn is_tool_use(&self) -> bool {
        let delta = self.end.get("delta").and_then(|delta| Object::parse(delta).ok());
        delta.is_some_and(|delta| delta.is("stop_reason", "tool_use"))
    }

    /// The message that has arrived, which is the one at `place` in the truth.
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
                // Calls of a message that did not end as one are never run, and would stay without a result.
                continue;
            }
            let shown = part.shown.block(&block);
            // The client may answer its calls, however the message ended.
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
