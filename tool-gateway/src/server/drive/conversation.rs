//! [`TurnConversation`]: the messages of the session and of this turn, as the upstream gets them.

use crate::session::record::TrueMessage;
use crate::turn::restore::Restored;
use crate::turn::round_messages::RoundMessages;
use crate::turn::thinking::RefusedThinking;
use crate::wire::request::MessagesRequest;

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
    /// Returns all messages so far in the form that the upstream accepts.
    pub(super) fn messages<'r>(&'r self, request: &'r MessagesRequest) -> RoundMessages<'r> {
        RoundMessages {
            request,
            restored: &self.restored.messages,
            asked: &self.asked,
            refused_thinking: self.refused_thinking,
        }
    }

    /// Returns whether the messages have lost thinking blocks, after which no thinking can be asked for.
    pub(super) fn lacks_thinking(&self) -> bool {
        self.restored.lacks_thinking || self.refused_thinking.is_some()
    }
}
