//! Reads texts with the names and the arguments of calls, in JSON or as Python dictionaries.

use serde_json::Value;
use tool_runtime::repair::{Status, repair};

use super::answers::Call;
use super::outcome::Tally;
use super::python::{LiteralEval, equal};

/// Returns the calls in a text. A text that is not JSON is repaired, and compared with the value that Python reads.
pub fn read(text: &str, python: &mut Option<LiteralEval>, tally: &mut Tally) -> Vec<Call> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return calls(&value);
    }
    let expected = python.as_mut().and_then(|python| python.read(text));
    let repaired = repair(text);
    let value = match repaired.status {
        Status::Valid | Status::Repaired => serde_json::from_str(&repaired.text).ok(),
        _ => None,
    };
    if let Some(expected) = expected {
        let is_same = value.as_ref().is_some_and(|value| equal(value, &expected));
        tally.count_dictionary(calls(&expected).len(), is_same);
    }
    match value {
        Some(value) => calls(&value),
        None => {
            tally.count_unread();
            Vec::new()
        }
    }
}

/// Reads an object with name and arguments, a list of such objects, or an object with such a list in `tool_calls`.
fn calls(value: &Value) -> Vec<Call> {
    let calls = value.get("tool_calls").unwrap_or(value);
    let objects = calls
        .as_array()
        .map_or(std::slice::from_ref(calls), Vec::as_slice);
    objects
        .iter()
        .filter_map(|object| {
            let arguments = object.get("arguments")?;
            Some(Call {
                name: object.get("name")?.as_str()?.to_owned(),
                arguments: arguments
                    .as_str()
                    .map_or_else(|| arguments.to_string(), str::to_owned),
            })
        })
        .collect()
}
