//! Responses: calls are items of the output, and their arguments come up to four times: in pieces, and whole when
//! the arguments, the item and the response are done. All copies say the same after the repair, too.

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::call::{MORE_OF_ANOTHER, UNREADABLE};
use super::desk::Desk;
use super::payload::{Edit, Payload, may_be_read_by_others};
use super::responses_call::{Entry, Stop};
use super::responses_event::{Item, Located};
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
    pub(super) fn event(&mut self, event: &Event<'_>, desk: &mut Desk<'_>) {
        let quiet = self
            .entries
            .iter()
            .all(|entry| matches!(entry.stop, Stop::Settled(_)));
        if quiet && !may_call(event.raw()) {
            return desk.send(event.raw());
        }
        let payload = Payload::of(event);
        let located = payload
            .as_ref()
            .and_then(|payload| Some((payload, Located::of(payload.text())?)));
        let Some((payload, located)) = &located else {
            if !event.ended() {
                self.end(false, desk);
            } else if may_be_read_by_others(event, "arguments") {
                self.give_up(UNREADABLE, desk);
            }
            return desk.send(event.raw());
        };
        let limit = desk.ledger.limits.calls;
        if self.entries.len() > limit || located.output.len() > limit {
            let reason = desk.ledger.too_many_calls();
            self.give_up(&reason, desk);
            desk.ledger.lose(reason);
            return desk.send(event.raw());
        }
        let present = Present {
            event,
            payload,
            located,
        };
        match located.kind.as_deref().or(event.name()).unwrap_or_default() {
            "response.output_item.added" => self.added(present, desk),
            "response.function_call_arguments.delta" => self.delta(present, desk),
            "response.function_call_arguments.done" => self.done(present, desk),
            "response.output_item.done" if located.item.is_call() => self.done(present, desk),
            "response.completed" => self.whole(false, present, desk),
            "response.incomplete" | "response.failed" | "response.cancelled" | "error" => {
                self.whole(true, present, desk);
            }
            _ => {
                if !event.ended() {
                    self.end(false, desk);
                }
                desk.send(event.raw());
            }
        }
    }

    /// The stream ends, or breaks off: so does every call.
    pub(super) fn end(&mut self, cut: bool, desk: &mut Desk<'_>) {
        self.settle_where(|_| true, cut, None, desk);
    }

    /// The stream cannot be followed any more: what is held leaves as it came.
    pub(super) fn give_up(&mut self, reason: &str, desk: &mut Desk<'_>) {
        for entry in &mut self.entries {
            entry.give_up(reason, desk);
        }
        self.end(false, desk);
    }

    /// An item begins, so those that are done are complete; and so is one whose place it takes. If that one is not, this
    /// may be more of it.
    fn added(&mut self, present: Present<'_>, desk: &mut Desk<'_>) {
        let item = &present.located.item;
        let mut doubtful = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.is_meant_by(item)) {
            doubtful |= !entry.conclude(desk);
        }
        let complete = |entry: &Entry| !matches!(entry.stop, Stop::Open) || entry.is_meant_by(item);
        self.settle_where(complete, false, None, desk);
        let mut edits = Vec::new();
        if item.is_call() {
            let mut entry = Entry::new(item, desk);
            if doubtful {
                entry.call.pass(MORE_OF_ANOTHER, desk.ledger);
            }
            entry.push(
                item.arguments.as_ref(),
                present.payload,
                present.event,
                &mut edits,
                desk,
            );
            entry.announce(&mut edits, present.payload, desk);
            self.add(entry);
        }
        self.send(present, edits, desk);
    }

    fn delta(&mut self, present: Present<'_>, desk: &mut Desk<'_>) {
        let item = &present.located.item;
        let before = self.entries.len();
        let at = self.find_or_begin(item, desk);
        if at == before && item.output_index.is_none() {
            self.doubt(desk);
        }
        let mut edits = Vec::new();
        if let Some(entry) = self.entries.get_mut(at) {
            match &entry.stop {
                Stop::Open => entry.push(
                    item.delta.as_ref(),
                    present.payload,
                    present.event,
                    &mut edits,
                    desk,
                ),
                Stop::Kept(_) => {
                    entry.give_up(BEHIND_THE_END, desk);
                    entry.settle(false, None, desk);
                }
                Stop::Left(_) | Stop::Settled(_) => {}
            }
        }
        self.send(present, edits, desk);
    }

    /// A call begins that nothing announced and that has no place of its own: in a stream that says another id with every
    /// piece, it is more of the one before, unless that is complete.
    fn doubt(&mut self, desk: &mut Desk<'_>) {
        let Some((last, before)) = self.entries.split_last_mut() else {
            return;
        };
        let mut doubtful = false;
        for entry in before {
            doubtful |= !entry.conclude(desk);
        }
        if doubtful {
            last.call.pass(MORE_OF_ANOTHER, desk.ledger);
        }
    }

    /// The arguments of a call are done, or its item is. Arguments that are not JSON are kept until the stream says
    /// whether they are complete: the item does, or what follows it.
    fn done(&mut self, present: Present<'_>, desk: &mut Desk<'_>) {
        let item = &present.located.item;
        let at = self.find_or_begin(item, desk);
        let Some(entry) = self.entries.get_mut(at) else {
            return desk.send(present.event.raw());
        };
        entry.take_whole(item, present.payload, desk);
        let cut = match item.status.as_deref() {
            Some("completed") => Some(false),
            Some("incomplete") => Some(true),
            _ if !present.event.ended() => Some(false),
            _ => None,
        };
        match cut {
            Some(cut) => entry.settle(cut, None, desk),
            None if entry.keep(present.event, desk) => return,
            None => {}
        }
        let edits = entry.copy(item, present.payload, desk).into_iter().collect();
        self.send(present, edits, desk);
    }

    /// The response is done, one way or another, and says everything again.
    fn whole(&mut self, cut: bool, present: Present<'_>, desk: &mut Desk<'_>) {
        self.settle_where(|_| true, cut, None, desk);
        let mut edits = Vec::new();
        for item in &present.located.output {
            let at = self.find(item).unwrap_or_else(|| self.begin(item, desk));
            if let Some(entry) = self.entries.get_mut(at) {
                entry.take_whole(item, present.payload, desk);
                entry.settle(item.status.as_deref() == Some("incomplete"), None, desk);
                edits.extend(entry.copy(item, present.payload, desk));
            }
        }
        self.send(present, edits, desk);
    }

    fn send(&mut self, present: Present<'_>, mut edits: Vec<Edit>, desk: &mut Desk<'_>) {
        if !present.event.ended() {
            self.settle_where(|_| true, false, Some((&mut edits, present.payload)), desk);
        }
        if !desk.ledger.failed {
            present.payload.write(&mut edits, desk.out);
        }
    }

    fn settle_where(
        &mut self,
        wanted: impl Fn(&Entry) -> bool,
        cut: bool,
        mut present: Option<(&mut Vec<Edit>, &Payload<'_>)>,
        desk: &mut Desk<'_>,
    ) {
        for entry in self.entries.iter_mut().filter(|entry| wanted(entry)) {
            let present = present.as_mut().map(|(edits, payload)| (&mut **edits, *payload));
            entry.settle(cut, present, desk);
        }
    }

    fn find_or_begin(&mut self, item: &Item<'_>, desk: &mut Desk<'_>) -> usize {
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
        let found = found.or_else(|| self.only_open(item, desk));
        found.unwrap_or_else(|| self.begin(item, desk))
    }

    /// What names an item that nothing is known of, and no place, is meant for the only call that is under way, if that
    /// was announced, is not complete, and no piece named it itself.
    fn only_open(&mut self, item: &Item<'_>, desk: &mut Desk<'_>) -> Option<usize> {
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
            && let Some(rest) = entry.call.leave_if_complete(desk.ledger)
        {
            entry.send_rest(&rest, desk);
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

    fn begin(&mut self, item: &Item<'_>, desk: &mut Desk<'_>) -> usize {
        self.add(Entry::new(item, desk))
    }

    fn add(&mut self, entry: Entry) -> usize {
        let at = self.entries.len();
        self.names.add(&entry, at);
        self.entries.push(entry);
        at
    }
}

const BEHIND_THE_END: &str = "arguments came behind their end";

/// Whether an event may begin a call, when none is under way.
fn may_call(raw: &[u8]) -> bool {
    static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("function_call"));
    CALL.find(raw).is_some()
}
