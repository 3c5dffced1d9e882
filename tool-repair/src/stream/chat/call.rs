//! A call of a Chat Completions stream, and the names in its pieces.

use super::event::Delta;
use super::history::ChoiceHistory;
use crate::repairer::Status;
use crate::stream::call::outcome::{Ending, MORE_OF_ANOTHER, Outcome};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{Address, ChatAddress, Reading};
use crate::stream::call::{Call, Position};

#[derive(Debug)]
pub(crate) struct ChatCall {
    pub(crate) choice: String,
    /// `index` of the last piece.
    pub(crate) index: Option<String>,
    /// Whether the call is a `function_call`, the predecessor of `tool_calls`.
    pub(crate) legacy: bool,
    pub(crate) named_by: NamedBy,
    /// Whether the call has no `index`, or the `index` of an earlier call.
    pub(crate) unsure: bool,
    pub(crate) call: Call,
}

/// Names by which clients identify the pieces of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// Only the index: additional events must have no id, since some clients begin a call at an id.
    Index,
    /// Possibly only the id: additional events must have the id.
    Id,
    /// Delta without a name for the call: the previous call has equal names, or the call has neither `index` nor id.
    Nothing,
}

/// Output at the end of a call.
#[derive(Debug, Default)]
pub(crate) struct End {
    rest: String,
    /// Error message that is sent in place of the arguments, and ends the stream.
    error: Option<String>,
    ending: Ending,
}

impl End {
    pub(crate) fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

impl ChatCall {
    /// Returns whether a delta with this `index` begins another call: by another id, or by its name. Another id with
    /// arguments and without a name is part of this call: some servers change ids.
    pub(crate) fn is_replaced_by(&self, delta: &Delta<'_>) -> bool {
        let another = match (&delta.id, &delta.name) {
            (Some(id), Some(_)) => self.call.id.as_deref().map_or(self.call.begun(), |own| own != id),
            (Some(id), None) => !delta.has_text() && self.call.id.as_deref().is_some_and(|own| own != id),
            (None, _) => false,
        };
        another || self.is_of_another_tool(delta) || self.follows_complete(delta)
    }

    /// Returns whether a delta names another tool than this call, after the first arguments: before them, names are
    /// sent in pieces.
    pub(crate) fn is_of_another_tool(&self, delta: &Delta<'_>) -> bool {
        let own = &self.call.tool;
        let another = |name: &str| !own.is_empty() && own != name;
        self.call.begun() && delta.name.as_deref().is_some_and(another)
    }

    /// Returns whether a delta begins another call after this complete one: it repeats the name, and begins like
    /// arguments. Some servers send complete calls with the same `index` and without ids. With this call's id the
    /// delta is a repetition, as some servers send; an empty object is held, since it may precede the real one.
    pub(crate) fn follows_complete(&self, delta: &Delta<'_>) -> bool {
        delta.name.as_deref() == Some(&self.call.tool)
            && delta.id.is_none()
            && self.call.id.is_none()
            && delta.piece.is_some_and(Piece::begins_arguments)
            && self.call.is_whole()
            && !self.call.holds()
    }

    /// Merges the names in a delta.
    pub(crate) fn merge(&mut self, delta: &Delta<'_>) {
        if let Some(index) = delta.index
            && self.index.as_deref() != Some(index)
        {
            self.index = Some(index.to_owned());
        }
        if let Some(id) = &delta.id
            && self.call.id.as_deref() != Some(id)
        {
            if self.call.id.is_some() {
                self.needs_id();
            }
            self.call.id = Some(id.clone().into_owned());
        }
        if let Some(name) = &delta.name {
            self.call.name(name);
        }
    }

    /// Records that the `index` does not identify the call after this point.
    pub(crate) fn needs_id(&mut self) {
        if self.named_by == NamedBy::Index {
            self.named_by = NamedBy::Id;
        }
    }

    /// Ends the call, and sends held arguments.
    pub(crate) fn end(mut self, cut: bool, history: &mut ChoiceHistory, reading: &mut Reading<'_>) {
        let end = self.stop(cut, history, reading);
        self.leave(end, reading);
    }

    /// Ends the call, and records its outcome. Held arguments have to be sent next.
    pub(crate) fn stop(&mut self, cut: bool, history: &mut ChoiceHistory, reading: &mut Reading<'_>) -> End {
        let mut end = End::default();
        history.note(self.index.as_deref());
        if self.call.waits() && history.doubtful {
            end.rest = self.call.give_up(MORE_OF_ANOTHER, reading.state);
        }
        let Some(outcome) = self.call.end(cut, reading.state) else {
            return end;
        };
        history.doubtful |= match outcome.status {
            Status::Truncated => true,
            Status::Refused => !outcome.closed,
            _ => false,
        };
        end.ending = Ending::from(Some(&outcome));
        end.rest.push_str(&outcome.rest);
        end.error = self.record(outcome, reading);
        end
    }

    /// Sends the end of the call.
    pub(crate) fn leave(&self, end: End, reading: &mut Reading<'_>) {
        if let Some(message) = end.error {
            return reading.fail(self.call.serial, message);
        }
        self.release(end.rest, reading);
        self.call.ended(end.ending, reading);
    }

    /// Sends held arguments.
    pub(crate) fn release(&self, rest: String, reading: &mut Reading<'_>) {
        reading.release(self.call.serial, || self.address(), rest);
    }

    fn record(&self, outcome: Outcome, reading: &mut Reading<'_>) -> Option<String> {
        let position = Position {
            choice: self.choice.parse().ok(),
            index: self.index.as_deref().and_then(|index| index.parse().ok()),
        };
        self.call.record(outcome, position, reading.state)
    }

    /// Returns the names by which clients assign an additional event to this call.
    fn address(&self) -> Address {
        let id = self.call.id.clone();
        Address::Chat(ChatAddress {
            choice: self.choice.clone(),
            index: self.index.clone(),
            id: id.filter(|_| self.named_by != NamedBy::Index),
            legacy: self.legacy,
        })
    }
}
