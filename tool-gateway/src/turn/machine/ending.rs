//! End of a turn: no call is left, or the client has calls to answer.

use super::incoming::NOWHERE;
use super::state::{Phase, TurnMachine};
use crate::session::record::Call;
use crate::turn::action::{Action, Answer, Sent};
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::object::set_field;

impl TurnMachine {
    /// Suspends the turn until the client answers calls of the last message. Deferred calls have no result yet.
    pub(super) fn suspend(&mut self, calls: Vec<Call>, actions: &mut Vec<Action>) {
        self.end(calls, false, actions);
    }

    /// Finishes the turn, since no call is left.
    pub(super) fn finish(&mut self, actions: &mut Vec<Action>) {
        // A client cannot echo an empty message.
        if self.visible.is_empty() && self.hides_something() {
            let block = Block::text(&self.notice());
            let index = self.next_index();
            actions.push(Action::Send(Sent::Block {
                index,
                block: block.clone(),
            }));
            self.visible.push((block, NOWHERE));
        }
        let is_unchanged = self.truth.len() == 1 && self.next_index == self.truth_len();
        self.end(Vec::new(), is_unchanged, actions);
    }

    /// Ends the client's message like the upstream's last message, with the usage of all rounds.
    fn end(&mut self, calls: Vec<Call>, is_unchanged: bool, actions: &mut Vec<Action>) {
        self.phase = Phase::Over;
        actions.push(Action::Record(Answer {
            truth: self.truth.clone(),
            visible: self.visible.clone(),
            calls,
            is_unchanged,
        }));
        let mut end = std::mem::take(&mut self.message.end);
        self.ends.write(&mut end, &self.usage);
        actions.push(Action::event(StreamEvent::MessageDelta(end)));
        actions.push(Action::event(StreamEvent::MessageStop));
        actions.push(Action::End);
    }

    /// Sets the stop reason of the client's message, in JSON's form.
    pub(super) fn set_stop_reason(&mut self, reason: &str) {
        let end = &mut self.message.end;
        let delta = end.get("delta").unwrap_or("{}");
        let delta = set_field(delta, "stop_reason", reason);
        end.set("delta", delta);
    }

    fn truth_len(&self) -> usize {
        self.truth.iter().map(|message| message.blocks.len()).sum()
    }

    /// Returns whether the gateway has hidden blocks of a message whose visible blocks are only thinking. Clients drop thinking, so the
    /// message would be empty.
    fn hides_something(&self) -> bool {
        self.rounds > 0 || self.next_index == 0
    }

    /// Builds the text of a notice with the names of the tools that ran.
    fn notice(&self) -> String {
        let mut names: Vec<&str> = self.ran.iter().map(String::as_str).collect();
        names.dedup();
        if names.is_empty() {
            "[The model gave no answer.]".to_owned()
        } else {
            format!("[Tools that ran: {}.]", names.join(", "))
        }
    }
}
