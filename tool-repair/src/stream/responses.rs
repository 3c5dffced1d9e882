//! Responses: calls are items of the output, and their arguments come up to four times: in pieces, and whole when
//! the arguments, the item and the response are done. All copies say the same after the repair, too.

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::call::{MORE_OF_ANOTHER, UNREADABLE};
use super::payload::{Edit, Payload, may_be_read_by_others};
use super::responses_call::{Entry, Stop};
use super::responses_event::{Item, Located};
use super::shared::Shared;
use crate::sse::Event;

/// The calls of a Responses stream, those that have ended too: copies of their arguments come until the end.
#[derive(Debug, Default)]
pub(super) struct Responses {
    entries: Vec<Entry>,
    names: Names,
}

/// Where the last call of each name is among the entries: a whole response names all of them again.
#[derive(Debug, Default)]
struct Names {
    ids: HashMap<String, usize>,
    call_ids: HashMap<String, usize>,
    output_indexes: HashMap<String, usize>,
}

impl Names {
    fn add(&mut self, entry: &Entry, at: usize) {
        for (names, name) in [
            (&mut self.ids, &entry.id),
            (&mut self.call_ids, &entry.call.id),
            (&mut self.output_indexes, &entry.output_index),
        ] {
            names.extend(name.clone().map(|name| (name, at)));
        }
    }
}

/// One event, read.
#[derive(Clone, Copy)]
struct Present<'a> {
    event: &'a Event<'a>,
    payload: &'a Payload<'a>,
    located: &'a Located<'a>,
}

impl Responses {
    pub(super) fn event(&mut self, event: &Event<'_>, shared: &mut Shared<'_>) {
        let quiet = self
            .entries
            .iter()
            .all(|entry| matches!(entry.stop, Stop::Finalized(_)));
        if quiet && !may_call(event.raw()) {
            return shared.send(event.raw());
        }
        let payload = Payload::of(event);
        let located = payload
            .as_ref()
            .and_then(|payload| Some((payload, Located::of(payload.text())?)));
        let Some((payload, located)) = &located else {
            if !event.ended() {
                self.end(false, shared);
            } else if may_be_read_by_others(event, "arguments") {
                self.give_up(UNREADABLE, shared);
            }
            return shared.send(event.raw());
        };
        let limit = shared.state.limits.calls;
        if self.entries.len() > limit || located.output.len() > limit {
            let reason = shared.state.too_many_calls();
            self.give_up(&reason, shared);
            shared.state.lose(reason);
            return shared.send(event.raw());
        }
        let present = Present {
            event,
            payload,
            located,
        };
        match located.kind.as_deref().or(event.name()).unwrap_or_default() {
            "response.output_item.added" => self.added(present, shared),
            "response.function_call_arguments.delta" => self.delta(present, shared),
            "response.function_call_arguments.done" => self.done(present, shared),
            "response.output_item.done" if located.item.is_call() => self.done(present, shared),
            "response.completed" => self.whole(false, present, shared),
            "response.incomplete" | "response.failed" | "response.cancelled" | "error" => {
                self.whole(true, present, shared);
            }
            _ => {
                if !event.ended() {
                    self.end(false, shared);
                }
                shared.send(event.raw());
            }
        }
    }

    /// The stream ends, or breaks off: so does every call.
    pub(super) fn end(&mut self, cut: bool, shared: &mut Shared<'_>) {
        self.finalize_where(|_| true, cut, None, shared);
    }

    /// The stream cannot be followed any more: what is held leaves as it came.
    pub(super) fn give_up(&mut self, reason: &str, shared: &mut Shared<'_>) {
        for entry in &mut self.entries {
            entry.give_up(reason, shared);
        }
        self.end(false, shared);
    }

    /// An item begins, so those that are done are complete; and so is one whose place it takes. If that one is not, this
    /// may be more of it.
    fn added(&mut self, present: Present<'_>, shared: &mut Shared<'_>) {
        let item = &present.located.item;
        let mut doubtful = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.is_meant_by(item)) {
            doubtful |= !entry.conclude(shared);
        }
        let complete = |entry: &Entry| !matches!(entry.stop, Stop::Open) || entry.is_meant_by(item);
        self.finalize_where(complete, false, None, shared);
        let mut edits = Vec::new();
        if item.is_call() {
            let mut entry = Entry::new(item, shared);
            if doubtful {
                entry.call.pass(MORE_OF_ANOTHER, shared.state);
            }
            entry.push(
                item.arguments.as_ref(),
                present.payload,
                present.event,
                &mut edits,
                shared,
            );
            entry.announce(&mut edits, present.payload, shared);
            self.add(entry);
        }
        self.send(present, edits, shared);
    }

    fn delta(&mut self, present: Present<'_>, shared: &mut Shared<'_>) {
        let item = &present.located.item;
        let before = self.entries.len();
        let at = self.find_or_begin(item, shared);
        if at == before && item.output_index.is_none() {
            self.conclude_earlier(shared);
        }
        let mut edits = Vec::new();
        if let Some(entry) = self.entries.get_mut(at) {
            match &entry.stop {
                Stop::Open => entry.push(
                    item.delta.as_ref(),
                    present.payload,
                    present.event,
                    &mut edits,
                    shared,
                ),
                Stop::Kept(_) => {
                    entry.give_up(AFTER_END, shared);
                    entry.finalize(false, None, shared);
                }
                Stop::Left(_) | Stop::Finalized(_) => {}
            }
        }
        self.send(present, edits, shared);
    }

    /// A call begins that nothing announced and that has no place of its own: in a stream that says another id with every
    /// piece, it is more of the one before, unless that is complete.
    fn conclude_earlier(&mut self, shared: &mut Shared<'_>) {
        let Some((last, before)) = self.entries.split_last_mut() else {
            return;
        };
        let mut doubtful = false;
        for entry in before {
            doubtful |= !entry.conclude(shared);
        }
        if doubtful {
            last.call.pass(MORE_OF_ANOTHER, shared.state);
        }
    }

    /// The arguments of a call are done, or its item is. Arguments that are not JSON are kept until the stream says
    /// whether they are complete: the item does, or what follows it.
    fn done(&mut self, present: Present<'_>, shared: &mut Shared<'_>) {
        let item = &present.located.item;
        let at = self.find_or_begin(item, shared);
        let Some(entry) = self.entries.get_mut(at) else {
            return shared.send(present.event.raw());
        };
        entry.take_whole(item, present.payload, shared);
        let cut = match item.status.as_deref() {
            Some("completed") => Some(false),
            Some("incomplete") => Some(true),
            _ if !present.event.ended() => Some(false),
            _ => None,
        };
        match cut {
            Some(cut) => entry.finalize(cut, None, shared),
            None if entry.keep(present.event, shared) => return,
            None => {}
        }
        let edits = entry.copy(item, present.payload, shared).into_iter().collect();
        self.send(present, edits, shared);
    }

    /// The response is done, one way or another, and says everything again.
    fn whole(&mut self, cut: bool, present: Present<'_>, shared: &mut Shared<'_>) {
        self.finalize_where(|_| true, cut, None, shared);
        let mut edits = Vec::new();
        for item in &present.located.output {
            let at = self.find(item).unwrap_or_else(|| self.begin(item, shared));
            if let Some(entry) = self.entries.get_mut(at) {
                entry.take_whole(item, present.payload, shared);
                entry.finalize(item.status.as_deref() == Some("incomplete"), None, shared);
                edits.extend(entry.copy(item, present.payload, shared));
            }
        }
        self.send(present, edits, shared);
    }

    fn send(&mut self, present: Present<'_>, mut edits: Vec<Edit>, shared: &mut Shared<'_>) {
        if !present.event.ended() {
            self.finalize_where(|_| true, false, Some((&mut edits, present.payload)), shared);
        }
        if !shared.state.failed {
            present.payload.write(&mut edits, shared.out);
        }
    }

    fn finalize_where(
        &mut self,
        wanted: impl Fn(&Entry) -> bool,
        cut: bool,
        mut present: Option<(&mut Vec<Edit>, &Payload<'_>)>,
        shared: &mut Shared<'_>,
    ) {
        for entry in self.entries.iter_mut().filter(|entry| wanted(entry)) {
            let present = present.as_mut().map(|(edits, payload)| (&mut **edits, *payload));
            entry.finalize(cut, present, shared);
        }
    }

    fn find_or_begin(&mut self, item: &Item<'_>, shared: &mut Shared<'_>) -> usize {
        let nameless = item.id.is_none() && item.output_index.is_none() && item.call_id.is_none();
        let found = self.find(item);
        if let Some(entry) = found.and_then(|at| self.entries.get_mut(at)) {
            entry.named |= item.delta.is_some();
        }
        let last = || {
            self.entries
                .iter()
                .rposition(|entry| matches!(entry.stop, Stop::Open))
        };
        let found = found.or_else(|| last().filter(|_| nameless));
        let found = found.or_else(|| self.only_open(item, shared));
        found.unwrap_or_else(|| self.begin(item, shared))
    }

    /// What names an item that nothing is known of, and no place, is meant for the only call that is under way, if that
    /// was announced, is not complete, and no piece named it itself.
    fn only_open(&mut self, item: &Item<'_>, shared: &mut Shared<'_>) -> Option<usize> {
        let open = |entry: &Entry| matches!(entry.stop, Stop::Open);
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
            && let Some(rest) = entry.call.leave_if_complete(shared.state)
        {
            entry.send_rest(&rest, shared);
            return None;
        }
        Some(at)
    }

    /// The call that is meant: by the item's id, by the call's, or by its place in the output. There are streams that
    /// say the call's where the item's belongs.
    fn find(&self, item: &Item<'_>) -> Option<usize> {
        let known = |names: &HashMap<String, usize>, said: Option<&str>| names.get(said?).copied();
        let (id, call_id) = (item.id.as_deref(), item.call_id.as_deref());
        let same = |own: Option<&str>, said: Option<&str>| own.is_some() && own == said;
        let other =
            |own: Option<&str>, said: Option<&str>| own.zip(said).is_some_and(|(own, said)| own != said);
        let is_another = |entry: &Entry| {
            let ids = other(entry.call.id.as_deref(), call_id) && other(entry.id.as_deref(), id);
            ids || other(entry.output_index.as_deref(), item.output_index)
        };
        let crosswise = |entry: &Entry| {
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

    fn begin(&mut self, item: &Item<'_>, shared: &mut Shared<'_>) -> usize {
        self.add(Entry::new(item, shared))
    }

    fn add(&mut self, entry: Entry) -> usize {
        let at = self.entries.len();
        self.names.add(&entry, at);
        self.entries.push(entry);
        at
    }
}

const AFTER_END: &str = "arguments came after their end";

/// Whether an event may begin a call, when none is under way.
fn may_call(raw: &[u8]) -> bool {
    static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("function_call"));
    CALL.find(raw).is_some()
}
