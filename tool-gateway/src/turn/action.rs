//! [`Action`]: the output of the turn machine, which the server executes.

use crate::session::record::{Call, Origin, TrueMessage};
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::fields::ObjectText;
use crate::wire::message::WholeMessage;

/// An action of the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Show the client something.
    Send(Sent),
    /// Run these calls of the gateway, side by side; the index identifies each.
    Run(Vec<(usize, Call)>),
    /// Ask the upstream; these messages, of all rounds so far, follow the messages of the request.
    Ask(Vec<TrueMessage>),
    /// Store the turn, before anything else is done.
    Record(Answer),
    /// The client gets this error, in the API's form.
    Fail(ObjectText),
    /// The turn is over.
    End,
}

/// Output for the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    Event(StreamEvent),
    /// A whole block, for events that the client's stream still needs.
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
    /// The visible blocks that count, with their origin in the truth.
    pub(crate) visible: Vec<(Block, Origin)>,
    /// The calls of a suspended turn.
    pub(crate) calls: Vec<Call>,
    /// Whether the client saw all of the truth.
    pub(crate) is_unchanged: bool,
}
