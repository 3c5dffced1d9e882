//! Dialect of Chat Completions: choice and `index` identify a call, and the choice's `finish_reason` ends its calls.

mod event;
mod history;
mod call;
mod find;
pub(crate) mod encode;

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use self::call::{ChatCall, NamedBy};
use self::event::{ChatEvent, Delta};
use self::find::{Found, find};
use self::history::ChoiceHistories;
use crate::stream::call::outcome::{MORE_OF_ANOTHER, NAMES_NO_CALL};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{Incoming, Reading, Step};
use crate::stream::call::stop_reason::is_cut_off;
use crate::stream::call::{Call, Conclusion};

/// Open calls in a Chat Completions stream.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    /// Calls in the order of their last pieces.
    calls: Vec<ChatCall>,
    histories: ChoiceHistories,
}

impl Chat {
    /// Returns whether an event may concern calls; most events do not. A single search finds both `tool_calls` and
    /// `function_call`.
    pub(crate) fn concerns(&self, raw: &[u8]) -> bool {
        static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("_call"));
        !self.calls.is_empty() || CALL.find(raw).is_some()
    }

    /// Reads an event, and returns whether it belongs to this dialect.
    pub(crate) fn event(&mut self, event: Incoming<'_>, reading: &mut Reading<'_>) -> bool {
        let Some(located) = ChatEvent::parse(event.text) else {
            return false;
        };
        let limit = reading.state.limits.calls;
        if self.calls.len() > limit || located.deltas.len() > limit {
            let reason = reading.state.too_many_calls();
            self.give_up(&reason, reading);
            reading.state.lose(reason);
            return true;
        }
        if located.error {
            self.end(true, reading);
        }
        for delta in &located.deltas {
            self.delta(delta, reading);
        }
        for (choice, reason) in &located.finished {
            self.end_where(|entry| entry.choice == *choice, is_cut_off(reason), reading);
        }
        if !event.ended {
            self.end(false, reading);
        }
        true
    }

    /// Ends every call, when the stream ends or breaks off.
    pub(crate) fn end(&mut self, cut: bool, reading: &mut Reading<'_>) {
        self.end_where(|_| true, cut, reading);
    }

    /// Stops following the stream; held arguments are sent unchanged.
    pub(crate) fn give_up(&mut self, reason: &str, reading: &mut Reading<'_>) {
        for mut entry in std::mem::take(&mut self.calls) {
            let rest = entry.call.give_up(reason.to_owned(), reading.state);
            entry.release(rest, reading);
            let history = self.histories.get_mut(&entry.choice);
            history.ended = true;
            entry.end(false, history, reading);
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, reading: &mut Reading<'_>) {
        let found = match find(&self.calls, &self.histories, delta) {
            Found::IfIncomplete(at) => self.continue_if_incomplete(at, delta, reading),
            found => found,
        };
        self.finalize_last(&found, delta, reading);
        let at = match found {
            Found::Same(at) | Found::IfIncomplete(at) => at,
            Found::Unclear => {
                for entry in self.calls.iter_mut().filter(|entry| entry.choice == delta.choice) {
                    let rest = entry.call.give_up(NAMES_NO_CALL, reading.state);
                    entry.release(rest, reading);
                }
                reading.steps.push(Step::Stray);
                return;
            }
            Found::New(replaced) => {
                let named_by = self.named_by(delta, replaced.is_some());
                if let Some(at) = replaced {
                    self.replace(at, delta, reading);
                }
                self.begin(delta, replaced.is_some(), named_by, reading);
                self.calls.len() - 1
            }
        };
        let mut entry = self.calls.remove(at);
        entry.merge(delta);
        if matches!(found, Found::New(_)) {
            entry.call.report(entry.choice.parse().ok(), reading);
        }
        if let Some(span) = &delta.arguments
            && let Some(piece) = delta.piece
        {
            if entry.unsure && !entry.call.begun() && piece != Piece::Text("") {
                self.conclude_earlier(&mut entry, piece, reading);
            }
            let first = !entry.call.begun();
            let contents = entry.call.push(piece, reading.state);
            let (call, span) = (entry.call.serial, span.clone());
            reading.steps.push(Step::Piece { call, span, contents });
            // Arguments that are not JSON may continue; a nameless rest is better than a partly repaired one.
            if first
                && entry.named_by == NamedBy::Nothing
                && !entry.call.is_repairing()
                && let Some(rest) = entry.call.leave_if_complete(reading.state)
            {
                entry.release(rest, reading);
            }
            entry.call.keep_carrier(reading);
        }
        self.calls.push(entry);
    }

    /// Finalizes the call of the last piece. Clients treat a call as complete when a piece of another call arrives,
    /// so all its arguments must have been sent.
    fn finalize_last(&mut self, found: &Found, delta: &Delta<'_>, reading: &mut Reading<'_>) {
        let own = |entry: &ChatCall| entry.choice == delta.choice && entry.legacy == delta.legacy;
        let last = self.calls.iter().rposition(own);
        let same = matches!(found, Found::Same(at) if last == Some(*at)) || matches!(found, Found::Unclear);
        if let Some(entry) = last.and_then(|at| self.calls.get_mut(at))
            && !(same || entry.call.waits() || entry.index.is_none() || delta.index.is_none())
            && let Some(rest) = entry.call.finalize(reading.state)
        {
            entry.release(rest, reading);
        }
    }

    /// Handles the first arguments of a call that may continue an open one. While the open call is incomplete, only a
    /// piece that begins like arguments may be another call; this is decided when the open call ends.
    fn conclude_earlier(&mut self, next: &mut ChatCall, piece: Piece<'_>, reading: &mut Reading<'_>) {
        let own = |entry: &&mut ChatCall| entry.choice == next.choice && entry.legacy == next.legacy;
        let mut before: Vec<&mut ChatCall> = self.calls.iter_mut().filter(own).collect();
        before.sort_by_key(|entry| entry.call.serial);
        let (mut incomplete, mut waits) = (false, false);
        let may_wait = piece.begins_arguments() && next.named_by != NamedBy::Nothing;
        for entry in before {
            let rest = if incomplete {
                entry.call.give_up(MORE_OF_ANOTHER, reading.state)
            } else {
                match entry.call.conclude(may_wait, reading.state) {
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
            entry.release(rest, reading);
        }
        let history = self.histories.get_mut(&next.choice);
        history.doubtful |= incomplete;
        if history.doubtful {
            next.call.pass(MORE_OF_ANOTHER, reading.state);
        } else if waits {
            next.call.wait(reading.state);
        }
    }

    /// Returns whether no open call has any of the names in a delta.
    fn is_identified(&self, delta: &Delta<'_>) -> bool {
        let known =
            |entry: &ChatCall| entry.call.id.is_some() && entry.call.id.as_deref() == delta.id.as_deref();
        delta.index.is_some() && delta.name.is_some() && !self.calls.iter().any(known)
    }

    /// Replaces a call by another one and ends it, unless it has to end after an earlier call, and its own id still
    /// identifies it then.
    fn replace(&mut self, at: usize, delta: &Delta<'_>, reading: &mut Reading<'_>) {
        let Some(entry) = self.calls.get_mut(at) else {
            return;
        };
        let both = entry.call.id.as_deref().zip(delta.id.as_deref());
        if entry.call.waits() && both.is_some_and(|(own, received)| own != received) {
            return entry.needs_id();
        }
        let mut old = self.calls.remove(at);
        if old.call.waits() {
            let rest = old.call.give_up(MORE_OF_ANOTHER, reading.state);
            old.release(rest, reading);
        }
        let history = self.histories.get_mut(&old.choice);
        old.end(false, history, reading);
    }

    /// Returns the names by which clients will identify the pieces of the call that a delta begins.
    fn named_by(&self, delta: &Delta<'_>, replaces: bool) -> NamedBy {
        let same_key = |entry: &ChatCall| {
            let own = entry.choice == delta.choice && entry.index.as_deref() == delta.index;
            let same_id = delta.index.is_none()
                && delta.id.is_some()
                && entry.call.id.as_deref() == delta.id.as_deref();
            own && !entry.legacy && (same_id || entry.follows_complete(delta))
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

    fn begin(&mut self, delta: &Delta<'_>, replaces: bool, named_by: NamedBy, reading: &mut Reading<'_>) {
        let ended = self.histories.get_mut(delta.choice).ended;
        self.calls.push(ChatCall {
            choice: delta.choice.to_owned(),
            index: None,
            legacy: delta.legacy,
            named_by,
            unsure: replaces || ended || !self.is_identified(delta),
            call: Call::new(reading.state, None, String::new()),
        });
    }

    /// Handles a piece with another index or id than the call that it seems to continue. The piece begins another
    /// call if that call is complete, or if both names differ and the piece begins like arguments.
    fn continue_if_incomplete(&mut self, at: usize, delta: &Delta<'_>, reading: &mut Reading<'_>) -> Found {
        let Some(entry) = self.calls.get_mut(at) else {
            return Found::New(None);
        };
        if let Some(rest) = entry.call.leave_if_complete(reading.state) {
            entry.release(rest, reading);
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

    /// Ends calls in the order in which they began, since the outcome of a call may depend on earlier ones. An error
    /// is sent after everything else that can be sent.
    fn end_where(&mut self, ended: impl Fn(&ChatCall) -> bool, cut: bool, reading: &mut Reading<'_>) {
        let (ended, others) = std::mem::take(&mut self.calls).into_iter().partition(ended);
        self.calls = others;
        let ended: Vec<ChatCall> = ended;
        let last = leaves_first(&ended);
        let mut ends = Vec::with_capacity(ended.len());
        let mut ended: Vec<(ChatCall, bool)> = ended.into_iter().zip(last).collect();
        ended.sort_by_key(|(entry, _)| entry.call.serial);
        for (mut entry, last) in ended {
            let history = self.histories.get_mut(&entry.choice);
            history.ended = true;
            let end = entry.stop(cut, history, reading);
            ends.push((entry, last, end));
        }
        ends.sort_by_key(|(_, last, end)| (end.is_error(), !last && !end.is_error()));
        for (entry, _, end) in ends {
            entry.leave(end, reading);
        }
    }
}

/// Returns for each call whether its rest is sent first. The call with the last piece of its choice is first, since
/// clients treat a call as complete when a piece of another call arrives. After a waiting call, all calls are sent in
/// the order in which they began.
fn leaves_first(ended: &[ChatCall]) -> Vec<bool> {
    // The last call of each choice, or `None` if one of its calls waits.
    let mut last: HashMap<&str, Option<u64>> = HashMap::new();
    for ChatCall { choice, call, .. } in ended {
        let last = last.entry(choice).or_insert(Some(call.serial));
        *last = last.filter(|_| !call.waits()).and(Some(call.serial));
    }
    let is_last = |entry: &ChatCall| last.get(&*entry.choice) == Some(&Some(entry.call.serial));
    ended.iter().map(is_last).collect()
}
