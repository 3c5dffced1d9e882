//! One block of a stream of Anthropic's Messages that is a call.

use super::anthropic_event::{Located, error};
use super::call::{Call, Position};
use super::outcome::Outcome;
use super::payload::{Edit, Payload};
use super::shared::Shared;
use crate::sse::Event;

#[derive(Debug)]
pub(super) struct Block {
    pub(super) index: String,
    /// The index that its last piece had, if that was another.
    pub(super) changed_index: Option<String>,
    pub(super) call: Call,
    pub(super) stop: Stop,
}

/// How far the end of a block has come.
#[derive(Debug)]
pub(super) enum Stop {
    /// Its `content_block_stop` has not come.
    Open,
    /// It has, and left: what the arguments are is known, unless the stream says that they were cut off.
    Left(Box<Outcome>),
    /// It has, and is kept back with what followed and must not overtake it: whether the arguments are repaired
    /// depends on what the stream says next.
    Kept(Vec<u8>),
}

impl Block {
    pub(super) fn has(&self, index: &str) -> bool {
        self.index == index || self.changed_index.as_deref() == Some(index)
    }

    pub(super) fn is_open_as(&self, index: &str, id: Option<&str>) -> bool {
        matches!(self.stop, Stop::Open) && self.index == index && self.call.id.as_deref() == id
    }

    /// It is said again that the block begins. Returns whether its arguments are complete; otherwise they pass.
    pub(super) fn conclude(&mut self, shared: &mut Shared<'_>) -> bool {
        let (rest, complete) = self.call.leave_or_pass(shared.state);
        self.send_rest(&rest, shared);
        complete
    }

    pub(super) fn give_up(mut self, reason: &str, shared: &mut Shared<'_>) {
        let rest = self.call.give_up(reason.to_owned(), shared.state);
        self.send_rest(&rest, shared);
        self.end(false, None, shared);
    }

    /// Ends the block. What is still held goes into its piece in the present event, or out in front of it; what was
    /// kept back follows.
    pub(super) fn end(
        mut self,
        cut: bool,
        present: Option<(&mut Vec<Edit>, &Payload<'_>)>,
        shared: &mut Shared<'_>,
    ) {
        let stop = std::mem::replace(&mut self.stop, Stop::Open);
        if let Stop::Left(outcome) = stop {
            let outcome = if cut { outcome.cut_off() } else { *outcome };
            self.record(outcome, shared);
            return;
        }
        if let Some(outcome) = self.call.end(cut, shared.state) {
            let rest = outcome.rest.clone();
            if let Some(message) = self.record(outcome, shared) {
                return shared.fail(&error(&message, &self.call.last));
            }
            let own = |edit: &&mut Edit| edit.call == self.call.serial;
            match present.and_then(|(edits, payload)| Some((edits.iter_mut().rfind(own)?, payload))) {
                Some((edit, payload)) => edit.append(&rest, payload),
                None => self.send_rest(&rest, shared),
            }
        }
        if let Stop::Kept(kept) = stop {
            shared.state.held -= kept.len();
            shared.send(&kept);
        }
    }

    fn record(&self, outcome: Outcome, shared: &mut Shared<'_>) -> Option<String> {
        let position = Position {
            choice: None,
            index: self.index.parse().ok(),
        };
        self.call.record(outcome, position, shared.state)
    }

    /// Sends what was held in an event like the last one.
    pub(super) fn send_rest(&self, rest: &str, shared: &mut Shared<'_>) {
        if rest.is_empty() || shared.state.failed {
            return;
        }
        let last = Event::whole(&self.call.last);
        if let Some(payload) = Payload::of(&last)
            && let Some(span) = Located::of(payload.text()).and_then(|located| located.partial_json)
        {
            let contents = Some(rest.to_owned());
            let edit = Edit {
                call: self.call.serial,
                span,
                contents,
            };
            payload.write(&mut [edit], shared.out);
        }
    }
}
