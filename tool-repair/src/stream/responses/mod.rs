//! Dialect of the Responses API, whose calls are items of the output. A stream has their arguments up to four times: in
//! pieces, and whole when the arguments, the item and the response are done. The repair keeps all copies equal.

mod event;
mod call;
pub(crate) mod encode;

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use self::call::{CallEnd, ResponsesCall};
use self::event::{Item, ResponsesEvent};
use crate::stream::call::outcome::{AFTER_END, MORE_OF_ANOTHER};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{Incoming, Reading, Step};

/// All calls of a Responses stream, including ended ones: copies of their arguments follow until the end.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    entries: Vec<ResponsesCall>,
    names: CallNames,
}

/// Position of the last call with each name: a whole response names all calls again.
#[derive(Debug, Default)]
struct CallNames {
    ids: HashMap<String, usize>,
    call_ids: HashMap<String, usize>,
    output_indexes: HashMap<String, usize>,
}

impl CallNames {
    fn add(&mut self, entry: &ResponsesCall, at: usize) {
        for (names, name) in [
            (&mut self.ids, &entry.id),
            (&mut self.call_ids, &entry.call.id),
            (&mut self.output_indexes, &entry.output_index),
        ] {
            names.extend(name.clone().map(|name| (name, at)));
        }
    }
}

impl Responses {
    /// Returns whether an event may concern calls.
    pub(crate) fn concerns(&self, raw: &[u8]) -> bool {
        static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("function_call"));
        let is_over = |entry: &ResponsesCall| matches!(entry.stop, CallEnd::Finalized(_));
        !self.entries.iter().all(is_over) || CALL.find(raw).is_some()
    }

    /// Reads an event, and returns whether it belongs to this dialect.
    pub(crate) fn event(&mut self, event: Incoming<'_>, reading: &mut Reading<'_>) -> bool {
        let Some(located) = ResponsesEvent::parse(event.text) else {
            return false;
        };
        let limit = reading.state.limits.calls;
        if self.entries.len() > limit || located.output.len() > limit {
            let reason = reading.state.too_many_calls();
            self.give_up(&reason, reading);
            reading.state.lose(reason);
            return true;
        }
        match located.kind.as_deref().or(event.name).unwrap_or_default() {
            "response.output_item.added" => self.added(&located.item, reading),
            "response.function_call_arguments.delta" => self.delta(&located.item, reading),
            "response.function_call_arguments.done" => self.done(&located.item, event, reading),
            "response.output_item.done" if located.item.is_call() => {
                self.done(&located.item, event, reading);
            }
            "response.completed" => self.whole(false, &located, reading),
            "response.incomplete" | "response.failed" | "response.cancelled" | "error" => {
                self.whole(true, &located, reading);
            }
            _ => {}
        }
        if !event.ended {
            self.end(false, reading);
        }
        true
    }

    /// Ends every call, when the stream ends or breaks off.
    pub(crate) fn end(&mut self, cut: bool, reading: &mut Reading<'_>) {
        for entry in &mut self.entries {
            entry.finalize(cut, reading);
        }
    }

    /// Stops following the stream; held arguments are sent unchanged.
    pub(crate) fn give_up(&mut self, reason: &str, reading: &mut Reading<'_>) {
        for entry in &mut self.entries {
            entry.give_up(reason, reading);
        }
        self.end(false, reading);
    }

    /// Begins an item. Done items are complete, and so is an earlier item at the same position; if it is not, the new
    /// item may continue it.
    fn added(&mut self, item: &Item<'_>, reading: &mut Reading<'_>) {
        let mut doubtful = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.matches_item(item)) {
            doubtful |= !entry.conclude(reading);
        }
        let complete =
            |entry: &ResponsesCall| !matches!(entry.stop, CallEnd::Open) || entry.matches_item(item);
        for entry in self.entries.iter_mut().filter(|entry| complete(entry)) {
            entry.finalize(false, reading);
        }
        if item.is_call() {
            let mut entry = ResponsesCall::new(item, reading);
            if doubtful {
                entry.call.pass(MORE_OF_ANOTHER, reading.state);
            }
            entry.push(item.arguments.as_ref(), reading);
            entry.announce(reading);
            self.add(entry);
        }
    }

    fn delta(&mut self, item: &Item<'_>, reading: &mut Reading<'_>) {
        let before = self.entries.len();
        let at = self.find_or_begin(item, reading);
        if at == before && item.output_index.is_none() {
            self.conclude_earlier(reading);
        }
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        match &entry.stop {
            CallEnd::Open => entry.push(item.delta.as_ref(), reading),
            CallEnd::Kept(_) => {
                entry.give_up(AFTER_END, reading);
                entry.finalize(false, reading);
            }
            CallEnd::Left(_) | CallEnd::Finalized(_) => {
                let piece = item
                    .delta
                    .as_ref()
                    .and_then(|value| Piece::from_value(value.text));
                if piece.is_some_and(|piece| !piece.is_blank()) {
                    reading.steps.push(Step::Stray);
                }
            }
        }
    }

    /// Handles a call that begins without announcement and position. In a stream with a new id in every piece, it
    /// continues the call before, unless that call is complete.
    fn conclude_earlier(&mut self, reading: &mut Reading<'_>) {
        let Some((last, before)) = self.entries.split_last_mut() else {
            return;
        };
        let mut doubtful = false;
        for entry in before {
            doubtful |= !entry.conclude(reading);
        }
        if doubtful {
            last.call.pass(MORE_OF_ANOTHER, reading.state);
        }
    }

    /// Handles the end of a call's arguments or item. Arguments that are not JSON are held until the stream reports
    /// whether they are complete, in the item or in the next event.
    fn done(&mut self, item: &Item<'_>, event: Incoming<'_>, reading: &mut Reading<'_>) {
        let at = self.find_or_begin(item, reading);
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        entry.take_whole(item, reading);
        let cut = match item.status.as_deref() {
            Some("completed") => Some(false),
            Some("incomplete") => Some(true),
            _ if !event.ended => Some(false),
            _ => None,
        };
        match cut {
            Some(cut) => entry.finalize(cut, reading),
            None if entry.keep(reading) => return,
            None => {}
        }
        entry.copy(item, reading);
    }

    /// Handles the end of the response, which repeats everything.
    fn whole(&mut self, cut: bool, located: &ResponsesEvent<'_>, reading: &mut Reading<'_>) {
        self.end(cut, reading);
        for item in &located.output {
            let at = self.find(item).unwrap_or_else(|| self.begin(item, reading));
            if let Some(entry) = self.entries.get_mut(at) {
                entry.take_whole(item, reading);
                entry.finalize(item.status.as_deref() == Some("incomplete"), reading);
                entry.copy(item, reading);
            }
        }
    }

    fn find_or_begin(&mut self, item: &Item<'_>, reading: &mut Reading<'_>) -> usize {
        let nameless = item.id.is_none() && item.output_index.is_none() && item.call_id.is_none();
        let found = self.find(item);
        if let Some(entry) = found.and_then(|at| self.entries.get_mut(at)) {
            entry.named |= item.delta.is_some();
        }
        let last = || {
            self.entries
                .iter()
                .rposition(|entry| matches!(entry.stop, CallEnd::Open))
        };
        let found = found.or_else(|| last().filter(|_| nameless));
        let found = found.or_else(|| self.only_open(item, reading));
        found.unwrap_or_else(|| self.begin(item, reading))
    }

    /// Finds the only open call for an item with an unknown id and without position, if that call was announced, is
    /// incomplete, and no piece named it.
    fn only_open(&mut self, item: &Item<'_>, reading: &mut Reading<'_>) -> Option<usize> {
        let open = |entry: &ResponsesCall| matches!(entry.stop, CallEnd::Open);
        let at = self.entries.iter().position(open)?;
        let only = self.entries.iter().rposition(open) == Some(at);
        let entry = self.entries.get_mut(at)?;
        if item.kind.is_some()
            || item.output_index.is_some()
            || !only
            || entry.named
            || entry.call.tool.is_empty()
        {
            return None;
        }
        if item.delta.is_some()
            && let Some(rest) = entry.call.leave_if_complete(reading.state)
        {
            entry.release(rest, reading);
            return None;
        }
        Some(at)
    }

    /// Finds the call of an item: by the item's id, by the call's id, or by its position in the output. Some servers
    /// send the call's id as the item's id.
    fn find(&self, item: &Item<'_>) -> Option<usize> {
        let known = |names: &HashMap<String, usize>, received: Option<&str>| names.get(received?).copied();
        let (id, call_id) = (item.id.as_deref(), item.call_id.as_deref());
        let same = |own: Option<&str>, received: Option<&str>| own.is_some() && own == received;
        let other = |own: Option<&str>, received: Option<&str>| {
            own.zip(received).is_some_and(|(own, received)| own != received)
        };
        let is_another = |entry: &ResponsesCall| {
            let ids = other(entry.call.id.as_deref(), call_id) && other(entry.id.as_deref(), id);
            ids || other(entry.output_index.as_deref(), item.output_index)
        };
        let crosswise = |entry: &ResponsesCall| {
            let crossed = same(entry.call.id.as_deref(), id) || same(entry.id.as_deref(), call_id);
            crossed && !is_another(entry)
        };
        let names = &self.names;
        known(&names.ids, id)
            .or_else(|| known(&names.call_ids, call_id))
            .or_else(|| known(&names.output_indexes, item.output_index))
            .or_else(|| {
                known(&names.call_ids, id).or_else(|| known(&names.ids, call_id))?;
                self.entries.iter().rposition(crosswise)
            })
    }

    fn begin(&mut self, item: &Item<'_>, reading: &mut Reading<'_>) -> usize {
        self.add(ResponsesCall::new(item, reading))
    }

    fn add(&mut self, entry: ResponsesCall) -> usize {
        let at = self.entries.len();
        self.names.add(&entry, at);
        self.entries.push(entry);
        at
    }
}
