//! [`Exchange`]: a machine with its client. [`TurnInProgress`] has one exchange for each form of the upstream's messages.

use std::rc::Rc;

use super::client_view::{ClientView, Stage};
use super::model::{Conversation, Kind, Part};
use crate::session::recognize::Recognized;
use crate::turn::action::Action;
use crate::turn::event::Event;
use crate::turn::machine::TurnMachine;
use crate::turn::restore::Restored;
use crate::wire::event::StreamEvent;
use crate::wire::fields::ObjectText;

/// A machine and its client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    pub(super) machine: TurnMachine,
    pub(super) view: ClientView,
}

impl Exchange {
    /// Handles an event of an incomplete message, which may only cause output.
    #[track_caller]
    pub(super) fn on_part(&mut self, event: Event) {
        let rest = self.on(event);
        assert!(rest.is_empty(), "expected output only, got {rest:#?}");
        // An error instead of this event ends the turn.
        let error = ObjectText::new(r#"{"type":"error"}"#).unwrap();
        let mut failed = self.machine.clone();
        let actions = failed.on(Event::Stream(StreamEvent::Error(error.clone())));
        assert_eq!(actions, [Action::Fail(error)]);
        assert_eq!(failed.on(Event::Stream(StreamEvent::MessageStop)), []);
    }

    /// Handles an event. The client receives the output; all other actions are returned.
    #[track_caller]
    pub(super) fn on(&mut self, event: Event) -> Vec<Action> {
        let mut is_recorded = false;
        let mut actions = self.machine.on(event);
        actions.retain(|action| match action {
            Action::Send(sent) => {
                self.view.push(sent);
                let is_end = matches!(self.view.stage, Stage::Ending | Stage::Ended);
                assert!(
                    !is_end || is_recorded,
                    "the client has the end before the turn is stored"
                );
                false
            }
            action => {
                is_recorded |= matches!(action, Action::Record(_));
                true
            }
        });
        actions
    }
}

/// Starts a copy of a machine, like a retry after a break. The copy equals the machine, so both continue equally.
#[track_caller]
pub(super) fn restart(machine: &TurnMachine) -> Vec<Action> {
    let mut copy = machine.clone();
    let actions = copy.start();
    assert_eq!(copy, *machine);
    actions
}

/// A turn that is not over.
#[derive(Debug, Clone)]
pub(super) struct TurnInProgress {
    pub(super) request: Rc<(Recognized, Restored)>,
    /// Conversation before the turn, with the numbers, calls and runs of the turn.
    pub(super) conversation: Conversation,
    /// Exchange with an upstream that streams, or that does not stream if `whole` is set.
    pub(super) streamed: Exchange,
    pub(super) whole: Exchange,
    /// Messages that the upstream must see after the messages of the request, as text.
    pub(super) truth: String,
    /// Number of requests to the upstream.
    pub(super) rounds: usize,
    /// Parts of the incomplete message.
    pub(super) message: Vec<Part>,
}

impl TurnInProgress {
    pub(super) fn push(&mut self, part: Part) {
        let index = self.message.len();
        let (block, start, delta) = part.forms();
        self.message.push(part);
        if part.kind == Kind::Broken {
            for exchange in [&mut self.streamed, &mut self.whole] {
                exchange.on_part(Event::Block(block.clone()));
            }
            return;
        }
        for event in [
            StreamEvent::BlockStart { index, block: start },
            StreamEvent::BlockDelta {
                index,
                delta: delta.into(),
            },
            StreamEvent::BlockStop { index },
        ] {
            self.streamed.on_part(Event::Stream(event));
        }
        self.whole.on_part(Event::Block(block));
    }

    pub(super) fn push_both(&mut self, event: &StreamEvent) {
        self.streamed.on_part(Event::Stream(event.clone()));
        self.whole.on_part(Event::Stream(event.clone()));
    }
}
