//! [`ResponsesCall`]: a call of a Responses stream, from its first piece to the last copy of its arguments.

use super::event::Item;
use crate::repairer::Status;
use crate::stream::call::outcome::{Ending, Outcome};
use crate::stream::call::piece::Piece;
use crate::stream::call::state::StreamState;
use crate::stream::call::step::{Address, EventContext, Step};
use crate::stream::call::{Call, Position};
use crate::stream::json::cursor::Spanned;

#[derive(Debug)]
pub(crate) struct ResponsesCall {
    /// Id of the item. The result of the call has `call.id` instead.
    pub(crate) id: Option<String>,
    pub(crate) output_index: Option<String>,
    pub(crate) call: Call,
    /// Whether pieces of the arguments were sent, which clients join.
    in_pieces: bool,
    /// Whether a piece had an id or a position.
    pub(crate) is_identified: bool,
    /// Whether the announcement of the item had all arguments, as complete JSON.
    announced: bool,
    pub(crate) stop: CallEnd,
}

/// Progress of a call's end.
#[derive(Debug)]
pub(crate) enum CallEnd {
    /// The arguments are not done.
    Open,
    /// The arguments are done and were sent. Only a report of the stream that the arguments were cut off can change the
    /// outcome.
    Sent(Box<Outcome>),
    /// The arguments are done, and the events with their end are held: the next events decide whether the arguments
    /// are repaired.
    Held(HeldEvents),
    /// The outcome is known; `None` for a call that is not repaired.
    Finalized(Option<Status>),
}

/// Held events of a call.
#[derive(Debug, Default)]
pub(crate) struct HeldEvents {
    events: usize,
    size: usize,
}

impl ResponsesCall {
    pub(crate) fn new(item: &Item<'_>, context: &mut EventContext<'_>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let tool = item.name.as_deref().unwrap_or_default().to_owned();
        let call = Call::new(context.state, owned(item.call_id.as_deref()), tool);
        call.report_begin(None, context);
        Self {
            id: owned(item.id.as_deref()),
            output_index: owned(item.output_index),
            call,
            in_pieces: false,
            is_identified: false,
            announced: false,
            stop: CallEnd::Open,
        }
    }

    /// Returns whether an item has the item id, the `call_id` or the `output_index` of this call. After the arguments
    /// are done, an item with another `call_id` does not match.
    pub(crate) fn matches_item(&self, item: &Item<'_>) -> bool {
        let same = |own: Option<&str>, received: Option<&str>| own.is_some() && own == received;
        let both = self.call.id.as_deref().zip(item.call_id.as_deref());
        if !matches!(self.stop, CallEnd::Open) && both.is_some_and(|(own, received)| own != received) {
            return false;
        }
        same(self.id.as_deref(), item.id.as_deref())
            || same(self.call.id.as_deref(), item.call_id.as_deref())
            || same(self.output_index.as_deref(), item.output_index)
    }

    /// Appends a piece of the arguments.
    pub(crate) fn push(&mut self, value: Option<&Spanned<'_>>, context: &mut EventContext<'_>) {
        if let Some(value) = value
            && let Some(piece) = Piece::from_value(value.text)
        {
            if self.announced && !piece.is_blank() {
                self.announced = false;
                let _ = piece.begins_arguments() && self.call.restart(context);
            }
            let contents = self.call.push(piece, context.state);
            let (call, span) = (self.call.serial, value.span.clone());
            context.steps.push(Step::Piece { call, span, contents });
            self.in_pieces |= self.call.begun();
            self.call.keep_carrier(context);
        }
    }

    /// Handles the announcement of the item. If its arguments are complete JSON, they are sent at once; later pieces
    /// may repeat them.
    pub(crate) fn announce(&mut self, context: &mut EventContext<'_>) {
        self.announced = self.call.is_whole();
        if self.announced
            && let Some(rest) = self.call.finalize_if_complete(context.state)
        {
            self.release(rest, context);
            self.call.keep_carrier(context);
        }
    }

    /// Handles an item with all arguments. They are used if no pieces were sent.
    pub(crate) fn push_whole(&mut self, item: &Item<'_>, context: &mut EventContext<'_>) {
        if !matches!(self.stop, CallEnd::Open) {
            return;
        }
        if self.announced && item.arguments.is_some() {
            self.in_pieces &= !self.call.restart(context);
        }
        if self.call.begun() {
            return;
        }
        if self.call.tool.is_empty()
            && let Some(name) = &item.name
        {
            name.as_ref().clone_into(&mut self.call.tool);
        }
        if let Some(value) = &item.arguments
            && let Some(piece) = Piece::from_value(value.text)
        {
            let contents = self.call.push(piece, context.state);
            let contents = contents.unwrap_or_else(|| piece.contents());
            let call = self.call.serial;
            context.steps.push(Step::Whole { call, contents });
        }
    }

    /// Handles the end of the arguments, before the stream reports whether they were cut off. Returns whether the
    /// event is held. If the event is not held, the outcome is known.
    pub(crate) fn hold_end(&mut self, context: &mut EventContext<'_>) -> bool {
        match &mut self.stop {
            CallEnd::Open if !self.call.is_repairing() => {
                self.stop = match self.call.end(false, context.state) {
                    None => {
                        self.call.report_end(Ending::default(), context);
                        CallEnd::Finalized(None)
                    }
                    Some(mut outcome) => {
                        let rest = std::mem::take(&mut outcome.rest);
                        self.release(rest, context);
                        self.call.drop_carrier(context);
                        CallEnd::Sent(Box::new(outcome))
                    }
                };
                return false;
            }
            CallEnd::Open => self.stop = CallEnd::Held(HeldEvents::default()),
            CallEnd::Held(_) => {}
            CallEnd::Sent(_) | CallEnd::Finalized(_) => return false,
        }
        match &mut self.stop {
            CallEnd::Held(held) if held.events < MAX_HELD_EVENTS && context.state.may_hold(context.size) => {
                held.events += 1;
                held.size += context.size;
                context.state.held += context.size;
                let call = self.call.serial;
                context.steps.push(Step::HoldEvent { call });
                true
            }
            _ => {
                let reason = "too many bytes are held before the stream reports whether the call is complete";
                self.bail_out(reason, context);
                self.finalize(false, context);
                false
            }
        }
    }

    /// Handles the beginning of another call that may continue this one. Returns whether it may be a separate call.
    pub(crate) fn conclude(&mut self, context: &mut EventContext<'_>) -> bool {
        match &self.stop {
            CallEnd::Open | CallEnd::Held(_) => {
                let (rest, complete) = self.call.finalize_or_bail_out(context.state);
                self.release(rest, context);
                complete
            }
            CallEnd::Sent(outcome) => outcome.status == Status::Valid,
            CallEnd::Finalized(status) => !matches!(status, Some(Status::Truncated | Status::Refused)),
        }
    }

    /// Stops reading the arguments, and sends held bytes unchanged.
    pub(crate) fn bail_out(&mut self, reason: &str, context: &mut EventContext<'_>) {
        let rest = self.call.bail_out(reason.to_owned(), context.state);
        self.release(rest, context);
    }

    /// Finalizes the call: sends the held arguments, then the held events. The arguments are cut off with `cut`, and
    /// complete otherwise.
    pub(crate) fn finalize(&mut self, cut: bool, context: &mut EventContext<'_>) {
        let held = match std::mem::replace(&mut self.stop, CallEnd::Finalized(None)) {
            CallEnd::Finalized(status) => {
                self.stop = CallEnd::Finalized(status);
                return;
            }
            CallEnd::Sent(outcome) => {
                let outcome = if cut { outcome.cut_off() } else { *outcome };
                let ending = Ending::from(Some(&outcome));
                self.stop = CallEnd::Finalized(ending.status);
                self.record(outcome, context);
                return self.call.report_end(ending, context);
            }
            CallEnd::Open => None,
            CallEnd::Held(held) => Some(held),
        };
        context.state.held -= held.as_ref().map_or(0, |held| held.size);
        let mut ending = Ending::default();
        if let Some(mut outcome) = self.call.end(cut, context.state) {
            ending = Ending::from(Some(&outcome));
            self.stop = CallEnd::Finalized(ending.status);
            let rest = std::mem::take(&mut outcome.rest);
            if let Some(message) = self.record(outcome, context) {
                return context.fail(self.call.serial, message);
            }
            self.release(rest, context);
        }
        self.call.drop_carrier(context);
        if held.is_some() {
            let (call, status) = (self.call.serial, ending.status);
            context.steps.push(Step::SendHeldEvents { call, status });
        }
        self.call.report_end(ending, context);
    }

    /// Replaces a copy of the arguments in the event.
    pub(crate) fn copy(&self, item: &Item<'_>, context: &mut EventContext<'_>) {
        let status = match &self.stop {
            CallEnd::Finalized(status) => *status,
            CallEnd::Sent(outcome) => Some(outcome.status),
            CallEnd::Open | CallEnd::Held(_) => None,
        };
        context.steps.extend(item.copy(status, context.state));
    }

    /// Sends held arguments.
    pub(crate) fn release(&self, rest: String, context: &mut EventContext<'_>) {
        let in_pieces = self.in_pieces;
        context.release(self.call.serial, || Address::Responses { in_pieces }, rest);
    }

    fn record(&self, outcome: Outcome, context: &mut EventContext<'_>) -> Option<String> {
        let position = Position {
            choice: None,
            index: self.output_index.as_deref().and_then(|index| index.parse().ok()),
        };
        self.call.record(outcome, position, context.state)
    }
}

impl Item<'_> {
    /// Returns the replacement for a copy of the arguments, by the call's status; `None` if the copy is unchanged.
    pub(crate) fn copy(&self, status: Option<Status>, state: &StreamState) -> Option<Step> {
        let (status, value) = (status?, self.arguments.as_ref()?);
        let piece = Piece::from_value(value.text)?;
        let contents = match piece {
            Piece::Text(_) if status != Status::Repaired => return None,
            _ => piece.repaired_copy(state)?,
        };
        let span = value.span.clone();
        Some(Step::Copy { span, contents })
    }
}

/// Maximum number of held events of a call. No real stream has more.
const MAX_HELD_EVENTS: usize = 4;
