//! [`Editor`]: applies the steps of the reader to the bytes of a stream.

use std::collections::HashMap;

use crate::sse::Event;
use crate::stream::call::UNREADABLE;
use crate::stream::call::step::{Address, RawEvent, Step};
use crate::stream::json::payload::{Edit, Payload, may_be_read_by_others};
use crate::stream::read::reader::Reader;

/// Writes the output of a stream: events are sent unchanged, except for strings with arguments.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    steps: Vec<Step>,
    /// Events with the last piece of each call whose arguments are held, by call.
    carriers: HashMap<u64, Vec<u8>>,
    /// Held events, by the call whose outcome decides about them.
    held_events: HashMap<u64, Vec<Vec<u8>>>,
    /// Whether the stream ended with an error. No bytes are sent after the error.
    failed: bool,
}

/// The current event.
struct CurrentEvent<'a> {
    event: &'a Event<'a>,
    payload: Option<Payload<'a>>,
    edits: Vec<Edit>,
    /// Whether the event is sent later.
    is_held: bool,
}

impl Editor {
    /// Sends bytes, unless the stream has ended with an error.
    pub(crate) fn send(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if !self.failed {
            out.extend_from_slice(bytes);
        }
    }

    /// Handles an event, and sends the bytes that can be sent.
    pub(crate) fn event(&mut self, event: &Event<'_>, reader: &mut Reader, out: &mut Vec<u8>) {
        let raw = event.raw();
        if !reader.concerns(raw) {
            return self.send(raw, out);
        }
        let is_done = reader.has_done()
            && raw.len() < MAX_DONE_SIZE
            && event.data().is_some_and(|data| data.trim_ascii() == b"[DONE]");
        let payload = if is_done { None } else { Payload::parse(event) };
        let is_read = payload.as_ref().is_some_and(|payload| {
            let raw_event = RawEvent {
                name: event.name(),
                text: payload.text(),
                ended: event.ended(),
            };
            reader.read(raw_event, raw.len(), &mut self.steps)
        });
        if !is_read {
            if is_done || !event.ended() {
                reader.end(false, &mut self.steps);
            } else if payload.is_none() && may_be_read_by_others(event, reader.key()) {
                reader.bail_out(UNREADABLE, &mut self.steps);
            }
        }
        let mut current = CurrentEvent {
            event,
            payload,
            edits: Vec::new(),
            is_held: false,
        };
        self.take_steps(Some(&mut current), reader, out);
        if self.failed || current.is_held {
            return;
        }
        match &current.payload {
            Some(payload) => payload.write(&mut current.edits, out),
            None => out.extend_from_slice(raw),
        }
    }

    /// Ends all calls, and sends the held bytes.
    pub(crate) fn end(&mut self, cut: bool, reader: &mut Reader, out: &mut Vec<u8>) {
        reader.end(cut, &mut self.steps);
        self.take_steps(None, reader, out);
    }

    /// Ends all calls of a stream that cannot be read. Held arguments are sent unchanged.
    pub(crate) fn bail_out(&mut self, reason: &str, reader: &mut Reader, out: &mut Vec<u8>) {
        reader.bail_out(reason, &mut self.steps);
        self.take_steps(None, reader, out);
    }

    fn take_steps(&mut self, mut current: Option<&mut CurrentEvent<'_>>, reader: &Reader, out: &mut Vec<u8>) {
        let mut steps = std::mem::take(&mut self.steps);
        for step in steps.drain(..) {
            self.step(step, current.as_deref_mut(), reader, out);
        }
        self.steps = steps;
    }

    fn step(
        &mut self,
        step: Step,
        current: Option<&mut CurrentEvent<'_>>,
        reader: &Reader,
        out: &mut Vec<u8>,
    ) {
        match (step, current) {
            (Step::Piece { call, span, contents }, Some(current)) => {
                current.edits.push(Edit { call, span, contents });
            }
            (Step::Copy { span, contents }, Some(current)) => current.edits.push(Edit {
                call: 0,
                span,
                contents: Some(contents),
            }),
            (Step::Release { call, address, rest }, current) => {
                self.release(call, &address, &rest, current, out);
            }
            (Step::Carrier { call, holds: true }, Some(current)) => {
                let carrier = self.carriers.entry(call).or_default();
                carrier.clear();
                carrier.extend_from_slice(current.event.raw());
            }
            (Step::Carrier { call, .. }, _) => {
                self.carriers.remove(&call);
            }
            (Step::HoldEvent { call }, Some(current)) => {
                current.is_held = true;
                let kept = self.held_events.entry(call).or_default();
                kept.push(current.event.raw().to_vec());
            }
            (Step::SendHeldEvents { call, status }, _) => {
                for raw in self.held_events.remove(&call).unwrap_or_default() {
                    if !self.failed {
                        reader.dialect().encode_held(&raw, status, &reader.state, out);
                    }
                }
            }
            (Step::Fail { call, message }, _) => self.fail(call, &message, reader, out),
            (Step::Ended(ended), _) => {
                self.carriers.remove(&ended.call);
            }
            _ => {}
        }
    }

    /// Sends held arguments in the call's piece of the current event. If the current event has no such piece, an
    /// additional event is modelled on the event with the call's last piece.
    fn release(
        &self,
        call: u64,
        address: &Address,
        rest: &str,
        current: Option<&mut CurrentEvent<'_>>,
        out: &mut Vec<u8>,
    ) {
        if let Some(current) = current
            && let Some(payload) = &current.payload
            && let Some(edit) = current.edits.iter_mut().rfind(|edit| edit.call == call)
        {
            return edit.append(rest, payload);
        }
        if self.failed {
            return;
        }
        address.encode_rest(rest, self.carrier(call), out);
    }

    /// Sends an error in the form of the stream's API, as the last event.
    fn fail(&mut self, call: u64, message: &str, reader: &Reader, out: &mut Vec<u8>) {
        let error = reader.dialect().encode_error(message, self.carrier(call));
        self.send(error.as_bytes(), out);
        self.failed = true;
    }

    fn carrier(&self, call: u64) -> &[u8] {
        self.carriers.get(&call).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Maximum size of a `[DONE]` event.
const MAX_DONE_SIZE: usize = 128;
