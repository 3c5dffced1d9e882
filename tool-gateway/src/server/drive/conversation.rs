//! [`TurnConversation`]: the messages of the session and of this turn, as the upstream gets them.

use std::borrow::Cow;

use crate::session::record::TrueMessage;
use crate::turn::restore::Restored;
use crate::turn::thinking::{self, RefusedThinking};
use crate::wire::message::push_message;

/// The messages of a turn's next request to the upstream.
#[derive(Debug, Default)]
pub(super) struct TurnConversation {
    /// The true transcript; empty until a suspended turn is resumed.
    pub(super) restored: Restored,
    /// Messages of this turn that were sent to the upstream.
    pub(super) asked: Vec<TrueMessage>,
    pub(super) refused_thinking: Option<RefusedThinking>,
}

impl TurnConversation {
    /// Returns all messages so far in the form that the upstream accepts, as a JSON array without its brackets.
    pub(super) fn messages(&self) -> Cow<'_, str> {
        let mut messages = Cow::Borrowed(self.restored.messages.as_str());
        let (before, after) = self
            .asked
            .split_at(self.refused_thinking.map_or(0, |refused| refused.turn_messages));
        for message in before {
            push_message(messages.to_mut(), &message.role, &message.blocks);
        }
        if self.refused_thinking.is_some()
            && let Some(without) = thinking::without_thinking(&messages)
        {
            messages = Cow::Owned(without);
        }
        for message in after {
            push_message(messages.to_mut(), &message.role, &message.blocks);
        }
        messages
    }

    /// Returns whether the messages have lost thinking blocks, after which no thinking can be asked for.
    pub(super) fn lacks_thinking(&self) -> bool {
        self.restored.lacks_thinking || self.refused_thinking.is_some()
    }
}
