//! Comparison of the runtime's own readers with the official SDKs: a reader returns for the original stream the message that an SDK returns
//! for the repaired stream.

use serde_json::Value;
use tool_runtime::ToolCall;
use tool_runtime::format::openai::{chat, responses};
use tool_runtime::format::{StreamError, anthropic};
use tool_runtime::repair::stream::Dialect;

use crate::calls::Kind;
use crate::sample::Sample;
use crate::sdk::Reading;

/// Compares the runtime's reading with an SDK's, and returns the first difference. Returns whether both can be compared.
pub fn check(sample: &Sample, sdk: &Reading) -> Result<bool, String> {
    if sdk.error.is_some() || sample.fails() || !sdk.way.ends_with("_helper") {
        return Ok(false);
    }
    let read = read(sample.dialect, sample.original.as_bytes());
    let (calls, stop) = read.map_err(|error| format!("the runtime reads no response: {error}"))?;
    if Some(&stop) != sdk.stop.as_ref() {
        return Err(format!(
            "{} stops for {:?}, the runtime for {stop}",
            sdk.way, sdk.stop
        ));
    }
    let mut calls = calls.iter();
    for (call, other) in sample.calls.iter().zip(&sdk.calls) {
        let is_object = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
        if call.kind.is_cut() && (sample.dialect == Dialect::Anthropic || !is_object(&call.arguments)) {
            continue; // it leaves the message
        }
        let own = calls.next().ok_or("the runtime reads fewer calls")?;
        let text = own.input.to_string();
        let same_text = other
            .arguments
            .as_ref()
            .is_none_or(|arguments| *arguments == text);
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let same_value = other.input.is_none() || other.input == value;
        let same_names = other.id.as_ref() == Some(&own.id) && other.name == own.name;
        // The runtime also repairs the arguments of tools that are not repaired in the stream.
        if !same_names || (call.kind != Kind::Foreign && !(same_text && same_value)) {
            return Err(format!("{} reads {other:?}, the runtime {own:?}", sdk.way));
        }
    }
    match calls.next() {
        Some(call) => Err(format!("the runtime reads one more call: {call:?}")),
        None => Ok(true),
    }
}

/// Returns the calls of a stream, and its stop reason.
fn read(dialect: Dialect, stream: &[u8]) -> Result<(Vec<ToolCall>, String), StreamError> {
    match dialect {
        Dialect::Anthropic => {
            let mut reader = anthropic::ResponseReader::new();
            reader.push(stream)?;
            let response = reader.finish()?;
            Ok((response.calls, response.stop_reason))
        }
        Dialect::ChatCompletions => {
            let mut reader = chat::ResponseReader::new();
            reader.push(stream)?;
            let response = reader.finish()?;
            Ok((response.calls, response.finish_reason.unwrap_or_default()))
        }
        _ => {
            let mut reader = responses::ResponseReader::new();
            reader.push(stream)?;
            let response = reader.finish()?;
            Ok((response.calls, response.status))
        }
    }
}
