//! A call of a Responses stream, from its first piece to the last copy of its arguments.

use super::event::Item;
use crate::repairer::Status;
use crate::stream::call::outcome::{Ending, Outcome};
use crate::stream::call::piece::Piece;
use crate::stream::call::state::StreamState;
use crate::stream::call::step::{Address, Reading, Step};
use crate::stream::call::{Call, Position};
use crate::stream::json::cursor::Spanned;

#[derive(Debug)]
pub(crate) struct ResponsesCall {
    /// Id of the item; `call.id` is the id for the result.
    pub(crate) id: Option<String>,
    pub(crate) output_index: Option<String>,
    pub(crate) call: Call,
    /// Whether pieces of the arguments were sent, which clients join.
    in_pieces: bool,
    /// Whether a piece had an id or a position.
    pub(crate) named: bool,
    /// Whether the announcement of the item had all arguments, as complete JSON.
    announced: bool,
    pub(crate) stop: CallEnd,
}

/// Progress of a call's end.
#[derive(Debug)]
pub(crate) enum CallEnd {
    /// The arguments are not done.
    Open,
    /// The arguments are done and were sent. The outcome is known, unless the stream reports that they were cut off.
    Left(Box<Outcome>),
    /// The arguments are done, and the events with their end are held: the next events decide whether the arguments
    /// are repaired.
    Kept(Kept),
    /// The outcome is known; `None` for a call that is not repaired.
    Finalized(Option<Status>),
}

/// Held events of a call.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    events: usize,
    size: usize,
}

impl ResponsesCall {
    pub(crate) fn new(item: &Item<'_>, reading: &mut Reading<'_>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let tool = item.name.as_deref().unwrap_or_default().to_owned();
        let call = Call::new(reading.state, owned(item.call_id.as_deref()), tool);
        call.report(None, reading);
        Self {
            id: owned(item.id.as_deref()),
            output_index: owned(item.output_index),
            call,
            in_pieces: false,
            named: false,
            announced: false,
            stop: CallEnd::Open,
        }
    }

    /// Returns whether an item has one of the names of this call, and not another call's `call_id`.
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

    /// Takes a piece of the arguments.
    pub(crate) fn push(&mut self, value: Option<&Spanned<'_>>, reading: &mut Reading<'_>) {
        if let Some(value) = value
            && let Some(piece) = Piece::from_value(value.text)
        {
            if self.announced && !piece.is_blank() {
                self.announced = false;
                let _ = piece.begins_arguments() && self.call.start_over(reading);
            }
            let contents = self.call.push(piece, reading.state);
            let (call, span) = (self.call.serial, value.span.clone());
            reading.steps.push(Step::Piece { call, span, contents });
            self.in_pieces |= self.call.begun();
            self.call.keep_carrier(reading);
        }
    }

    /// Handles the announcement of the item. Arguments in it that are complete JSON are sent with it: they may be
    /// repeated.
    pub(crate) fn announce(&mut self, reading: &mut Reading<'_>) {
        self.announced = self.call.is_whole();
        if self.announced
            && let Some(rest) = self.call.leave_if_complete(reading.state)
        {
            self.release(rest, reading);
            self.call.keep_carrier(reading);
        }
    }

    /// Takes all of the arguments, if no pieces were sent.
    pub(crate) fn take_whole(&mut self, item: &Item<'_>, reading: &mut Reading<'_>) {
        if !matches!(self.stop, CallEnd::Open) {
            return;
        }
        if self.announced && item.arguments.is_some() {
            self.in_pieces &= !self.call.start_over(reading);
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
            let contents = self.call.push(piece, reading.state);
            let contents = contents.unwrap_or_else(|| piece.contents());
            let call = self.call.serial;
            reading.steps.push(Step::Whole { call, contents });
        }
    }

    /// Handles the end of the arguments, before the stream reports whether they were cut off. Returns whether the
    /// event is held; otherwise the outcome is known.
    pub(crate) fn keep(&mut self, reading: &mut Reading<'_>) -> bool {
        match &mut self.stop {
            CallEnd::Open if !self.call.is_repairing() => {
                self.stop = match self.call.end(false, reading.state) {
                    None => {
                        self.call.ended(Ending::default(), reading);
                        CallEnd::Finalized(None)
                    }
                    Some(mut outcome) => {
                        let rest = std::mem::take(&mut outcome.rest);
                        self.release(rest, reading);
                        self.call.drop_carrier(reading);
                        CallEnd::Left(Box::new(outcome))
                    }
                };
                return false;
            }
            CallEnd::Open => self.stop = CallEnd::Kept(Kept::default()),
            CallEnd::Kept(_) => {}
            CallEnd::Left(_) | CallEnd::Finalized(_) => return false,
        }
        match &mut self.stop {
            CallEnd::Kept(kept) if kept.events < EVENTS_KEPT && reading.state.may_hold(reading.size) => {
                kept.events += 1;
                kept.size += reading.size;
                reading.state.held += reading.size;
                let call = self.call.serial;
                reading.steps.push(Step::Keep { call });
                true
            }
            _ => {
                let reason = "too many bytes are held before the stream reports whether the call is complete";
                self.give_up(reason, reading);
                self.finalize(false, reading);
                false
            }
        }
    }

    /// Handles the beginning of another call that may continue this one. Returns whether it may be a separate call.
    pub(crate) fn conclude(&mut self, reading: &mut Reading<'_>) -> bool {
        match &self.stop {
            CallEnd::Open | CallEnd::Kept(_) => {
                let (rest, complete) = self.call.leave_or_pass(reading.state);
                self.release(rest, reading);
                complete
            }
            CallEnd::Left(outcome) => outcome.status == Status::Valid,
            CallEnd::Finalized(status) => !matches!(status, Some(Status::Truncated | Status::Refused)),
        }
    }

    /// Stops reading the arguments, and sends held bytes unchanged.
    pub(crate) fn give_up(&mut self, reason: &str, reading: &mut Reading<'_>) {
        let rest = self.call.give_up(reason.to_owned(), reading.state);
        self.release(rest, reading);
    }

    /// Finalizes the call after it is known whether the arguments were cut off: sends held arguments, then the held
    /// events.
    pub(crate) fn finalize(&mut self, cut: bool, reading: &mut Reading<'_>) {
        let kept = match std::mem::replace(&mut self.stop, CallEnd::Finalized(None)) {
            CallEnd::Finalized(status) => {
                self.stop = CallEnd::Finalized(status);
                return;
            }
            CallEnd::Left(outcome) => {
                let outcome = if cut { outcome.cut_off() } else { *outcome };
                let ending = Ending::from(Some(&outcome));
                self.stop = CallEnd::Finalized(ending.status);
                self.record(outcome, reading);
                return self.call.ended(ending, reading);
            }
            CallEnd::Open => None,
            CallEnd::Kept(kept) => Some(kept),
        };
        reading.state.held -= kept.as_ref().map_or(0, |kept| kept.size);
        let mut ending = Ending::default();
        if let Some(mut outcome) = self.call.end(cut, reading.state) {
            ending = Ending::from(Some(&outcome));
            self.stop = CallEnd::Finalized(ending.status);
            let rest = std::mem::take(&mut outcome.rest);
            if let Some(message) = self.record(outcome, reading) {
                return reading.fail(self.call.serial, message);
            }
            self.release(rest, reading);
        }
        self.call.drop_carrier(reading);
        if kept.is_some() {
            let (call, copies) = (self.call.serial, ending.status);
            reading.steps.push(Step::LetGo { call, copies });
        }
        self.call.ended(ending, reading);
    }

    /// Replaces a copy of the arguments in the event.
    pub(crate) fn copy(&self, item: &Item<'_>, reading: &mut Reading<'_>) {
        let status = match &self.stop {
            CallEnd::Finalized(status) => *status,
            CallEnd::Left(outcome) => Some(outcome.status),
            CallEnd::Open | CallEnd::Kept(_) => None,
        };
        reading.steps.extend(item.copy(status, reading.state));
    }

    /// Sends held arguments.
    pub(crate) fn release(&self, rest: String, reading: &mut Reading<'_>) {
        let in_pieces = self.in_pieces;
        reading.release(self.call.serial, || Address::Responses { in_pieces }, rest);
    }

    fn record(&self, outcome: Outcome, reading: &mut Reading<'_>) -> Option<String> {
        let position = Position {
            choice: None,
            index: self.output_index.as_deref().and_then(|index| index.parse().ok()),
        };
        self.call.record(outcome, position, reading.state)
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

/// Maximum number of held events of a call, more than a stream has.
const EVENTS_KEPT: usize = 4;
