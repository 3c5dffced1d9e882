//! The records of a session store: turns of the model as the upstream saw them, and sessions.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::chain::Digest;
use crate::wire::block::Block;
use crate::wire::role::Role;

/// A session's id: `ses_` and 128 random bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionId(pub(crate) String);

impl SessionId {
    const PREFIX: &str = "ses_";

    /// Creates a random id.
    pub(crate) fn random() -> Self {
        Self(format!("{}{}", Self::PREFIX, crate::random::id()))
    }

    /// Reads an id of the form that [`random`](Self::random) creates.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let id = text.strip_prefix(Self::PREFIX)?;
        crate::random::is_id(id).then(|| Self(text.to_owned()))
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session (`Session` in requirements 004). Its messages are its turns, in the store; its pending tool uses are the turns' open calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The id.
    pub id: SessionId,
    /// When its first turn was stored.
    pub created_at: SystemTime,
    /// When its latest turn was stored.
    pub last_active: SystemTime,
    /// The values that its tools take as `SessionState`, after its latest turn.
    pub state: Map<String, Value>,
}

/// A message of the model, or several with hidden rounds between them: the visible content, and the true messages. A turn never changes,
/// except that deferred calls get their results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The id of the turn: 128 random bits.
    pub(crate) id: String,
    pub(crate) session: SessionId,
    /// The point of the conversation after the visible message.
    pub(crate) point: Digest,
    /// The system prompt and the tools of its request.
    pub(crate) context: Digest,
    /// The visible content alone, without the conversation before it.
    pub(crate) answer: Digest,
    /// The digest of the visible content that does not change when a client trims texts or rewrites invalid arguments. For a turn without
    /// calls, which is found by its whole content alone, it is equal to `answer`.
    pub(crate) outline: Digest,
    /// The messages that the upstream saw in place of the visible one. Empty if the message passed unchanged.
    pub(crate) truth: Vec<TrueMessage>,
    /// Whether the client saw all of the truth.
    pub(crate) is_unchanged: bool,
    /// Whether the upstream refused the thinking before the turn, and was asked without it.
    pub(crate) drops_thinking: bool,
    /// The origins of the visible blocks in the true messages.
    pub(crate) visible: Vec<Origin>,
    /// The calls of the last true message, in its order, if the client has to answer some of them.
    pub(crate) calls: Vec<Call>,
    /// The system messages between the others, as they went up.
    pub(crate) systems: Vec<SystemMessage>,
    /// The values that the session's tools take as `SessionState`, after this turn.
    pub(crate) state: Map<String, Value>,
}

impl Turn {
    /// Whether the client has to answer calls of the turn.
    pub fn is_suspended(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Returns the client's ids of the external calls.
    pub(crate) fn visible_ids(&self) -> impl Iterator<Item = &str> {
        self.calls
            .iter()
            .filter(|call| call.owner == Owner::External)
            .map(|call| call.visible_id.as_str())
    }

    /// Estimates the memory that the turn takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let blocks = self.truth.iter().flat_map(|message| &message.blocks);
        let results = self.calls.iter().filter_map(|call| call.result.as_ref());
        let messages: usize = blocks.chain(results).map(Block::size).sum();
        let inputs: usize = self.calls.iter().map(|call| call.input.len() + 128).sum();
        let state = serde_json::to_vec(&self.state).map_or(0, |state| state.len());
        messages + inputs + state + 512
    }
}

/// A message as the upstream saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrueMessage {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<Block>,
}

/// The position of a visible block in the true messages: the index of the message, and the index of the block in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) message: usize,
    pub(crate) block: usize,
}

/// A call of a suspended turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    /// The upstream's id.
    pub(crate) id: String,
    /// The id that the client knows; for internal calls the upstream's.
    pub(crate) visible_id: String,
    pub(crate) name: String,
    /// The arguments as JSON text.
    pub(crate) input: String,
    pub(crate) owner: Owner,
    /// The `tool_result` block of an internal call; `None` while it is deferred.
    pub(crate) result: Option<Block>,
    /// Whether a deferred call was begun. Without a result, it was interrupted.
    #[serde(default)]
    pub(crate) is_begun: bool,
}

impl Call {
    /// Whether it is an internal call that has not run yet.
    pub(crate) fn is_deferred(&self) -> bool {
        self.owner == Owner::Internal && self.result.is_none()
    }
}

/// The side that runs a call. Stored records have other names for them.
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
    pub(crate) groups_before: usize,
    /// Number of groups before the message in the true transcript.
    pub(crate) sent_after: usize,
    pub(crate) digest: Digest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_the_form_that_it_writes() {
        let id = SessionId::random();
        assert_eq!(SessionId::parse(&id.to_string()), Some(id.clone()));
        let text = id.0;
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
