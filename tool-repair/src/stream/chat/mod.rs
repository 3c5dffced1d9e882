//! Dialect of Chat Completions: choice and `index` identify a call, and the choice's `finish_reason` ends its calls.

mod event;
mod history;
mod call;
mod find;
pub(crate) mod encode;

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use self::call::{ChatCall, Identifier};
use self::event::{ChatEvent, Delta};
use self::find::{Found, find};
use self::history::ChoiceHistories;
use crate::stream::call::outcome::{MAY_CONTINUE_PREVIOUS_CALL, UNKNOWN_CALL};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{EventContext, RawEvent, Step};
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

    /// Handles an event. Returns whether it belongs to this dialect.
    pub(crate) fn on_event(&mut self, event: RawEvent<'_>, context: &mut EventContext<'_>) -> bool {
        let Some(located) = ChatEvent::parse(event.text) else {
            return false;
        };
        let limit = context.state.limits.calls;
        if self.calls.len() > limit || located.deltas.len() > limit {
            let reason = context.state.too_many_calls();
            self.bail_out(&reason, context);
            context.state.bail_out(reason);
            return true;
        }
        if located.error {
            self.end(true, context);
        }
        for delta in &located.deltas {
            self.on_delta(delta, context);
        }
        for (choice, reason) in &located.finished {
            self.end_where(|entry| entry.choice == *choice, is_cut_off(reason), context);
        }
        if !event.ended {
            self.end(false, context);
        }
        true
    }

    /// Ends every open call. If `cut` is true, the calls are treated as cut off, otherwise as complete.
    pub(crate) fn end(&mut self, cut: bool, context: &mut EventContext<'_>) {
        self.end_where(|_| true, cut, context);
    }

    /// Stops repairing the open calls of the stream. Held arguments are sent unchanged.
    pub(crate) fn bail_out(&mut self, reason: &str, context: &mut EventContext<'_>) {
        for mut entry in std::mem::take(&mut self.calls) {
            let rest = entry.call.bail_out(reason.to_owned(), context.state);
            entry.release(rest, context);
            let history = self.histories.get_mut(&entry.choice);
            history.ended = true;
            entry.end(false, history, context);
        }
    }

    fn on_delta(&mut self, delta: &Delta<'_>, context: &mut EventContext<'_>) {
        let found = match find(&self.calls, &self.histories, delta) {
            Found::IfIncomplete(at) => self.continue_if_incomplete(at, delta, context),
            found => found,
        };
        self.finalize_last(&found, delta, context);
        let at = match found {
            Found::Same(at) | Found::IfIncomplete(at) => at,
            Found::Ambiguous => {
                for entry in self.calls.iter_mut().filter(|entry| entry.choice == delta.choice) {
                    let rest = entry.call.bail_out(UNKNOWN_CALL, context.state);
                    entry.release(rest, context);
                }
                context.steps.push(Step::Unattributed);
                return;
            }
            Found::New(replaced) => {
                let identifier = self.identifier(delta, replaced.is_some());
                if let Some(at) = replaced {
                    self.replace(at, delta, context);
                }
                self.begin(delta, replaced.is_some(), identifier, context);
                self.calls.len() - 1
            }
        };
        let mut entry = self.calls.remove(at);
        entry.merge(delta);
        if matches!(found, Found::New(_)) {
            entry.call.report_begin(entry.choice.parse().ok(), context);
        }
        if let Some(span) = &delta.arguments
            && let Some(piece) = delta.piece
        {
            if entry.may_continue_earlier && !entry.call.begun() && piece != Piece::Text("") {
                self.conclude_earlier(&mut entry, piece, context);
            }
            let first = !entry.call.begun();
            let contents = entry.call.push(piece, context.state);
            let (call, span) = (entry.call.serial, span.clone());
            context.steps.push(Step::Piece { call, span, contents });
            // If a call has no identifier, clients cannot assign later pieces to it. If its first piece is complete JSON, the
            // arguments are sent with that piece. Otherwise more pieces may follow, so the arguments are held and
            // repaired as a whole, and sent in an additional event without `index` and id.
            if first
                && entry.identifier == Identifier::Missing
                && !entry.call.is_repairing()
                && let Some(rest) = entry.call.finalize_if_complete(context.state)
            {
                entry.release(rest, context);
            }
            entry.call.keep_carrier(context);
        }
        self.calls.push(entry);
    }

    /// When a piece of another call arrives, finalizes the call that received the previous piece. Clients treat the call as complete
    /// at this time, so all its arguments must have been sent.
    fn finalize_last(&mut self, found: &Found, delta: &Delta<'_>, context: &mut EventContext<'_>) {
        let own = |entry: &ChatCall| entry.choice == delta.choice && entry.legacy == delta.legacy;
        let last = self.calls.iter().rposition(own);
        let same = matches!(found, Found::Same(at) if last == Some(*at)) || matches!(found, Found::Ambiguous);
        if let Some(entry) = last.and_then(|at| self.calls.get_mut(at))
            && !(same || entry.call.is_withheld() || entry.index.is_none() || delta.index.is_none())
            && let Some(rest) = entry.call.finalize_if_closed(context.state)
        {
            entry.release(rest, context);
        }
    }

    /// Handles the first arguments of a new call whose pieces may belong to an open call:
    /// - The open call is complete: the new call is independent.
    /// - The open call is being repaired, and the new call has an identifier and begins with `{` or `[`: the new call is
    ///   held until the open call ends.
    /// - Otherwise, the arguments of both calls are forwarded unchanged.
    fn conclude_earlier(&mut self, next: &mut ChatCall, piece: Piece<'_>, context: &mut EventContext<'_>) {
        let own = |entry: &&mut ChatCall| entry.choice == next.choice && entry.legacy == next.legacy;
        let mut before: Vec<&mut ChatCall> = self.calls.iter_mut().filter(own).collect();
        before.sort_by_key(|entry| entry.call.serial);
        let (mut incomplete, mut is_pending) = (false, false);
        let may_wait = piece.begins_arguments() && next.identifier != Identifier::Missing;
        for entry in before {
            let rest = if incomplete {
                entry.call.bail_out(MAY_CONTINUE_PREVIOUS_CALL, context.state)
            } else {
                match entry.call.conclude(may_wait, context.state) {
                    Conclusion::Complete(rest) => rest,
                    Conclusion::Incomplete(rest) => {
                        incomplete = true;
                        rest
                    }
                    Conclusion::Pending => {
                        is_pending = true;
                        break;
                    }
                }
            };
            entry.release(rest, context);
        }
        let history = self.histories.get_mut(&next.choice);
        history.has_incomplete |= incomplete;
        if history.has_incomplete {
            next.call.pass(MAY_CONTINUE_PREVIOUS_CALL, context.state);
        } else if is_pending {
            next.call.withhold(context.state);
        }
    }

    /// Returns whether a delta has an `index` and a tool name, and its id is not the id of an open call.
    fn is_identified(&self, delta: &Delta<'_>) -> bool {
        let known =
            |entry: &ChatCall| entry.call.id.is_some() && entry.call.id.as_deref() == delta.id.as_deref();
        delta.index.is_some() && delta.name.is_some() && !self.calls.iter().any(known)
    }

    /// Ends the call at `at`, which the delta's call replaces. The call at `at` stays open if it waits for the end of an
    /// earlier call (all its arguments are held), and its id differs from the delta's id.
    fn replace(&mut self, at: usize, delta: &Delta<'_>, context: &mut EventContext<'_>) {
        let Some(entry) = self.calls.get_mut(at) else {
            return;
        };
        let both = entry.call.id.as_deref().zip(delta.id.as_deref());
        if entry.call.is_withheld() && both.is_some_and(|(own, received)| own != received) {
            return entry.needs_id();
        }
        let mut old = self.calls.remove(at);
        if old.call.is_withheld() {
            let rest = old.call.bail_out(MAY_CONTINUE_PREVIOUS_CALL, context.state);
            old.release(rest, context);
        }
        let history = self.histories.get_mut(&old.choice);
        old.end(false, history, context);
    }

    /// Returns the field by which clients will identify the pieces of the call that a delta begins.
    fn identifier(&self, delta: &Delta<'_>, replaces: bool) -> Identifier {
        let same_key = |entry: &ChatCall| {
            let own = entry.choice == delta.choice && entry.index.as_deref() == delta.index;
            let same_id = delta.index.is_none()
                && delta.id.is_some()
                && entry.call.id.as_deref() == delta.id.as_deref();
            own && !entry.legacy && (same_id || entry.follows_complete(delta))
        };
        let has_no_identifier = delta.index.is_none() && delta.id.is_none();
        let reused = |index| self.histories.has_ended(delta.choice, index);
        if !delta.legacy && (has_no_identifier || self.calls.iter().any(same_key)) {
            Identifier::Missing
        } else if replaces || delta.index.is_none_or(reused) {
            Identifier::Id
        } else {
            Identifier::Index
        }
    }

    fn begin(
        &mut self,
        delta: &Delta<'_>,
        replaces: bool,
        identifier: Identifier,
        context: &mut EventContext<'_>,
    ) {
        let ended = self.histories.get_mut(delta.choice).ended;
        self.calls.push(ChatCall {
            choice: delta.choice.to_owned(),
            index: None,
            legacy: delta.legacy,
            identifier,
            may_continue_earlier: replaces || ended || !self.is_identified(delta),
            call: Call::new(context.state, None, String::new()),
        });
    }

    /// Handles a piece that seems to continue the call at `at`, but has a different `index` or id. The piece begins
    /// another call if the call at `at` is complete and the piece is not blank, or if `index` and id differ and the
    /// piece begins with `{` or `[`.
    fn continue_if_incomplete(
        &mut self,
        at: usize,
        delta: &Delta<'_>,
        context: &mut EventContext<'_>,
    ) -> Found {
        let Some(entry) = self.calls.get_mut(at) else {
            return Found::New(None);
        };
        if let Some(rest) = entry.call.finalize_if_complete(context.state) {
            entry.release(rest, context);
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

    /// Ends the calls that `ended` accepts, in the order in which they began, since the outcome of a call may depend on
    /// earlier calls. After all of them have ended, their last events are sent, errors last.
    fn end_where(&mut self, ended: impl Fn(&ChatCall) -> bool, cut: bool, context: &mut EventContext<'_>) {
        let (ended, others) = std::mem::take(&mut self.calls).into_iter().partition(ended);
        self.calls = others;
        let ended: Vec<ChatCall> = ended;
        let last = sends_rest_first(&ended);
        let mut ends = Vec::with_capacity(ended.len());
        let mut ended: Vec<(ChatCall, bool)> = ended.into_iter().zip(last).collect();
        ended.sort_by_key(|(entry, _)| entry.call.serial);
        for (mut entry, last) in ended {
            let history = self.histories.get_mut(&entry.choice);
            history.ended = true;
            let end = entry.stop(cut, history, context);
            ends.push((entry, last, end));
        }
        ends.sort_by_key(|(_, last, end)| (end.is_error(), !last && !end.is_error()));
        for (entry, _, end) in ends {
            entry.send_end(end, context);
        }
    }
}

/// Returns for each call whether its held arguments are sent first. In each choice, the call that received the most
/// recent piece goes first, since clients treat the call as complete once a piece of another call arrives. Exception: if
/// all arguments of one call are held, no call goes first, and the calls of the choice are sent in the order in which
/// they began.
fn sends_rest_first(ended: &[ChatCall]) -> Vec<bool> {
    // The last call of each choice, or `None` if all arguments of one of its calls are held.
    let mut last: HashMap<&str, Option<u64>> = HashMap::new();
    for ChatCall { choice, call, .. } in ended {
        let last = last.entry(choice).or_insert(Some(call.serial));
        *last = last.filter(|_| !call.is_withheld()).and(Some(call.serial));
    }
    let is_last = |entry: &ChatCall| last.get(&*entry.choice) == Some(&Some(entry.call.serial));
    ended.iter().map(is_last).collect()
}
