//! What an SDK must hear of a repaired stream, beside what it heard of the stream as it came.

use serde_json::Value;
use tool_runtime::repair::stream::Dialect;

use crate::made::Made;
use crate::sdk::{Heard, Reading};

/// Says what is wrong.
pub fn holds(made: &Made, before: &Reading, after: &Reading) -> Result<(), String> {
    let way = &after.way;
    if made.fails() {
        let said = after.error.as_deref().unwrap_or_default();
        // An SDK that reads arguments as they come may raise at them before it is told that it is of no use.
        let read = way.ends_with("_strict") || (way == "anthropic_helper" && before.error.is_some());
        let told = read || said.contains("could not be repaired");
        return is(told && !said.is_empty(), || format!("{way} hears no error"));
    }
    if let Some(error) = &after.error {
        // A chat whose calls are mixed cannot be read with strict tools, whatever is in it.
        let mixed = made.plan.mixed && way == "chat_strict";
        let unreadable = mixed || made.calls.iter().any(|call| call.meant.is_none());
        return is(unreadable && before.error.is_some(), || {
            format!("{way} raises {error}")
        });
    }
    is(before.error.is_some() || before.stop == after.stop, || {
        format!("{way} hears another reason for the end")
    })?;
    is(after.calls.len() == made.calls.len(), || {
        format!("{way} hears {} calls", after.calls.len())
    })?;
    for (at, (call, heard)) in made.calls.iter().zip(&after.calls).enumerate() {
        is(
            heard.id.as_ref() == Some(&call.id) && heard.name == call.name,
            || format!("{way} hears another call {at}"),
        )?;
        is(says(heard, &made.expected(at), call.meant.as_ref()), || {
            format!("{way} hears other arguments of call {at}")
        })?;
    }
    done_is_done(made, after)
}

/// What an SDK says of a call when it takes it for done must not change any more. That of OpenAI takes a call of a chat
/// for done when a piece of another one comes, so that nothing can be said of calls that are mixed.
fn done_is_done(made: &Made, after: &Reading) -> Result<(), String> {
    let way = &after.way;
    let tells = !matches!(&**way, "chat_pieces" | "responses_items");
    if !tells || (made.plan.mixed && made.dialect != Dialect::Responses) {
        return Ok(());
    }
    is(after.done.len() == made.calls.len(), || {
        format!("{way} takes {} calls for done", after.done.len())
    })?;
    let mut done: Vec<&Heard> = after.done.iter().collect();
    for (at, call) in made.calls.iter().enumerate() {
        let expected = made.expected(at);
        let own = |heard: &&Heard| heard.name == call.name && says(heard, &expected, call.meant.as_ref());
        let found = done.iter().position(own);
        let Some(found) = found.filter(|found| made.plan.mixed || *found == 0) else {
            return Err(format!("{way} takes call {at} for done when it is not"));
        };
        done.remove(found);
    }
    Ok(())
}

/// Whether the arguments, as text or read, are the expected ones, and mean what was meant.
fn says(heard: &Heard, expected: &str, meant: Option<&Value>) -> bool {
    let text = heard.arguments.as_deref().is_none_or(|text| text == expected);
    let read: Option<Value> = serde_json::from_str(expected).ok();
    // What is no JSON is read as far as it goes, by each SDK in its own way.
    let input = heard.input.is_none() || read.is_none() || heard.input == read;
    text && input && meant.is_none_or(|meant| read.as_ref() == Some(meant))
}

fn is(right: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(fault()) }
}
