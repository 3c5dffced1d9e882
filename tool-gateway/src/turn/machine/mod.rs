//! The turn as a state machine, which converts events to actions. The machine has no clock and no connection.
//!
//! ```text
//! a new turn                                                           a turn that resumes a suspended one
//!  │                ┌─ all calls are the gateway's, all results are there ─┼────────────────────────────┐
//!  ▼                ▼                                                      ▼                            │
//! Ask ──► events of the upstream ──► the message is complete ──► Run the gateway's calls ──► results ───┤
//!            │ text, thinking, the           │ none to run                                              │ the client has some, too
//!            ▼ client's calls                ▼                                                          ▼
//!           Send                 finish or suspend: Record, Send the end, End ◄─────────────────────────┘
//! ```
//!
//! The machine's state is in `state.rs`. Its events are received in `upstream_message.rs`, and a complete message begins or ends a round in
//! `rounds.rs`; the turn ends in `ending.rs`.

mod incoming;
mod round_ends;
mod state;
mod ending;
mod rounds;
mod upstream_message;

pub(crate) use state::{MachineLists, TurnMachine};

use super::action::Action;
use super::event::Event;
use crate::session::record::Owner;
use incoming::Incoming;
use state::Phase;

impl TurnMachine {
    /// Returns the first actions of a new turn, or of a copy that was made during a request to the upstream or while calls ran.
    pub(crate) fn start(&mut self) -> Vec<Action> {
        match &mut self.phase {
            Phase::Over => Vec::new(),
            Phase::Asking => {
                self.message = Incoming::default();
                vec![Action::Ask(self.truth.clone())]
            }
            Phase::Running { stopped, .. } => {
                stopped.clear();
                let open = self.open_calls().into_iter();
                vec![Action::Run(
                    open.map(|(index, call)| (index, call.clone())).collect(),
                )]
            }
        }
    }

    /// Handles an event. Returns the resulting actions in order.
    pub(crate) fn on(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match (&mut self.phase, event) {
            (Phase::Over, _) => {}
            (_, Event::OutOfTime) => self.is_out_of_time = true,
            (Phase::Asking, Event::Stream(event)) => self.on_stream(event, &mut actions),
            (Phase::Asking, Event::Block(block)) => self.on_block(block, false, &mut actions),
            (Phase::Asking, Event::RecoveredCall(call)) => self.on_block(call, true, &mut actions),
            (Phase::Asking, Event::Message(message)) => self.on_whole(message, &mut actions),
            (
                Phase::Running {
                    open,
                    is_resumed: true,
                    ..
                },
                Event::Result { call, .. },
            ) => {
                open.remove(&call);
                if open.is_empty() {
                    self.phase = Phase::Asking;
                    actions.push(Action::Ask(self.truth.clone()));
                }
            }
            (Phase::Running { calls, open, .. }, Event::Result { call, result }) => {
                if open.remove(&call)
                    && let Some(call) = calls.get_mut(call)
                {
                    self.ran.push(call.name.clone());
                    call.result = Some(result);
                }
                self.on_done(&mut actions);
            }
            (Phase::Running { calls, open, .. }, Event::Interrupted { call }) => {
                if open.remove(&call)
                    && let Some(call) = calls.get_mut(call)
                {
                    call.owner = Owner::External;
                }
                self.on_done(&mut actions);
            }
            (Phase::Running { stopped, .. }, Event::Stopped { call }) => {
                stopped.insert(call);
            }
            // Events after the end of a message, and results of unknown calls, have no effect.
            (Phase::Asking | Phase::Running { .. }, _) => {}
        }
        actions
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::session::record::Origin;
    use crate::turn::action::Sent;
    use crate::turn::rules::Rules;
    use crate::wire::block::Block;
    use crate::wire::event::StreamEvent;
    use crate::wire::fields::{ObjectText, RawFields};
    use crate::wire::message::WholeMessage;

    fn message(usage: u64, blocks: &[Value]) -> WholeMessage {
        let message = json!({ "id": "m", "content": blocks, "stop_reason": "end_turn", "usage": { "output_tokens": usage } });
        WholeMessage::parse(&message.to_string()).unwrap()
    }

    fn started() -> TurnMachine {
        let mut machine = TurnMachine::new(Rules {
            internal: Arc::new(["Internal".to_owned()].into()),
            max_rounds: 5,
            ..Rules::default()
        });
        machine.start();
        machine
    }

    #[test]
    fn first_message_without_calls_is_the_answer_as_it_is() {
        let thinking = json!({ "type": "thinking", "thinking": "", "signature": "s" });
        let whole = message(5, &[thinking, json!({ "type": "text", "text": "a" })]);
        let mut machine = started();
        let actions = machine.on(Event::Message(whole.clone()));
        let [
            Action::Record(answer),
            Action::Send(Sent::Message(sent)),
            Action::End,
        ] = actions.as_slice()
        else {
            panic!("{actions:?}")
        };
        assert_eq!(*sent, whole);
        assert!(answer.is_unchanged && machine.is_over());
        let blocks: Vec<_> = whole.shared_blocks().collect();
        assert_eq!(answer.truth[0].blocks, blocks);
        let origin = Origin { message: 0, block: 1 };
        assert_eq!(answer.visible, [(blocks[1].clone(), origin)]);
        assert_eq!(machine.usage()["output_tokens"], 5);
    }

    #[test]
    fn later_and_empty_messages_are_written_again() {
        let mut machine = started();
        let call = json!({ "type": "tool_use", "id": "t", "name": "Internal", "input": {} });
        let start = StreamEvent::MessageStart(ObjectText::new("{}").unwrap());
        machine.on(Event::Stream(start));
        machine.on(Event::Block(Block::new(call.to_string())));
        let mut end = RawFields::default();
        end.set("delta", r#"{"stop_reason":"tool_use"}"#);
        end.set("usage", r#"{"output_tokens":2}"#);
        machine.on(Event::Stream(StreamEvent::MessageDelta(end)));
        machine.on(Event::Stream(StreamEvent::MessageStop));
        let result = Block::new(json!({ "type": "tool_result", "tool_use_id": "t" }).to_string());
        let actions = machine.on(Event::Result { call: 0, result });
        assert!(matches!(actions.as_slice(), [Action::Ask(_)]), "{actions:?}");
        let actions = machine.on(Event::Message(message(
            5,
            &[json!({ "type": "text", "text": "a" })],
        )));
        let ended = actions.iter().find_map(|action| match action {
            Action::Send(Sent::Event(StreamEvent::MessageDelta(end))) => Some(end),
            _ => None,
        });
        let usage: Value = serde_json::from_str(ended.unwrap().get("usage").unwrap()).unwrap();
        assert_eq!(usage["output_tokens"], 7);
        assert!(
            matches!(actions.first(), Some(Action::Send(Sent::Block { index: 0, .. }))),
            "{actions:?}"
        );

        let actions = started().on(Event::Message(message(5, &[])));
        let notice = actions
            .iter()
            .any(|action| matches!(action, Action::Send(Sent::Block { .. })));
        assert!(notice, "a client cannot echo an empty message: {actions:?}");
    }

    #[test]
    fn truncated_message_runs_no_calls() {
        let mut machine = started();
        let events = [
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "a", "name": "Internal", "input": {} } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" } }),
            json!({ "type": "message_stop" }),
        ];
        let mut actions = Vec::new();
        for event in &events {
            actions.extend(machine.on(Event::Stream(StreamEvent::parse(&event.to_string()).unwrap())));
        }
        assert!(
            !actions.iter().any(|action| matches!(action, Action::Run(_))),
            "{actions:?}"
        );
        let recorded = actions.iter().find_map(|action| match action {
            Action::Record(answer) => Some(&answer.truth),
            _ => None,
        });
        assert_eq!(recorded, Some(&Vec::new()));
    }
}
