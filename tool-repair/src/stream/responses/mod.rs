//! Dialect of the Responses API: calls are items of the output. A stream has the arguments of a call up to four times:
//! in pieces, and as a whole when the arguments, the item and the response are done. The repair keeps all copies equal.

mod event;
mod call;
pub(crate) mod encode;

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use self::call::{CallEnd, ResponsesCall};
use self::event::{Item, ResponsesEvent};
use crate::stream::call::outcome::{AFTER_END, MAY_CONTINUE_PREVIOUS_CALL};
use crate::stream::call::piece::Piece;
use crate::stream::call::step::{EventContext, RawEvent, Step};

/// All calls of a Responses stream, including ended ones: copies of their arguments follow until the end.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    entries: Vec<ResponsesCall>,
    positions: CallPositions,
}

/// Position of the last call with each id and `output_index`. A whole response has all calls again.
#[derive(Debug, Default)]
struct CallPositions {
    ids: HashMap<String, usize>,
    call_ids: HashMap<String, usize>,
    output_indexes: HashMap<String, usize>,
}

impl CallPositions {
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

    /// Handles an event. Returns whether it belongs to this dialect.
    pub(crate) fn on_event(&mut self, event: RawEvent<'_>, context: &mut EventContext<'_>) -> bool {
        let Some(located) = ResponsesEvent::parse(event.text) else {
            return false;
        };
        let limit = context.state.limits.calls;
        if self.entries.len() > limit || located.output.len() > limit {
            let reason = context.state.too_many_calls();
            self.bail_out(&reason, context);
            context.state.bail_out(reason);
            return true;
        }
        match located.kind.as_deref().or(event.name).unwrap_or_default() {
            "response.output_item.added" => self.on_item_added(&located.item, context),
            "response.function_call_arguments.delta" => self.on_arguments_delta(&located.item, context),
            "response.function_call_arguments.done" => self.on_done(&located.item, event, context),
            "response.output_item.done" if located.item.is_call() => {
                self.on_done(&located.item, event, context);
            }
            "response.completed" => self.on_response_end(false, &located, context),
            "response.incomplete" | "response.failed" | "response.cancelled" | "error" => {
                self.on_response_end(true, &located, context);
            }
            _ => {}
        }
        if !event.ended {
            self.end(false, context);
        }
        true
    }

    /// Ends every call at the end of the stream: as cut off with `cut`, otherwise as complete.
    pub(crate) fn end(&mut self, cut: bool, context: &mut EventContext<'_>) {
        for entry in &mut self.entries {
            entry.finalize(cut, context);
        }
    }

    /// Stops repairing the open calls of the stream. Held arguments are sent unchanged.
    pub(crate) fn bail_out(&mut self, reason: &str, context: &mut EventContext<'_>) {
        for entry in &mut self.entries {
            entry.bail_out(reason, context);
        }
        self.end(false, context);
    }

    /// Begins an item. Items that are done are complete. An open item at the same position ends; if it is incomplete,
    /// the new item may continue it, so the new item passes unchanged.
    fn on_item_added(&mut self, item: &Item<'_>, context: &mut EventContext<'_>) {
        let mut has_incomplete = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.matches_item(item)) {
            has_incomplete |= !entry.conclude(context);
        }
        let complete =
            |entry: &ResponsesCall| !matches!(entry.stop, CallEnd::Open) || entry.matches_item(item);
        for entry in self.entries.iter_mut().filter(|entry| complete(entry)) {
            entry.finalize(false, context);
        }
        if item.is_call() {
            let mut entry = ResponsesCall::new(item, context);
            if has_incomplete {
                entry.call.pass(MAY_CONTINUE_PREVIOUS_CALL, context.state);
            }
            entry.push(item.arguments.as_ref(), context);
            entry.announce(context);
            self.add(entry);
        }
    }

    fn on_arguments_delta(&mut self, item: &Item<'_>, context: &mut EventContext<'_>) {
        let before = self.entries.len();
        let at = self.find_or_begin(item, context);
        if at == before && item.output_index.is_none() {
            self.conclude_earlier(context);
        }
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        match &entry.stop {
            CallEnd::Open => entry.push(item.delta.as_ref(), context),
            CallEnd::Held(_) => {
                entry.bail_out(AFTER_END, context);
                entry.finalize(false, context);
            }
            CallEnd::Sent(_) | CallEnd::Finalized(_) => {
                let piece = item
                    .delta
                    .as_ref()
                    .and_then(|value| Piece::from_value(value.text));
                if piece.is_some_and(|piece| !piece.is_blank()) {
                    context.steps.push(Step::Unattributed);
                }
            }
        }
    }

    /// Handles a call that begins without announcement and `output_index`. In a stream with a new id in every piece,
    /// the call continues an incomplete earlier call, so it passes unchanged.
    fn conclude_earlier(&mut self, context: &mut EventContext<'_>) {
        let Some((last, before)) = self.entries.split_last_mut() else {
            return;
        };
        let mut has_incomplete = false;
        for entry in before {
            has_incomplete |= !entry.conclude(context);
        }
        if has_incomplete {
            last.call.pass(MAY_CONTINUE_PREVIOUS_CALL, context.state);
        }
    }

    /// Handles the end of a call's arguments or item. Arguments that are not JSON are held until the stream reports
    /// whether they are complete, in the item or in the next event.
    fn on_done(&mut self, item: &Item<'_>, event: RawEvent<'_>, context: &mut EventContext<'_>) {
        let at = self.find_or_begin(item, context);
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        entry.push_whole(item, context);
        let cut = match item.status.as_deref() {
            Some("completed") => Some(false),
            Some("incomplete") => Some(true),
            _ if !event.ended => Some(false),
            _ => None,
        };
        match cut {
            Some(cut) => entry.finalize(cut, context),
            None if entry.hold_end(context) => return,
            None => {}
        }
        entry.copy(item, context);
    }

    /// Handles the end of the response, which repeats all calls.
    fn on_response_end(&mut self, cut: bool, located: &ResponsesEvent<'_>, context: &mut EventContext<'_>) {
        self.end(cut, context);
        for item in &located.output {
            let at = self.find(item).unwrap_or_else(|| self.begin(item, context));
            if let Some(entry) = self.entries.get_mut(at) {
                entry.push_whole(item, context);
                entry.finalize(item.status.as_deref() == Some("incomplete"), context);
                entry.copy(item, context);
            }
        }
    }

    fn find_or_begin(&mut self, item: &Item<'_>, context: &mut EventContext<'_>) -> usize {
        let has_no_identifier = item.id.is_none() && item.output_index.is_none() && item.call_id.is_none();
        let found = self.find(item);
        if let Some(entry) = found.and_then(|at| self.entries.get_mut(at)) {
            entry.is_identified |= item.delta.is_some();
        }
        let last = || {
            self.entries
                .iter()
                .rposition(|entry| matches!(entry.stop, CallEnd::Open))
        };
        let found = found.or_else(|| last().filter(|_| has_no_identifier));
        let found = found.or_else(|| self.only_open(item, context));
        found.unwrap_or_else(|| self.begin(item, context))
    }

    /// Finds the only open call for an item with an unknown id and without `output_index`, if that call was announced, is
    /// incomplete, and had no piece with its id or position.
    fn only_open(&mut self, item: &Item<'_>, context: &mut EventContext<'_>) -> Option<usize> {
        let open = |entry: &ResponsesCall| matches!(entry.stop, CallEnd::Open);
        let at = self.entries.iter().position(open)?;
        let only = self.entries.iter().rposition(open) == Some(at);
        let entry = self.entries.get_mut(at)?;
        if item.kind.is_some()
            || item.output_index.is_some()
            || !only
            || entry.is_identified
            || entry.call.tool.is_empty()
        {
            return None;
        }
        if item.delta.is_some()
            && let Some(rest) = entry.call.finalize_if_complete(context.state)
        {
            entry.release(rest, context);
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
        let names = &self.positions;
        known(&names.ids, id)
            .or_else(|| known(&names.call_ids, call_id))
            .or_else(|| known(&names.output_indexes, item.output_index))
            .or_else(|| {
                known(&names.call_ids, id).or_else(|| known(&names.ids, call_id))?;
                self.entries.iter().rposition(crosswise)
            })
    }

    fn begin(&mut self, item: &Item<'_>, context: &mut EventContext<'_>) -> usize {
        self.add(ResponsesCall::new(item, context))
    }

    fn add(&mut self, entry: ResponsesCall) -> usize {
        let at = self.entries.len();
        self.positions.add(&entry, at);
        self.entries.push(entry);
        at
    }
}
