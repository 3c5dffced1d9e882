//! [`Editor`]: applies the steps of the reader to the bytes of a stream.

use std::collections::HashMap;

use crate::sse::Event;
use crate::stream::call::UNREADABLE;
use crate::stream::call::step::{Address, Incoming, Step};
use crate::stream::json::payload::{Edit, Payload, may_be_read_by_others};
use crate::stream::read::reader::Reader;

/// Output of a stream: events are sent unchanged, except for strings with arguments.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    steps: Vec<Step>,
    /// Event with the last piece of a call, by call, while arguments are held.
    carriers: HashMap<u64, Vec<u8>>,
    /// Events that must not be sent before the outcome of a call is known, by call.
    kept: HashMap<u64, Vec<Vec<u8>>>,
    /// Whether the stream ended with an error, after which nothing is sent.
    failed: bool,
}

/// The current event.
struct Present<'a> {
    event: &'a Event<'a>,
    payload: Option<Payload<'a>>,
    edits: Vec<Edit>,
    /// Whether the event is sent later.
    is_kept: bool,
}

impl Editor {
    /// Sends bytes, unless the stream has ended with an error.
    pub(crate) fn send(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if !self.failed {
            out.extend_from_slice(bytes);
        }
    }

    /// Reads an event, and sends the bytes that can be sent.
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
            let incoming = Incoming {
                name: event.name(),
                text: payload.text(),
                ended: event.ended(),
            };
            reader.read(incoming, raw.len(), &mut self.steps)
        });
        if !is_read {
            if is_done || !event.ended() {
                reader.end(false, &mut self.steps);
            } else if payload.is_none() && may_be_read_by_others(event, reader.key()) {
                reader.give_up(UNREADABLE, &mut self.steps);
            }
        }
        let mut present = Present {
            event,
            payload,
            edits: Vec::new(),
            is_kept: false,
        };
        self.take_steps(Some(&mut present), reader, out);
        if self.failed || present.is_kept {
            return;
        }
        match &present.payload {
            Some(payload) => payload.write(&mut present.edits, out),
            None => out.extend_from_slice(raw),
        }
    }

    /// Ends all calls, and sends the held bytes.
    pub(crate) fn end(&mut self, cut: bool, reader: &mut Reader, out: &mut Vec<u8>) {
        reader.end(cut, &mut self.steps);
        self.take_steps(None, reader, out);
    }

    /// Ends all calls of a stream that cannot be read. Held arguments are sent unchanged.
    pub(crate) fn give_up(&mut self, reason: &str, reader: &mut Reader, out: &mut Vec<u8>) {
        reader.give_up(reason, &mut self.steps);
        self.take_steps(None, reader, out);
    }

    fn take_steps(&mut self, mut present: Option<&mut Present<'_>>, reader: &Reader, out: &mut Vec<u8>) {
        let mut steps = std::mem::take(&mut self.steps);
        for step in steps.drain(..) {
            self.step(step, present.as_deref_mut(), reader, out);
        }
        self.steps = steps;
    }

    fn step(&mut self, step: Step, present: Option<&mut Present<'_>>, reader: &Reader, out: &mut Vec<u8>) {
        match (step, present) {
            (Step::Piece { call, span, contents }, Some(present)) => {
                present.edits.push(Edit { call, span, contents });
            }
            (Step::Copy { span, contents }, Some(present)) => present.edits.push(Edit {
                call: 0,
                span,
                contents: Some(contents),
            }),
            (Step::Release { call, address, rest }, present) => {
                self.release(call, &address, &rest, present, out);
            }
            (Step::Carrier { call, holds: true }, Some(present)) => {
                let carrier = self.carriers.entry(call).or_default();
                carrier.clear();
                carrier.extend_from_slice(present.event.raw());
            }
            (Step::Carrier { call, .. }, _) => {
                self.carriers.remove(&call);
            }
            (Step::Keep { call }, Some(present)) => {
                present.is_kept = true;
                let kept = self.kept.entry(call).or_default();
                kept.push(present.event.raw().to_vec());
            }
            (Step::LetGo { call, copies }, _) => {
                for raw in self.kept.remove(&call).unwrap_or_default() {
                    if !self.failed {
                        reader.dialect().encode_kept(&raw, copies, &reader.state, out);
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

    /// Sends held arguments: in the call's piece of the current event, or in an event like the event with the call's
    /// last piece.
    fn release(
        &self,
        call: u64,
        address: &Address,
        rest: &str,
        present: Option<&mut Present<'_>>,
        out: &mut Vec<u8>,
    ) {
        if let Some(present) = present
            && let Some(payload) = &present.payload
            && let Some(edit) = present.edits.iter_mut().rfind(|edit| edit.call == call)
        {
            return edit.append(rest, payload);
        }
        if self.failed {
            return;
        }
        address.encode_rest(rest, self.carrier(call), out);
    }

    /// Sends an error in the stream's own form, as its last event.
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
