//! Chat Completions: calls are told apart by choice and `index`, and end with their choice's `finish_reason`.

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::call::{Call, Conclusion, MORE_OF_ANOTHER, UNREADABLE};
use super::chat_call::{Entry, NamedBy};
use super::chat_event::{Delta, Located};
use super::chat_find::{Found, find};
use super::chat_history::ChoiceHistories;
use super::dialect::is_cut_off;
use super::payload::{Edit, Payload, may_be_read_by_others};
use super::piece::Piece;
use super::shared::Shared;
use crate::sse::Event;

/// The calls under way in a Chat Completions stream.
#[derive(Debug, Default)]
pub(super) struct Chat {
    /// In the order in which their last pieces came.
    calls: Vec<Entry>,
    histories: ChoiceHistories,
}

impl Chat {
    pub(super) fn event(&mut self, event: &Event<'_>, shared: &mut Shared<'_>) {
        if self.calls.is_empty() && !may_call(event.raw()) {
            return shared.send(event.raw());
        }
        if event.raw().len() < SHORT && event.data().is_some_and(|data| data.trim_ascii() == b"[DONE]") {
            self.end(false, shared);
            return shared.send(event.raw());
        }
        let payload = Payload::of(event);
        let located = payload
            .as_ref()
            .and_then(|payload| Some((payload, Located::of(payload.text())?)));
        if let Some((payload, located)) = located {
            return self.located(&located, payload, event, shared);
        }
        if !event.ended() {
            self.end(false, shared);
        } else if payload.is_none() && may_be_read_by_others(event, "arguments") {
            self.give_up(UNREADABLE, shared);
        }
        shared.send(event.raw());
    }

    fn located(
        &mut self,
        located: &Located<'_>,
        payload: &Payload<'_>,
        event: &Event<'_>,
        shared: &mut Shared<'_>,
    ) {
        if self.calls.len() > shared.state.limits.calls || located.deltas.len() > shared.state.limits.calls {
            let reason = shared.state.too_many_calls();
            self.give_up(&reason, shared);
            shared.state.lose(reason);
            return shared.send(event.raw());
        }
        if located.error {
            self.end_where(|_| true, true, &mut [], payload, shared);
        }
        let mut edits = Vec::with_capacity(located.deltas.len());
        for delta in &located.deltas {
            self.delta(delta, event, payload, &mut edits, shared);
        }
        for (choice, reason) in &located.finished {
            let ended = |entry: &Entry| entry.choice == *choice;
            self.end_where(ended, is_cut_off(reason), &mut edits, payload, shared);
        }
        if !event.ended() {
            self.end_where(|_| true, false, &mut edits, payload, shared);
        }
        if !shared.state.failed {
            payload.write(&mut edits, shared.out);
        }
    }

    /// The stream ends, or breaks off: so does every call.
    pub(super) fn end(&mut self, cut: bool, shared: &mut Shared<'_>) {
        let calls = std::mem::take(&mut self.calls);
        self.end_all(calls, cut, None, shared);
    }

    /// The stream cannot be followed any more: what is held leaves as it came.
    pub(super) fn give_up(&mut self, reason: &str, shared: &mut Shared<'_>) {
        for mut entry in std::mem::take(&mut self.calls) {
            let rest = entry.call.give_up(reason.to_owned(), shared.state);
            entry.release(&rest, None, shared);
            let history = self.histories.of(&entry.choice);
            history.ended = true;
            entry.end(false, history, None, shared);
        }
    }

    fn delta(
        &mut self,
        delta: &Delta<'_>,
        event: &Event<'_>,
        payload: &Payload<'_>,
        edits: &mut Vec<Edit>,
        shared: &mut Shared<'_>,
    ) {
        let found = match find(&self.calls, &self.histories, delta) {
            Found::IfIncomplete(at) => self.continue_if_incomplete(at, delta, (edits, payload), shared),
            found => found,
        };
        self.finalize_last(&found, delta, edits, payload, shared);
        let at = match found {
            Found::Same(at) | Found::IfIncomplete(at) => at,
            Found::Unclear => {
                for entry in self.calls.iter_mut().filter(|entry| entry.choice == delta.choice) {
                    let rest = entry
                        .call
                        .give_up("a piece of arguments names no call", shared.state);
                    entry.release(&rest, Some((edits, payload)), shared);
                }
                return;
            }
            Found::New(replaced) => {
                let named_by = self.named_by(delta, replaced.is_some());
                if let Some(at) = replaced {
                    self.replace(at, delta, (edits, payload), shared);
                }
                self.begin(delta, replaced.is_some(), named_by, shared);
                self.calls.len() - 1
            }
        };
        let mut entry = self.calls.remove(at);
        entry.merge(delta);
        if let Some(span) = &delta.arguments
            && let Some(piece) = Piece::of(payload.slice(span))
        {
            if entry.unsure && !entry.call.begun() && piece != Piece::Text("") {
                self.conclude_earlier(&mut entry, piece, (edits, payload), shared);
            }
            let first = !entry.call.begun();
            let contents = entry.call.push(piece, shared);
            edits.push(Edit {
                call: entry.call.serial,
                span: span.clone(),
                contents,
            });
            // More may follow what is not JSON; a rest that nothing names is better than half of it repaired.
            if first
                && entry.named_by == NamedBy::Nothing
                && !entry.call.is_repairing()
                && let Some(rest) = entry.call.leave_if_complete(shared.state)
            {
                entry.release(&rest, Some((edits, payload)), shared);
            }
            entry.call.keep_event(event.raw(), shared.state);
        }
        self.calls.push(entry);
    }

    /// When a piece of another call comes, clients take the one before for done: if it is, all of it must be there.
    fn finalize_last(
        &mut self,
        found: &Found,
        delta: &Delta<'_>,
        edits: &mut [Edit],
        payload: &Payload<'_>,
        shared: &mut Shared<'_>,
    ) {
        let own = |entry: &Entry| entry.choice == delta.choice && entry.legacy == delta.legacy;
        let last = self.calls.iter().rposition(own);
        let same = matches!(found, Found::Same(at) if last == Some(*at)) || matches!(found, Found::Unclear);
        if let Some(entry) = last.and_then(|at| self.calls.get_mut(at))
            && !(same || entry.call.waits() || entry.index.is_none() || delta.index.is_none())
            && let Some(rest) = entry.call.finalize(shared.state)
        {
            entry.release(&rest, Some((edits, payload)), shared);
        }
    }

    /// The first arguments come of a call that may be more of one that is under way. Only what begins like arguments may
    /// be another call while that one is not complete; what it is, is known when that one ends.
    fn conclude_earlier(
        &mut self,
        next: &mut Entry,
        piece: Piece<'_>,
        (edits, payload): (&mut [Edit], &Payload<'_>),
        shared: &mut Shared<'_>,
    ) {
        let own = |entry: &&mut Entry| entry.choice == next.choice && entry.legacy == next.legacy;
        let mut before: Vec<&mut Entry> = self.calls.iter_mut().filter(own).collect();
        before.sort_by_key(|entry| entry.call.serial);
        let (mut incomplete, mut waits) = (false, false);
        let may_wait = piece.begins_arguments() && next.named_by != NamedBy::Nothing;
        for entry in before {
            let rest = if incomplete {
                entry.call.give_up(MORE_OF_ANOTHER, shared.state)
            } else {
                match entry.call.conclude(may_wait, shared.state) {
                    Conclusion::Complete(rest) => rest,
                    Conclusion::Incomplete(rest) => {
                        incomplete = true;
                        rest
                    }
                    Conclusion::Waits => {
                        waits = true;
                        break;
                    }
                }
            };
            entry.release(&rest, Some((edits, payload)), shared);
        }
        let history = self.histories.of(&next.choice);
        history.doubtful |= incomplete;
        if history.doubtful {
            next.call.pass(MORE_OF_ANOTHER, shared.state);
        } else if waits {
            next.call.wait(shared.state);
        }
    }

    /// Whether all that a delta says of its call is of no other one.
    fn is_identified(&self, delta: &Delta<'_>) -> bool {
        let known =
            |entry: &Entry| entry.call.id.is_some() && entry.call.id.as_deref() == delta.id.as_deref();
        delta.index.is_some() && delta.name.is_some() && !self.calls.iter().any(known)
    }

    /// Another call takes the place of this one, which ends; unless it does so only after one that came before, and its
    /// own id still names it then.
    fn replace(
        &mut self,
        at: usize,
        delta: &Delta<'_>,
        (edits, payload): (&mut [Edit], &Payload<'_>),
        shared: &mut Shared<'_>,
    ) {
        let Some(entry) = self.calls.get_mut(at) else {
            return;
        };
        let both = entry.call.id.as_deref().zip(delta.id.as_deref());
        if entry.call.waits() && both.is_some_and(|(own, said)| own != said) {
            return entry.needs_id();
        }
        let mut old = self.calls.remove(at);
        if old.call.waits() {
            let rest = old.call.give_up(MORE_OF_ANOTHER, shared.state);
            old.release(&rest, Some((edits, payload)), shared);
        }
        let history = self.histories.of(&old.choice);
        old.end(false, history, Some((edits, payload)), shared);
    }

    /// How clients will tell the pieces of the call that a delta begins.
    fn named_by(&self, delta: &Delta<'_>, replaces: bool) -> NamedBy {
        let same_key = |entry: &Entry| {
            let own = entry.choice == delta.choice && entry.index.as_deref() == delta.index;
            let same_id = delta.index.is_none()
                && delta.id.is_some()
                && entry.call.id.as_deref() == delta.id.as_deref();
            own && !entry.legacy && (same_id || entry.comes_after_whole(delta))
        };
        let nameless = delta.index.is_none() && delta.id.is_none();
        let reused = |index| self.histories.knows(delta.choice, index);
        if !delta.legacy && (nameless || self.calls.iter().any(same_key)) {
            NamedBy::Nothing
        } else if replaces || delta.index.is_none_or(reused) {
            NamedBy::Id
        } else {
            NamedBy::Index
        }
    }

    fn begin(&mut self, delta: &Delta<'_>, replaces: bool, named_by: NamedBy, shared: &mut Shared<'_>) {
        let ended = self.histories.of(delta.choice).ended;
        self.calls.push(Entry {
            choice: delta.choice.to_owned(),
            index: None,
            legacy: delta.legacy,
            named_by,
            unsure: replaces || ended || !self.is_identified(delta),
            call: Call::new(shared.state, None, String::new()),
        });
    }

    /// A piece has another index or id than the call that it seems to go on with. It does not if that is complete, or if
    /// both are others and it begins like arguments itself.
    fn continue_if_incomplete(
        &mut self,
        at: usize,
        delta: &Delta<'_>,
        (edits, payload): (&mut [Edit], &Payload<'_>),
        shared: &mut Shared<'_>,
    ) -> Found {
        let Some(entry) = self.calls.get_mut(at) else {
            return Found::New(None);
        };
        if let Some(rest) = entry.call.leave_if_complete(shared.state) {
            entry.release(&rest, Some((edits, payload)), shared);
            return if delta.piece.is_some_and(Piece::is_blank) {
                Found::Same(at)
            } else {
                Found::New(None)
            };
        }
        let other_id = delta.id.is_some() && entry.call.id.as_deref() != delta.id.as_deref();
        if other_id && delta.index.is_some() && delta.piece.is_some_and(Piece::begins_arguments) {
            Found::New(None)
        } else {
            Found::Same(at)
        }
    }

    fn end_where(
        &mut self,
        ended: impl Fn(&Entry) -> bool,
        cut: bool,
        edits: &mut [Edit],
        payload: &Payload<'_>,
        shared: &mut Shared<'_>,
    ) {
        let (ended, others) = std::mem::take(&mut self.calls).into_iter().partition(ended);
        self.calls = others;
        self.end_all(ended, cut, Some((edits, payload)), shared);
    }

    /// Ends calls, in the order in which they began: what becomes of one may depend on those before it. An error comes
    /// after all that can leave.
    fn end_all(
        &mut self,
        ended: Vec<Entry>,
        cut: bool,
        mut present: Option<(&mut [Edit], &Payload<'_>)>,
        shared: &mut Shared<'_>,
    ) {
        let last = leaves_first(&ended);
        let mut ends = Vec::with_capacity(ended.len());
        let mut ended: Vec<(Entry, bool)> = ended.into_iter().zip(last).collect();
        ended.sort_by_key(|(entry, _)| entry.call.serial);
        for (mut entry, last) in ended {
            let history = self.histories.of(&entry.choice);
            history.ended = true;
            let end = entry.stop(cut, history, shared);
            ends.push((entry, last, end));
        }
        ends.sort_by_key(|(_, last, end)| (end.is_error(), !last && !end.is_error()));
        for (entry, _, end) in ends {
            let present = present.as_mut().map(|(edits, payload)| (&mut **edits, *payload));
            entry.leave(&end, present, shared);
        }
    }
}

/// Whether the rest of each call leaves first. It does if a piece of that call came last in its choice: clients take the
/// call for done when a piece of another one comes. After a call that waits, what began first leaves first.
fn leaves_first(ended: &[Entry]) -> Vec<bool> {
    // Of each choice: its last call, or `None` when one of its calls waits.
    let mut last: HashMap<&str, Option<u64>> = HashMap::new();
    for Entry { choice, call, .. } in ended {
        let last = last.entry(choice).or_insert(Some(call.serial));
        *last = last.filter(|_| !call.waits()).and(Some(call.serial));
    }
    let is_last = |entry: &Entry| last.get(&*entry.choice) == Some(&Some(entry.call.serial));
    ended.iter().map(is_last).collect()
}

/// Whether an event may say anything of calls: most do not. One search for both `tool_calls` and `function_call`.
fn may_call(raw: &[u8]) -> bool {
    static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("_call"));
    CALL.find(raw).is_some()
}

/// Events above say more than `[DONE]`.
const SHORT: usize = 128;
