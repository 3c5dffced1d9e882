//! One block of a stream of Anthropic's Messages that is a call.

use super::anthropic_event::{Located, error};
use super::call::{Call, Position};
use super::desk::Desk;
use super::outcome::Outcome;
use super::payload::{Edit, Payload};
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
    pub(super) fn conclude(&mut self, desk: &mut Desk<'_>) -> bool {
        let (rest, complete) = self.call.leave_or_pass(desk.ledger);
        self.send_rest(&rest, desk);
        complete
    }

    pub(super) fn give_up(mut self, reason: &str, desk: &mut Desk<'_>) {
        let rest = self.call.give_up(reason.to_owned(), desk.ledger);
        self.send_rest(&rest, desk);
        self.end(false, None, desk);
    }

    /// Ends the block. What is still held goes into its piece in the present event, or out in front of it; what was
    /// kept back follows.
    pub(super) fn end(
        mut self,
        cut: bool,
        present: Option<(&mut Vec<Edit>, &Payload<'_>)>,
        desk: &mut Desk<'_>,
    ) {
        let stop = std::mem::replace(&mut self.stop, Stop::Open);
        if let Stop::Left(outcome) = stop {
            let outcome = if cut { outcome.cut_off() } else { *outcome };
            self.record(outcome, desk);
            return;
        }
        if let Some(outcome) = self.call.end(cut, desk.ledger) {
            let rest = outcome.rest.clone();
            if let Some(message) = self.record(outcome, desk) {
                return desk.fail(&error(&message, &self.call.last));
            }
            let own = |edit: &&mut Edit| edit.call == self.call.serial;
            match present.and_then(|(edits, payload)| Some((edits.iter_mut().rfind(own)?, payload))) {
                Some((edit, payload)) => edit.append(&rest, payload),
                None => self.send_rest(&rest, desk),
            }
        }
        if let Stop::Kept(kept) = stop {
            desk.ledger.held -= kept.len();
            desk.send(&kept);
        }
    }

    fn record(&self, outcome: Outcome, desk: &mut Desk<'_>) -> Option<String> {
        let position = Position {
            choice: None,
            index: self.index.parse().ok(),
        };
        self.call.record(outcome, position, desk.ledger)
    }

    /// Sends what was held in an event like the last one.
    pub(super) fn send_rest(&self, rest: &str, desk: &mut Desk<'_>) {
        if rest.is_empty() || desk.ledger.failed {
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
            payload.write(&mut [edit], desk.out);
        }
    }
}
