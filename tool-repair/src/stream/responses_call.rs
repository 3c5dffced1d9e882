//! One call of a Responses stream, from its first piece to the last copy of its arguments.

use std::ops::Range;

use super::super::repairer::Status;
use super::call::{Call, Position};
use super::outcome::Outcome;
use super::payload::{Edit, Payload, line_end};
use super::piece::{Piece, repaired_copy};
use super::responses_event::{self, Item, Located};
use super::shared::Shared;
use crate::sse::Event;

#[derive(Debug)]
pub(super) struct Entry {
    /// The id of the item; `call.id` is what the answer will name.
    pub(super) id: Option<String>,
    pub(super) output_index: Option<String>,
    pub(super) call: Call,
    /// Pieces of the arguments came, so that clients put them together.
    in_pieces: bool,
    /// One of the pieces had its own id or place.
    pub(super) named: bool,
    /// All that came of them is what its item was announced with, whole and JSON.
    announced: bool,
    pub(super) stop: Stop,
}

/// How far the end of a call has come.
#[derive(Debug)]
pub(super) enum Stop {
    /// Its arguments are not done.
    Open,
    /// They are, and this left: what they are is known, unless the stream says that they were cut off.
    Left(Box<Outcome>),
    /// They are, and the events that say so are kept back: whether the arguments are repaired depends on what the
    /// stream says next.
    Kept(Vec<Vec<u8>>),
    /// All is known; `None` for a call that is not repaired.
    Finalized(Option<Status>),
}

impl Entry {
    pub(super) fn new(item: &Item<'_>, shared: &mut Shared<'_>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let tool = item.name.as_deref().unwrap_or_default().to_owned();
        Self {
            id: owned(item.id.as_deref()),
            output_index: owned(item.output_index),
            call: Call::new(shared.state, owned(item.call_id.as_deref()), tool),
            in_pieces: false,
            named: false,
            announced: false,
            stop: Stop::Open,
        }
    }

    /// Whether an item is this call by any of its names, and not another's by the one that answers go by.
    pub(super) fn is_meant_by(&self, item: &Item<'_>) -> bool {
        let same = |own: Option<&str>, said: Option<&str>| own.is_some() && own == said;
        let both = self.call.id.as_deref().zip(item.call_id.as_deref());
        if !matches!(self.stop, Stop::Open) && both.is_some_and(|(own, said)| own != said) {
            return false;
        }
        same(self.id.as_deref(), item.id.as_deref())
            || same(self.call.id.as_deref(), item.call_id.as_deref())
            || same(self.output_index.as_deref(), item.output_index)
    }

    /// Takes a piece of the arguments.
    pub(super) fn push(
        &mut self,
        value: Option<&Range<usize>>,
        payload: &Payload<'_>,
        event: &Event<'_>,
        edits: &mut Vec<Edit>,
        shared: &mut Shared<'_>,
    ) {
        if let Some(span) = value
            && let Some(piece) = Piece::of(payload.slice(span))
        {
            if self.announced && !piece.is_blank() {
                self.announced = false;
                let _ = piece.begins_arguments() && self.call.start_over();
            }
            edits.push(Edit {
                call: self.call.serial,
                span: span.clone(),
                contents: self.call.push(piece, shared),
            });
            self.in_pieces |= self.call.begun();
            self.call.keep_event(event.raw(), shared.state);
        }
    }

    /// The item was announced. If it has arguments that are JSON and whole, all of them leave with it: they may be said
    /// again.
    pub(super) fn announce(&mut self, edits: &mut [Edit], payload: &Payload<'_>, shared: &mut Shared<'_>) {
        self.announced = self.call.is_whole();
        if self.announced
            && let Some(rest) = self.call.leave_if_complete(shared.state)
            && let Some(edit) = edits.last_mut()
        {
            edit.append(&rest, payload);
            self.call.keep_event(&[], shared.state);
        }
    }

    /// Takes the arguments as a whole, if none came in pieces.
    pub(super) fn take_whole(&mut self, item: &Item<'_>, payload: &Payload<'_>, shared: &mut Shared<'_>) {
        if !matches!(self.stop, Stop::Open) {
            return;
        }
        if self.announced && item.arguments.is_some() {
            self.in_pieces &= !self.call.start_over();
        }
        if self.call.begun() {
            return;
        }
        if self.call.tool.is_empty()
            && let Some(name) = &item.name
        {
            name.as_ref().clone_into(&mut self.call.tool);
        }
        if let Some(span) = &item.arguments
            && let Some(piece) = Piece::of(payload.slice(span))
        {
            self.call.push(piece, shared);
        }
    }

    /// The stream says that the arguments are done, but not yet whether they were cut off. Returns whether its event
    /// is kept back.
    pub(super) fn keep(&mut self, event: &Event<'_>, shared: &mut Shared<'_>) -> bool {
        match &mut self.stop {
            Stop::Open if !self.call.is_repairing() => {
                self.stop = match self.call.end(false, shared.state) {
                    None => Stop::Finalized(None),
                    Some(outcome) => {
                        self.send_rest(&outcome.rest, shared);
                        self.call.last = Vec::new();
                        Stop::Left(Box::new(outcome))
                    }
                };
                return false;
            }
            Stop::Open => self.stop = Stop::Kept(Vec::new()),
            Stop::Kept(_) => {}
            Stop::Left(_) | Stop::Finalized(_) => return false,
        }
        let raw = event.raw();
        match &mut self.stop {
            Stop::Kept(kept) if kept.len() < EVENTS_KEPT && shared.state.may_hold(raw.len()) => {
                kept.push(raw.to_vec());
                shared.state.held += raw.len();
                true
            }
            _ => {
                let reason = "more is held than may be until the stream says whether it is complete";
                self.give_up(reason, shared);
                self.finalize(false, None, shared);
                false
            }
        }
    }

    /// Another call begins that may be more of this one. Returns whether it may be a call of its own.
    pub(super) fn conclude(&mut self, shared: &mut Shared<'_>) -> bool {
        match &self.stop {
            Stop::Open | Stop::Kept(_) => {
                let (rest, complete) = self.call.leave_or_pass(shared.state);
                self.send_rest(&rest, shared);
                complete
            }
            Stop::Left(outcome) => outcome.status == Status::Valid,
            Stop::Finalized(status) => !matches!(status, Some(Status::Truncated | Status::Refused)),
        }
    }

    /// Stops looking at the arguments: what is held leaves as it came.
    pub(super) fn give_up(&mut self, reason: &str, shared: &mut Shared<'_>) {
        let rest = self.call.give_up(reason.to_owned(), shared.state);
        self.send_rest(&rest, shared);
    }

    /// It is known whether the arguments were cut off. What is still held goes into its piece in the present event,
    /// or out in front of it, and then what was kept back.
    pub(super) fn finalize(
        &mut self,
        cut: bool,
        present: Option<(&mut Vec<Edit>, &Payload<'_>)>,
        shared: &mut Shared<'_>,
    ) {
        let kept = match std::mem::replace(&mut self.stop, Stop::Finalized(None)) {
            Stop::Finalized(status) => {
                self.stop = Stop::Finalized(status);
                return;
            }
            Stop::Left(outcome) => {
                let outcome = if cut { outcome.cut_off() } else { *outcome };
                self.stop = Stop::Finalized(Some(outcome.status));
                self.record(outcome, shared);
                return;
            }
            Stop::Open => Vec::new(),
            Stop::Kept(kept) => kept,
        };
        shared.state.held -= kept.iter().map(Vec::len).sum::<usize>();
        if let Some(outcome) = self.call.end(cut, shared.state) {
            self.stop = Stop::Finalized(Some(outcome.status));
            let rest = outcome.rest.clone();
            if let Some(message) = self.record(outcome, shared) {
                return self.fail(&message, shared);
            }
            let own = |edit: &&mut Edit| edit.call == self.call.serial;
            match present.and_then(|(edits, payload)| Some((edits.iter_mut().rfind(own)?, payload))) {
                Some((edit, payload)) => edit.append(&rest, payload),
                None => self.send_rest(&rest, shared),
            }
        }
        self.call.last = Vec::new();
        for raw in kept {
            self.send_kept(&raw, shared);
        }
    }

    /// What takes the place of a copy of the arguments, once all is known.
    pub(super) fn copy(&self, item: &Item<'_>, payload: &Payload<'_>, shared: &Shared<'_>) -> Option<Edit> {
        let status = match &self.stop {
            Stop::Finalized(status) => (*status)?,
            Stop::Left(outcome) => outcome.status,
            Stop::Open | Stop::Kept(_) => return None,
        };
        let span = item.arguments.clone()?;
        let piece = Piece::of(payload.slice(&span))?;
        let contents = match piece {
            Piece::Text(_) if status != Status::Repaired => return None,
            _ => repaired_copy(piece, shared.state)?,
        };
        Some(Edit {
            call: self.call.serial,
            span,
            contents: Some(contents),
        })
    }

    /// Sends what was held in an event like the last one.
    pub(super) fn send_rest(&self, rest: &str, shared: &mut Shared<'_>) {
        if rest.is_empty() || !self.in_pieces || shared.state.failed {
            return;
        }
        let last = Event::whole(&self.call.last);
        let Some(payload) = Payload::of(&last) else { return };
        let Some(located) = Located::of(payload.text()) else {
            return;
        };
        if let Some(span) = located.item.delta.clone() {
            let edit = Edit {
                call: self.call.serial,
                span,
                contents: Some(rest.to_owned()),
            };
            payload.write(&mut [edit], shared.out);
        } else {
            let event = responses_event::delta(&located, rest, last.name(), line_end(last.raw()));
            shared.send(event.as_bytes());
        }
    }

    fn send_kept(&self, raw: &[u8], shared: &mut Shared<'_>) {
        let event = Event::whole(raw);
        let Some(payload) = Payload::of(&event) else {
            return shared.send(raw);
        };
        let edit = Located::of(payload.text()).and_then(|located| self.copy(&located.item, &payload, shared));
        let mut edits: Vec<Edit> = edit.into_iter().collect();
        if !shared.state.failed {
            payload.write(&mut edits, shared.out);
        }
    }

    fn record(&self, outcome: Outcome, shared: &mut Shared<'_>) -> Option<String> {
        let position = Position {
            choice: None,
            index: self.output_index.as_deref().and_then(|index| index.parse().ok()),
        };
        self.call.record(outcome, position, shared.state)
    }

    fn fail(&self, message: &str, shared: &mut Shared<'_>) {
        let last = Event::whole(&self.call.last);
        let payload = Payload::of(&last);
        let located = payload.as_ref().and_then(|payload| Located::of(payload.text()));
        let number = located.and_then(|located| located.sequence_number);
        shared.fail(&responses_event::error(message, number, line_end(last.raw())));
    }
}

/// How many events of one call are kept back: more than a stream has, so that none grows without end.
const EVENTS_KEPT: usize = 4;
