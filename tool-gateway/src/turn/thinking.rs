//! Thinking blocks that the upstream rejects. Newer models tie the signature of thinking to the exact messages before it.

use serde::{Deserialize, Serialize};

use crate::session::record::{Origin, TrueMessage};
use crate::wire::block::Block;
use crate::wire::message::{Message, push_message, push_text};
use crate::wire::walk;

/// A rejection of thinking by the upstream. All messages before the turn, and the first messages of the turn, are sent without thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RefusedThinking {
    /// Number of messages of the turn at the time of the rejection.
    pub(crate) turn_messages: usize,
}

/// Words of the refusals of thinking in public reports, in lower case. Each refusal has the word `thinking`, too.
const REFUSALS: [&str; 8] = [
    "signature",
    "cannot be modified",
    "invalid `data`",
    "different conversation",
    "must start with a thinking block",
    "expected `thinking`",
    "expected thinking",
    "cannot contain thinking",
];

/// Returns whether an error response of the upstream is about thinking blocks in the messages. Servers before the API put its words at
/// different places of their own errors, so all of the body counts.
pub(crate) fn is_refused(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_lowercase();
    text.contains("thinking") && REFUSALS.iter().any(|words| text.contains(words))
}

/// Removes thinking from the text of a list of messages. Returns `None` if the text has no thinking. A message with only thinking is kept.
pub(crate) fn without_thinking(messages: &str) -> Option<String> {
    let mut out = String::with_capacity(messages.len());
    let mut is_changed = false;
    for message in walk::items_of(messages) {
        let parsed = Message::parse(messages, message).ok()?;
        let blocks = || parsed.blocks(messages);
        let kept = || blocks().filter(|block| !block.is_thinking());
        if kept().count() == blocks().count() || kept().next().is_none() {
            push_text(&mut out, message);
        } else {
            is_changed = true;
            push_message(&mut out, &parsed.role, kept());
        }
    }
    is_changed.then_some(out)
}

/// Removes thinking from the first messages of a true transcript.
pub(crate) fn remove_thinking(truth: &mut [TrueMessage], visible: &mut [Origin], messages: usize) {
    for (at, message) in truth.iter_mut().enumerate().take(messages) {
        let is_thinking: Vec<bool> = message.blocks.iter().map(Block::is_thinking).collect();
        if is_thinking.iter().all(|is_thinking| *is_thinking) {
            // No API accepts an empty message.
            continue;
        }
        message.blocks.retain(|block| !block.is_thinking());
        for origin in visible.iter_mut().filter(|origin| origin.message == at) {
            let before = is_thinking.iter().take(origin.block);
            origin.block -= before.filter(|is_thinking| **is_thinking).count();
        }
    }
}
