//! [`Incoming`]: an incomplete message of the upstream, with the positions of its blocks in the client's stream.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::session::record::{Call, Origin, Owner, TrueMessage};
use crate::turn::client_calls::{BrokenCall, with_input};
use crate::wire::block::Block;
use crate::wire::block_builder::BlockBuilder;
use crate::wire::delta::Delta;
use crate::wire::fields::RawFields;
use crate::wire::object::Object;
use crate::wire::role::Role;
use crate::wire::usage;

/// An incomplete message of the upstream.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Incoming {
    #[serde(skip)]
    parts: Vec<IncomingBlock>,
    pub(super) usage: Map<String, Value>,
    /// Merged fields of the `message_delta` events.
    pub(super) end: RawFields,
}

/// A block of an incomplete message.
#[derive(Debug, Clone, PartialEq)]
struct IncomingBlock {
    upstream_index: usize,
    shown: Shown,
    /// Boxed, since a message may have many complete blocks.
    builder: Option<Box<BlockBuilder>>,
    block: Option<Block>,
    /// Fault of a call that cannot be read.
    broken: Option<Box<BrokenCall>>,
    /// Whether the block is a call that was recovered from text.
    is_from_text: bool,
}

/// Position and id of a block in the client's stream.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Shown {
    /// Index of the block in the client's stream; `None` for an internal call and for hidden thinking.
    pub(super) index: Option<usize>,
    /// Id of an external call in the client's stream.
    pub(super) id: Option<String>,
    /// The block for the client, if it differs in more than the id.
    pub(super) coerced: Option<Box<Block>>,
}

impl Shown {
    /// Returns the block with the client's id and arguments.
    pub(super) fn block(&self, block: &Block) -> Block {
        let block = self.coerced.as_deref().unwrap_or(block);
        let id = self.id.as_ref();
        id.map_or_else(|| block.clone(), |id| block.with_string("id", id))
    }
}

/// Origin of a visible block that is not in the true transcript. A cache mark on the block is removed.
pub(super) const NOWHERE: Origin = Origin {
    message: usize::MAX,
    block: 0,
};

/// Ids of the calls of a turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct CallIds(BTreeSet<String>);

impl CallIds {
    /// Returns the call with an id that is unique in the turn.
    fn unique(&mut self, call: Block, mint: impl FnOnce() -> String) -> Block {
        let id = call.tool_use().map(|call| call.id).unwrap_or_default();
        if !id.is_empty() && self.0.insert(id) {
            return call;
        }
        let id = mint();
        self.0.insert(id.clone());
        call.with_string("id", &id)
    }
}

/// A complete message of the upstream.
pub(super) struct Complete {
    pub(super) message: TrueMessage,
    /// Visible blocks that digests count, with their origins.
    pub(super) visible: Vec<(Block, Origin)>,
    pub(super) calls: Vec<Call>,
    /// The last call that cannot be read.
    pub(super) broken: Option<BrokenCall>,
}

impl Incoming {
    /// Handles the start of the message, which has the first usage and fields that the end of a message may repeat.
    pub(super) fn start(&mut self, message: &Object<'_>) {
        self.add_usage(message.get("usage"));
        let is_set = |name| message.get(name).filter(|value| *value != "null");
        if let Some(container) = is_set("container") {
            let mut delta = RawFields::default();
            delta.set("container", container);
            self.end.set("delta", delta.to_json());
        }
        if let Some(edits) = is_set("context_management") {
            self.end.set("context_management", edits);
        }
    }

    /// Handles the fields of a `message_delta`. The fields of several such events are merged, key by key.
    pub(super) fn add_end(&mut self, mut fields: RawFields) {
        self.add_usage(fields.remove("usage").as_deref());
        let delta = fields.remove("delta");
        if let Some(Ok(delta)) = delta.as_deref().map(Object::parse) {
            let merged = self
                .end
                .get("delta")
                .and_then(|before| Object::parse(before).ok());
            let mut merged = merged.map(RawFields::from).unwrap_or_default();
            merged.merge(delta.into());
            self.end.set("delta", merged.to_json());
        }
        self.end.merge(fields);
    }

    /// Handles counters, which are cumulative within a message.
    fn add_usage(&mut self, counted: Option<&str>) {
        if let Some(counted) = counted.and_then(usage::read) {
            usage::merge(&mut self.usage, counted);
        }
    }

    /// Begins a block that arrives in pieces.
    pub(super) fn start_block(&mut self, upstream_index: usize, block: Block, shown: Shown) {
        self.parts.push(IncomingBlock {
            upstream_index,
            shown,
            builder: Some(Box::new(BlockBuilder::new(block))),
            block: None,
            broken: None,
            is_from_text: false,
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
        part.block = part.builder.take().map(|builder| builder.finish());
        part.shown.index
    }

    /// Adds a whole block.
    pub(super) fn push_block(&mut self, block: Block, shown: Shown, is_from_text: bool) {
        self.parts.push(IncomingBlock {
            upstream_index: self.parts.len(),
            shown,
            builder: None,
            block: Some(block),
            broken: None,
            is_from_text,
        });
    }

    /// Adds a call that cannot be read. The client does not see the call.
    pub(super) fn push_broken(&mut self, call: &Block, broken: BrokenCall) {
        // No server accepts a call without a name.
        let name = if broken.name.trim().is_empty() {
            "unknown_tool"
        } else {
            &broken.name
        };
        let block = with_input(call, "{}").with_string("name", name);
        let shown = Shown::default();
        self.push_block(block, shown, false);
        if let Some(part) = self.parts.last_mut() {
            part.broken = Some(Box::new(broken));
        }
    }

    fn part(&mut self, upstream_index: usize) -> Option<&mut IncomingBlock> {
        // Nearly always the last block.
        let mut parts = self.parts.iter_mut().rev();
        parts.find(|part| part.upstream_index == upstream_index)
    }

    /// Returns whether the message ended with the stop reason `tool_use`.
    fn is_tool_use(&self) -> bool {
        let delta = self.end.get("delta").and_then(|delta| Object::parse(delta).ok());
        delta.is_some_and(|delta| delta.is("stop_reason", "tool_use"))
    }

    /// Completes the message. `place` is the message's index in the true transcript. The resulting blocks are valid in requests: blank
    /// texts are omitted, and calls have an object as `input` and unique ids.
    pub(super) fn complete(
        self,
        place: usize,
        ids: &mut CallIds,
        mut mint: impl FnMut() -> String,
    ) -> Complete {
        let is_tool_use = self.is_tool_use();
        let mut blocks = Vec::with_capacity(self.parts.len());
        let (mut visible, mut calls) = (Vec::with_capacity(self.parts.len()), Vec::new());
        let mut last_broken = None;
        for part in self.parts {
            let Some(mut block) = part
                .block
                .or_else(|| part.builder.map(|builder| builder.finish()))
            else {
                continue;
            };
            if block.is_blank_text(block.kind()) {
                if block.is_counted() {
                    visible.push((block, NOWHERE));
                }
                continue;
            }
            block = block.with_object_input();
            let is_shown = part.shown.index.is_some();
            if !is_shown && !is_tool_use && !block.is_thinking() {
                // Calls of a message that did not end with `tool_use` never run, and would have no result.
                continue;
            }
            if block.tool_use().is_some() {
                block = ids.unique(block, &mut mint);
            }
            let shown = part.shown.block(&block);
            last_broken = part.broken.clone().map(|broken| *broken).or(last_broken);
            // The client may answer external calls after any stop reason.
            if let Some(call) = block.tool_use() {
                let broken = part.broken.as_deref();
                calls.push(Call {
                    result: broken.map(|broken| broken.result(&call.id)),
                    visible_id: part.shown.id.unwrap_or_else(|| call.id.clone()),
                    id: call.id,
                    name: call.name,
                    input: call.input,
                    owner: if is_shown {
                        Owner::External
                    } else {
                        Owner::Internal
                    },
                    is_begun: false,
                    is_from_text: part.is_from_text,
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
            broken: last_broken,
        }
    }
}
