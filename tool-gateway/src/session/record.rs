//! Records of a session store: sessions, and their turns as the upstream received them.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::chain::Digest;
use super::texts::{BegunEnd, Divided, Texts};
use crate::wire::block::{Block, BlockText, TEXT_BYTES};
use crate::wire::role::Role;

/// Id of a session: `ses_` and 128 random bits. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    const PREFIX: &str = "ses_";

    /// Creates a random id.
    pub(crate) fn random() -> Self {
        Self::new([Self::PREFIX, &crate::random::id()].concat())
    }

    pub(crate) fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Parses an id in the form that [`random`](Self::random) creates.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let id = text.strip_prefix(Self::PREFIX)?;
        crate::random::is_id(id).then(|| Self::new(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session (`Session` in requirements 004). Its messages are stored as turns, and its pending tool uses are the open calls of these
/// turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Id of the session.
    pub id: SessionId,
    /// Time at which the first turn was stored.
    pub created_at: SystemTime,
    /// Time at which the latest turn was stored.
    pub last_active: SystemTime,
    /// Values that tools receive as `SessionState`, after the latest turn.
    pub state: Map<String, Value>,
}

/// An assistant message with its visible content and its true messages: a single message, or several messages with hidden rounds between
/// them. A stored turn changes only if its deferred calls receive results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Id of the turn: 128 random bits.
    pub(crate) id: String,
    pub(crate) session: SessionId,
    /// Point of the conversation after the visible message.
    pub(crate) point: Digest,
    /// Digest of the request's system prompt and tools.
    pub(crate) context: Digest,
    /// Digest of the visible content, independent of the conversation before it. Equal to `outline` if the message was forwarded unchanged.
    pub(crate) answer: Digest,
    /// Digest of the visible content that stays equal when a client joins, divides or trims texts, or rewrites invalid arguments.
    pub(crate) outline: Digest,
    /// Whether `point` and `outline` are digests of joined texts. In records of version 5, they are digests of the separate texts.
    #[serde(default)]
    pub(crate) is_joined: bool,
    /// Messages that the upstream sent and received in place of the visible message. Empty if the message was forwarded unchanged.
    pub(crate) truth: Vec<TrueMessage>,
    /// End of the blocks with which the client began the assistant message. The client sends these blocks in each later request, so `truth`
    /// begins after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<BegunEnd>,
    /// Whether the client received all true messages.
    pub(crate) is_unchanged: bool,
    /// Whether the upstream rejected the thinking blocks before the turn, and received the request without them.
    pub(crate) drops_thinking: bool,
    /// Origins of the visible blocks in the true messages.
    pub(crate) visible: Vec<Origin>,
    /// Calls of the last true message in their order, if the client has to send the result of any of them.
    pub(crate) calls: Vec<Call>,
    /// System messages between other messages, as the upstream received them.
    pub(crate) systems: Vec<SystemMessage>,
    /// Values that the session's tools receive as `SessionState`, after this turn.
    pub(crate) state: Map<String, Value>,
    /// Digest of the gateway's tools in the turn; `None` if the tools never change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<Digest>,
}

impl Turn {
    /// Returns whether the client has to send results of calls of the turn.
    pub fn is_suspended(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Returns the ids of the external calls that the client knows.
    pub(crate) fn visible_ids(&self) -> impl Iterator<Item = &str> {
        self.calls
            .iter()
            .filter(|call| call.owner == Owner::External)
            .map(|call| call.visible_id.as_str())
    }

    /// Returns whether the gateway ran calls before the last message of the turn.
    pub(crate) fn has_hidden_round(&self) -> bool {
        self.truth.iter().any(|message| message.role == Role::User)
    }

    /// Returns the names of the tools that the model called.
    pub(crate) fn called(&self) -> impl Iterator<Item = String> {
        let blocks = self.truth.iter().flat_map(|message| &message.blocks);
        blocks.filter_map(|block| Some(block.tool_use()?.name))
    }

    /// Returns the visible blocks with their positions in `visible`. Blocks that are in no true message, such as a notice of the gateway,
    /// are omitted.
    pub(crate) fn visible_blocks(&self) -> impl Iterator<Item = (usize, &Block)> {
        let block = |origin: &Origin| self.truth.get(origin.message)?.blocks.get(origin.block);
        let blocks = self.visible.iter().map(block).enumerate();
        blocks.filter_map(|(index, block)| Some((index, block?)))
    }

    /// Returns whether a client's message with an equal look-up key has the texts of the turn, however they are divided into blocks. The
    /// texts of a message that was forwarded unchanged are not stored and not compared, since its true transcript equals the visible
    /// message.
    pub(crate) fn has_texts<'b>(&self, sent: impl Iterator<Item = BlockText<'b>>) -> bool {
        let visible: Vec<_> = self.visible_blocks().map(|(_, block)| block.borrowed()).collect();
        // A notice of the gateway is not sent to the model.
        let is_notice = visible.is_empty() && !self.visible.is_empty();
        let is_same = || {
            let sent = match self.begun {
                Some(_) => Texts::new(self.divide(sent).rest.into_iter()),
                None => Texts::new(sent),
            };
            sent.is_same(&Texts::new(visible.into_iter()))
        };
        self.truth.is_empty() || is_notice || is_same()
    }

    /// Divides the blocks of the visible message into the blocks of the client and the blocks of the model.
    pub(crate) fn divide<'b>(&self, sent: impl Iterator<Item = BlockText<'b>>) -> Divided<'b> {
        match self.begun {
            Some(end) => end.divide(sent),
            None => Divided {
                begun: Vec::new(),
                rest: sent.collect(),
            },
        }
    }

    /// Frees the memory of texts that the turn does not use.
    pub(crate) fn shrink(&mut self) {
        self.truth.shrink_to_fit();
        self.visible.shrink_to_fit();
        for message in &mut self.truth {
            message.blocks.shrink_to_fit();
            Block::shrink(&mut message.blocks);
        }
    }

    /// Estimates the size of the turn in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        let messages: usize = self.truth.iter().map(TrueMessage::size).sum();
        let calls: usize = self.calls.iter().map(Call::size).sum();
        size_of::<Self>()
            + self.id.len()
            + self.session.as_str().len()
            + messages
            + calls
            + self.visible.len() * size_of::<Origin>()
            + self.systems.len() * size_of::<SystemMessage>()
            + state_size(&self.state)
    }
}

/// Estimates the size of a session's state in memory, in bytes.
pub(crate) fn state_size(state: &Map<String, Value>) -> usize {
    let sizes = state
        .iter()
        .map(|(name, value)| NAME_BYTES + name.len() + value_size(value));
    sizes.sum()
}

/// Estimated size in bytes of a map entry, without the text of its name and without its value.
const NAME_BYTES: usize = 64;

fn value_size(value: &Value) -> usize {
    let parts = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() + ALLOCATION,
        Value::Array(items) => items.iter().map(value_size).sum::<usize>() + ALLOCATION,
        Value::Object(fields) => state_size(fields),
    };
    size_of::<Value>() + parts
}

/// Approximate overhead of an allocation in bytes.
const ALLOCATION: usize = 16;

/// A message that the upstream sent or received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrueMessage {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<Block>,
}

impl TrueMessage {
    fn size(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Block::size).sum();
        let next = self.blocks.iter().skip(1);
        let shared = self.blocks.iter().zip(next);
        let shared = shared.filter(|(block, next)| block.shares_text(next)).count();
        (size_of::<Self>() + blocks).saturating_sub(shared * TEXT_BYTES)
    }
}

/// Position of a visible block in the true messages: the index of the message, and the index of the block in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) message: usize,
    pub(crate) block: usize,
}

/// A call of a suspended turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    /// Id from the upstream.
    pub(crate) id: String,
    /// Id of a call that the client knows. Equal to `id` for internal calls.
    pub(crate) visible_id: String,
    pub(crate) name: String,
    /// Arguments as JSON text.
    pub(crate) input: String,
    pub(crate) owner: Owner,
    /// `tool_result` block of an internal call; `None` while the call is deferred.
    pub(crate) result: Option<Block>,
    /// Whether a deferred call has begun. A call that has begun and has no result was interrupted.
    #[serde(default)]
    pub(crate) is_begun: bool,
    /// Whether the call was recovered from text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_from_text: bool,
}

impl Call {
    fn size(&self) -> usize {
        let texts = [&self.id, &self.visible_id, &self.name, &self.input];
        let texts: usize = texts.iter().map(|text| text.len() + ALLOCATION).sum();
        size_of::<Self>() + texts + self.result.as_ref().map_or(0, Block::size)
    }

    /// Returns whether this is an internal call that has not run.
    pub(crate) fn is_deferred(&self) -> bool {
        self.owner == Owner::Internal && self.result.is_none()
    }
}

/// Side that runs a call. The names in stored records are `gateway` and `client`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Owner {
    /// The gateway.
    #[serde(rename = "gateway")]
    Internal,
    /// The client.
    #[serde(rename = "client")]
    External,
}

/// A system message in the middle of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SystemMessage {
    /// Number of the client's groups before the message.
    pub(crate) groups_before: u32,
    /// Number of groups before the message in the true transcript.
    pub(crate) sent_after: u32,
    pub(crate) digest: Digest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_ids_in_the_form_of_random_ids() {
        let id = SessionId::random();
        assert_eq!(SessionId::parse(&id.to_string()), Some(id.clone()));
        let text = id.as_str();
        for other in [
            &text[4..],
            &text[..25],
            &format!("{text}x"),
            "ses_",
            "ses_../../../../etc/passwd",
            "SES_aaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(SessionId::parse(other), None, "{other}");
        }
    }
}
