//! [`Checkpoint`]: the last point from which a turn can continue, in this or a later process.

use axum::http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::session_state::StateMap;
use super::upstream_headers::UpstreamHeaders;
use crate::session::chain::Digest;
use crate::session::record::SessionId;
use crate::turn::action::{Action, Sent};
use crate::turn::machine::TurnMachine;
use crate::turn::thinking::RefusedThinking;
use crate::wire::assembly::Assembly;
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::fields::{ObjectText, RawFields};
use crate::wire::usage;

/// A copy of a turn from which the turn can continue. Created before a request to the upstream, before and during calls, and when the turn
/// is complete.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    pub(crate) session: SessionId,
    pub(crate) machine: TurnMachine,
    /// Headers of the upstream's first response.
    pub(crate) headers: Option<UpstreamHeaders>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) refused_thinking: Option<RefusedThinking>,
    /// State of the session after the last completed call.
    pub(crate) state: StateMap,
    /// Digest of the gateway's tools in the turn.
    pub(crate) generation: Option<Digest>,
    /// Actions from the last checkpoint whose save failed. Kept only in memory.
    pub(crate) rest: Vec<Action>,
}

/// A checkpoint in a store. The output consists of whole blocks, since a retry receives the output from its beginning.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredCheckpoint {
    pub(super) session: SessionId,
    pub(super) machine: TurnMachine,
    pub(super) headers: Option<Vec<(String, String)>>,
    pub(super) message: Option<ObjectText>,
    pub(super) blocks: Vec<Block>,
    pub(super) end: Option<RawFields>,
    #[serde(rename = "without_thinking")]
    pub(super) refused_thinking: Option<RefusedThinking>,
    pub(super) state: StateMap,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<Digest>,
}

impl Checkpoint {
    /// Returns whether the turn is complete, so that only output remains.
    pub(crate) fn is_complete(&self) -> bool {
        self.machine.is_over() && self.rest.is_empty()
    }

    /// Converts the checkpoint to its form in a store.
    pub(super) fn to_stored(&self) -> StoredCheckpoint {
        let mut assembly = Assembly::default();
        let (mut message, mut end) = (None, None);
        for sent in self.sent.iter().cloned() {
            match sent {
                Sent::Block { block, .. } => assembly.push_block(block),
                Sent::Message(whole) => {
                    let (start, mut delta) = whole.start_and_end();
                    delta.set("usage", usage::to_json(&whole.usage()));
                    whole.shared_blocks().for_each(|block| assembly.push_block(block));
                    (message, end) = (Some(start), Some(delta));
                }
                Sent::Event(event) => match assembly.push(event) {
                    Some(StreamEvent::MessageStart(start)) => message = Some(start),
                    Some(StreamEvent::MessageDelta(delta)) => end = Some(delta),
                    _ => {}
                },
            }
        }
        let headers = self.headers.as_ref().map(|headers| {
            let headers = headers.iter();
            let texts =
                headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
            texts.collect()
        });
        StoredCheckpoint {
            session: self.session.clone(),
            machine: self.machine.clone(),
            headers,
            message,
            blocks: assembly.into_blocks(),
            end,
            refused_thinking: self.refused_thinking,
            state: self.state.clone(),
            generation: self.generation,
        }
    }

    /// Converts a checkpoint from its form in a store.
    pub(super) fn from_stored(stored: StoredCheckpoint) -> Self {
        let headers = stored.headers.map(|headers| {
            let headers = headers.into_iter().filter_map(|(name, value)| {
                Some((
                    HeaderName::try_from(name).ok()?,
                    HeaderValue::try_from(value).ok()?,
                ))
            });
            UpstreamHeaders::new(headers)
        });
        let mut sent: Vec<_> = stored
            .message
            .map(StreamEvent::MessageStart)
            .map(Sent::Event)
            .into_iter()
            .collect();
        let blocks = stored.blocks.into_iter().enumerate();
        sent.extend(blocks.map(|(index, block)| Sent::Block { index, block }));
        if let Some(end) = stored.end {
            sent.extend([StreamEvent::MessageDelta(end), StreamEvent::MessageStop].map(Sent::Event));
        }
        Self {
            session: stored.session,
            machine: stored.machine,
            headers,
            sent,
            refused_thinking: stored.refused_thinking,
            state: stored.state,
            generation: stored.generation,
            rest: Vec::new(),
        }
    }
}
