//! Rules for the reading of a repaired stream by an SDK, compared with its reading of the original stream.

use serde_json::Value;
use tool_runtime::repair::stream::Dialect;

use crate::sample::Sample;
use crate::sdk::{ReadCall, Reading};

/// Compares the readings. Returns the first difference that is an error.
pub fn check(sample: &Sample, before: &Reading, after: &Reading) -> Result<(), String> {
    let way = &after.way;
    if sample.fails() {
        let said = after.error.as_deref().unwrap_or_default();
        // An SDK that parses arguments incrementally may raise an error before the error of the call arrives.
        let read = way.ends_with("_strict") || (way == "anthropic_helper" && before.error.is_some());
        let is_reported = read || said.contains("could not be repaired");
        return ensure(is_reported && !said.is_empty(), || {
            format!("{way} reads no error")
        });
    }
    if let Some(error) = &after.error {
        // Interleaved calls of a chat cannot be read with strict tools, for any arguments.
        let mixed = sample.plan.mixed && way == "chat_strict";
        let unreadable = mixed || sample.calls.iter().any(|call| call.meant.is_none());
        return ensure(unreadable && before.error.is_some(), || {
            format!("{way} raises {error}")
        });
    }
    ensure(before.error.is_some() || before.stop == after.stop, || {
        format!("{way} reads another reason for the end")
    })?;
    ensure(after.calls.len() == sample.calls.len(), || {
        format!("{way} reads {} calls", after.calls.len())
    })?;
    for (at, (call, read_call)) in sample.calls.iter().zip(&after.calls).enumerate() {
        ensure(
            read_call.id.as_ref() == Some(&call.id) && read_call.name == call.name,
            || format!("{way} reads another call {at}"),
        )?;
        ensure(
            matches(read_call, &sample.expected(at), call.meant.as_ref()),
            || format!("{way} reads other arguments of call {at}"),
        )?;
    }
    done_calls_are_final(sample, after)
}

/// A call that an SDK reports as complete must not change any more. OpenAI's SDK reports a call of a chat as complete when a piece of
/// another call arrives, so interleaved calls cannot be checked.
fn done_calls_are_final(sample: &Sample, after: &Reading) -> Result<(), String> {
    let way = &after.way;
    let tells = !matches!(&**way, "chat_pieces" | "responses_items");
    if !tells || (sample.plan.mixed && sample.dialect != Dialect::Responses) {
        return Ok(());
    }
    ensure(after.done.len() == sample.calls.len(), || {
        format!("{way} takes {} calls for done", after.done.len())
    })?;
    let mut done: Vec<&ReadCall> = after.done.iter().collect();
    for (at, call) in sample.calls.iter().enumerate() {
        let expected = sample.expected(at);
        let own = |read_call: &&ReadCall| {
            read_call.name == call.name && matches(read_call, &expected, call.meant.as_ref())
        };
        let found = done.iter().position(own);
        let Some(found) = found.filter(|found| sample.plan.mixed || *found == 0) else {
            return Err(format!("{way} takes call {at} for done when it is not"));
        };
        done.remove(found);
    }
    Ok(())
}

/// Returns whether the arguments, as text or parsed, are the expected arguments with the intended value.
fn matches(read_call: &ReadCall, expected: &str, meant: Option<&Value>) -> bool {
    let text = read_call.arguments.as_deref().is_none_or(|text| text == expected);
    let read: Option<Value> = serde_json::from_str(expected).ok();
    // Invalid JSON is parsed as far as possible, by each SDK differently.
    let input = read_call.input.is_none() || read.is_none() || read_call.input == read;
    text && input && meant.is_none_or(|meant| read.as_ref() == Some(meant))
}

fn ensure(right: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(fault()) }
}
