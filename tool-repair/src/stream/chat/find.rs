//! Finds the call of a Chat Completions stream that a piece belongs to.

use super::call::ChatCall;
use super::event::Delta;
use super::history::ChoiceHistories;

/// Position of the call that a delta belongs to.
pub(crate) enum Found {
    Same(usize),
    /// The call at this position, if it is not complete.
    IfIncomplete(usize),
    /// Several calls may have the delta.
    Ambiguous,
    /// A new call, which replaces the complete call at this position.
    New(Option<usize>),
}

/// Finds the call of a delta: the last call with its `index`, or the call with its id if it has no `index`. A delta
/// without `index` and id continues the call with the last piece.
pub(crate) fn find(calls: &[ChatCall], histories: &ChoiceHistories, delta: &Delta<'_>) -> Found {
    let position = |wanted: &dyn Fn(&ChatCall) -> bool| position(calls, delta, wanted);
    if delta.legacy {
        return position(&|_| true).map_or(Found::New(None), Found::Same); // a choice has one such call
    }
    let same_id = |entry: &ChatCall| delta.id.is_some() && entry.call.id.as_deref() == delta.id.as_deref();
    let anew = |at: &usize| {
        calls
            .get(*at)
            .is_some_and(|entry| entry.is_of_another_tool(delta))
    };
    let by_id = || position(&same_id).filter(|at| !anew(at));
    if let Some(index) = delta.index
        && let Some(at) = position(&|entry| entry.index.as_deref() == Some(index))
    {
        return match calls.get(at) {
            Some(entry) if entry.is_replaced_by(delta) => by_id()
                .filter(|_| entry.call.id.as_deref() != delta.id.as_deref())
                .map_or(Found::New(Some(at)), Found::Same),
            _ => Found::Same(at),
        };
    }
    let known_index = delta
        .index
        .is_some_and(|index| histories.has_ended(delta.choice, index));
    if let Some(at) = by_id() {
        let has_other_index =
            delta.index.is_some() && calls.get(at).is_some_and(|entry| entry.index.is_some());
        return match (has_other_index, &delta.name) {
            (false, _) => Found::Same(at),
            (true, None) if !known_index => Found::IfIncomplete(at),
            (true, _) => Found::New(None),
        };
    }
    // Later deltas with this id belong to the new call, so the earlier call with this id ends now.
    if delta.index.is_none()
        && let Some(at) = position(&same_id)
        && calls.get(at).is_some_and(|entry| entry.index.is_none())
    {
        return Found::New(Some(at));
    }
    if let Some(found) = continued_call(calls, delta, known_index) {
        return found;
    }
    // No later delta can identify a call without `index` and id, so it ends before the new call.
    Found::New(position(&|entry| {
        entry.index.is_none() && entry.call.id.is_none()
    }))
}

/// Finds the call with the last piece, if a delta without a tool name seems to continue it.
fn continued_call(calls: &[ChatCall], delta: &Delta<'_>, known_index: bool) -> Option<Found> {
    let position = |wanted: &dyn Fn(&ChatCall) -> bool| position(calls, delta, wanted);
    let at = position(&|_| true)?;
    let entry = calls.get(at)?;
    let has_no_identifier = delta.index.is_none() && delta.id.is_none();
    let same = if has_no_identifier {
        delta.name.is_none() || !entry.call.begun()
    } else {
        // If no other call is open, the server may have changed the index or the id of this call.
        let only = position(&|other| other.call.serial != entry.call.serial).is_none();
        only && delta.name.is_none() && delta.has_text() && !known_index
    };
    let later = position(&|other| other.call.serial > entry.call.serial).is_some();
    if !same {
        return None;
    }
    Some(if later {
        Found::Ambiguous // some clients choose the call that began last, others the call with the last piece
    } else if has_no_identifier {
        Found::Same(at)
    } else {
        Found::IfIncomplete(at)
    })
}

/// Finds the last call with a delta's choice and kind that `wanted` accepts.
fn position(calls: &[ChatCall], delta: &Delta<'_>, wanted: &dyn Fn(&ChatCall) -> bool) -> Option<usize> {
    let own = |entry: &ChatCall| entry.choice == delta.choice && entry.legacy == delta.legacy;
    calls.iter().rposition(|entry| own(entry) && wanted(entry))
}
