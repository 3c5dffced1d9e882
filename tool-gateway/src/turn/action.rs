//! [`Action`]: output of the turn machine, which the server executes.

use crate::session::record::{Call, Origin, TrueMessage};
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::fields::ObjectText;
use crate::wire::message::WholeMessage;

/// An action for the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Send output to the client.
    Send(Sent),
    /// Run these internal calls concurrently. The index identifies a call.
    Run(Vec<(usize, Call)>),
    /// Request the next message from the upstream. The messages are appended to the messages of the request, and include all earlier
    /// rounds.
    Ask(Vec<TrueMessage>),
    /// Store the turn, before any other action.
    Record(Answer),
    /// Send this error to the client.
    Fail(ObjectText),
    /// Send the client an error about the upstream's message, with the status 502.
    FailUpstream(String),
    /// End the turn.
    End,
}

impl Action {
    /// Creates the action that sends an event to the client.
    pub(super) fn event(event: StreamEvent) -> Self {
        Self::Send(Sent::Event(event))
    }
}

/// Output for the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    Event(StreamEvent),
    /// A whole block, for a stream that needs it as events.
    Block {
        index: usize,
        block: Block,
    },
    /// The only message of the turn, unchanged.
    Message(WholeMessage),
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) truth: Vec<TrueMessage>,
    /// Visible blocks that digests count, with their origins in the true messages.
    pub(crate) visible: Vec<(Block, Origin)>,
    /// Calls of a suspended turn.
    pub(crate) calls: Vec<Call>,
    /// Whether the client saw all true messages.
    pub(crate) is_unchanged: bool,
}
