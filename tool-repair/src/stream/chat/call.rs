//! [`ChatCall`]: a call of a Chat Completions stream, with the `index` and the id of its pieces.

use super::event::Delta;
use super::history::ChoiceHistory;
use crate::repairer::Status;
use crate::stream::call::outcome::{Ending, MAY_CONTINUE_PREVIOUS_CALL, Outcome};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{Address, ChatAddress, EventContext};
use crate::stream::call::{Call, Position};

#[derive(Debug)]
pub(crate) struct ChatCall {
    pub(crate) choice: String,
    /// `index` of the last piece.
    pub(crate) index: Option<String>,
    /// Whether the call is a `function_call`, the predecessor of `tool_calls`.
    pub(crate) legacy: bool,
    pub(crate) identifier: Identifier,
    /// Whether the call may be a continuation of an earlier call: it has no `index` or the `index` of an earlier call,
    /// or earlier calls of its choice have ended.
    pub(crate) may_continue_earlier: bool,
    pub(crate) call: Call,
}

/// Field by which clients assign an additional event to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identifier {
    /// The `index`. Additional events must have no id, since some clients begin a call at an id.
    Index,
    /// The id, since another call has the `index`, or the call has no `index`.
    Id,
    /// No field: an earlier call has an equal `index` and id, or the call has neither.
    Missing,
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
    /// Returns whether a delta with the `index` of this call begins another call. A delta with another id and with
    /// arguments, but without a name, continues this call: some servers change ids.
    pub(crate) fn is_replaced_by(&self, delta: &Delta<'_>) -> bool {
        let another = match (&delta.id, &delta.name) {
            (Some(id), Some(_)) => self.call.id.as_deref().map_or(self.call.begun(), |own| own != id),
            (Some(id), None) => !delta.has_text() && self.call.id.as_deref().is_some_and(|own| own != id),
            (None, _) => false,
        };
        another || self.is_of_another_tool(delta) || self.follows_complete(delta)
    }

    /// Returns whether a delta has the name of another tool after the first arguments of this call. Before the first
    /// arguments, the delta's name is a piece of this call's name.
    pub(crate) fn is_of_another_tool(&self, delta: &Delta<'_>) -> bool {
        let own = &self.call.tool;
        let another = |name: &str| !own.is_empty() && own != name;
        self.call.begun() && delta.name.as_deref().is_some_and(another)
    }

    /// Returns whether a delta begins another call after this complete call: the delta repeats the name, begins like
    /// arguments, and neither has an id. Some servers send several complete calls with one `index` and without ids. An
    /// empty object is held, so it is not a complete call here: some servers send `{}` before the real arguments.
    pub(crate) fn follows_complete(&self, delta: &Delta<'_>) -> bool {
        delta.name.as_deref() == Some(&self.call.tool)
            && delta.id.is_none()
            && self.call.id.is_none()
            && delta.piece.is_some_and(Piece::begins_arguments)
            && self.call.is_whole()
            && !self.call.holds()
    }

    /// Merges the `index`, the id and the name of a delta.
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

    /// Records that additional events need the id, since the `index` does not identify the call any more.
    pub(crate) fn needs_id(&mut self) {
        if self.identifier == Identifier::Index {
            self.identifier = Identifier::Id;
        }
    }

    /// Ends the call, and sends held arguments.
    pub(crate) fn end(mut self, cut: bool, history: &mut ChoiceHistory, context: &mut EventContext<'_>) {
        let end = self.stop(cut, history, context);
        self.send_end(end, context);
    }

    /// Ends the call, and records its outcome. The caller sends the returned end with [`send_end`](Self::send_end).
    pub(crate) fn stop(
        &mut self,
        cut: bool,
        history: &mut ChoiceHistory,
        context: &mut EventContext<'_>,
    ) -> End {
        let mut end = End::default();
        history.record_end(self.index.as_deref());
        if self.call.is_withheld() && history.has_incomplete {
            end.rest = self.call.bail_out(MAY_CONTINUE_PREVIOUS_CALL, context.state);
        }
        let Some(outcome) = self.call.end(cut, context.state) else {
            return end;
        };
        history.has_incomplete |= match outcome.status {
            Status::Truncated => true,
            Status::Refused => !outcome.closed,
            _ => false,
        };
        end.ending = Ending::from(Some(&outcome));
        end.rest.push_str(&outcome.rest);
        end.error = self.record(outcome, context);
        end
    }

    /// Sends the held arguments at the end of the call, or the error.
    pub(crate) fn send_end(&self, end: End, context: &mut EventContext<'_>) {
        if let Some(message) = end.error {
            return context.fail(self.call.serial, message);
        }
        self.release(end.rest, context);
        self.call.report_end(end.ending, context);
    }

    /// Sends held arguments.
    pub(crate) fn release(&self, rest: String, context: &mut EventContext<'_>) {
        context.release(self.call.serial, || self.address(), rest);
    }

    fn record(&self, outcome: Outcome, context: &mut EventContext<'_>) -> Option<String> {
        let position = Position {
            choice: self.choice.parse().ok(),
            index: self.index.as_deref().and_then(|index| index.parse().ok()),
        };
        self.call.record(outcome, position, context.state)
    }

    /// Returns the fields by which clients assign an additional event to this call.
    fn address(&self) -> Address {
        let id = self.call.id.clone();
        Address::Chat(ChatAddress {
            choice: self.choice.clone(),
            index: self.index.clone(),
            id: id.filter(|_| self.identifier != Identifier::Index),
            legacy: self.legacy,
        })
    }
}
