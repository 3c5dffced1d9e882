//! Repairs the calls of a response that is one JSON value. Each call is repaired as a stream of one event, so the rules of streams apply to
//! tools, to truncated calls, and to calls that cannot be repaired.

use serde_json::value::RawValue;
use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::stream::{Dialect, RepairRecord, StreamLimits, StreamRepairer};

use crate::wire::object::{Object, place};

/// A response after its repair.
#[derive(Debug, Default)]
pub(crate) struct RepairedResponse {
    /// Text with the repaired arguments; `None` if no arguments were repaired.
    pub(crate) text: Option<String>,
    /// Number of calls, with and without repair.
    pub(crate) calls: u64,
    pub(crate) records: Vec<RepairRecord>,
    /// Error in the API's form, sent instead of a response with an unrepairable call if
    /// [`fallback_on_error`](FormatFixing::fallback_on_error) is off.
    pub(crate) error: Option<String>,
}

/// Repairs a response of `OpenAI`'s APIs. Bytes outside of repaired arguments stay.
pub(crate) fn repair(dialect: Dialect, fixing: &FormatFixing, text: &str) -> RepairedResponse {
    let mut calls = match dialect {
        Dialect::Responses => response_calls(text),
        _ => chat_calls(text),
    };
    calls.sort_by_key(|call| call.arguments.as_ptr());
    let mut repaired = RepairedResponse::default();
    let mut out = String::new();
    let mut written = 0;
    for call in calls {
        if let Some(arguments) = call.repair(fixing, &mut repaired) {
            let place = place(text, call.arguments);
            out.push_str(text.get(written..place.start).unwrap_or_default());
            out.push_str(&arguments);
            written = place.end;
        }
        if repaired.error.is_some() {
            return repaired;
        }
    }
    if written > 0 {
        out.push_str(text.get(written..).unwrap_or_default());
        repaired.text = Some(out);
    }
    repaired
}

/// A call in the text of a response; its fields are raw JSON.
struct ResponseCall<'a> {
    choice: usize,
    index: usize,
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
    finish_reason: &'a str,
}

impl ResponseCall<'_> {
    /// Repairs the arguments. Returns `None` if the arguments stay unchanged.
    fn repair(&self, fixing: &FormatFixing, response: &mut RepairedResponse) -> Option<String> {
        let Self {
            choice,
            index,
            id,
            name,
            arguments,
            finish_reason,
        } = self;
        let before = format!(
            r#"data: {{"choices":[{{"index":{choice},"delta":{{"tool_calls":[{{"index":{index},"id":{id},"function":{{"name":{name},"arguments":"#
        );
        let after = format!(r#"}}}}]}},"finish_reason":{finish_reason}}}]}}"#) + "\n\n";
        // Arguments that are an object instead of a string may contain line breaks.
        let event = before.clone() + &arguments.replace(['\n', '\r'], " ") + &after;
        // The arguments are one event of any length; the limit of a call's arguments applies separately.
        let limits = StreamLimits {
            event: event.len() + 1,
            ..StreamLimits::default()
        };
        let mut repairer = StreamRepairer::with(Dialect::ChatCompletions, fixing.clone(), limits);
        let mut sent = Vec::with_capacity(event.len());
        repairer.push(event.as_bytes(), &mut sent);
        repairer.finish(&mut sent);
        response.calls += repairer.calls();
        response.records.extend(repairer.take_records());
        let sent = String::from_utf8(sent).ok().filter(|sent| *sent != event)?;
        if repairer.failed() {
            response.error = sent
                .strip_prefix("data: ")
                .map(|error| error.trim_end().to_owned());
            return None;
        }
        let arguments = sent.strip_prefix(&before)?.strip_suffix(&after)?;
        Some(arguments.to_owned())
    }
}

/// Returns the calls of a Chat Completions response.
fn chat_calls(text: &str) -> Vec<ResponseCall<'_>> {
    let mut calls = Vec::new();
    for (choice_index, choice) in items(object(Some(text)).get("choices")).enumerate() {
        let choice = object(Some(choice));
        let message = object(choice.get("message"));
        let tool_calls = items(message.get("tool_calls")).map(|call| {
            let call = object(Some(call));
            (call.get("id"), object(call.get("function")))
        });
        // `function_call` is the older form, for a single call.
        let function_call = (None, object(message.get("function_call")));
        for (index, (id, function)) in tool_calls.chain([function_call]).enumerate() {
            calls.extend(function.get("arguments").map(|arguments| ResponseCall {
                choice: choice_index,
                index,
                id: string(id).unwrap_or("null"),
                name: string(function.get("name")).unwrap_or("null"),
                arguments,
                finish_reason: string(choice.get("finish_reason")).unwrap_or(COMPLETE),
            }));
        }
    }
    calls
}

/// Returns the calls of a Responses response.
fn response_calls(text: &str) -> Vec<ResponseCall<'_>> {
    let response = object(Some(text));
    let is_cut = ["incomplete", "failed", "cancelled"].map(|status| response.is("status", status));
    let calls = items(response.get("output"))
        .enumerate()
        .filter_map(|(index, item)| {
            let item = object(Some(item));
            let is_complete = item.is("status", "completed")
                || !(item.is("status", "incomplete") || is_cut.contains(&true));
            Some(ResponseCall {
                choice: 0,
                index,
                id: string(item.get("call_id")).unwrap_or("null"),
                name: string(item.get("name")).unwrap_or("null"),
                arguments: item
                    .get("arguments")
                    .filter(|_| item.is("type", "function_call"))?,
                finish_reason: if is_complete { COMPLETE } else { CUT_OFF },
            })
        });
    calls.collect()
}

/// Values of `finish_reason` for complete and for incomplete calls.
const COMPLETE: &str = "\"tool_calls\"";
const CUT_OFF: &str = "\"length\"";

/// Reads an object. Returns an empty one for any other text.
fn object(text: Option<&str>) -> Object<'_> {
    text.and_then(|text| Object::parse(text).ok()).unwrap_or_default()
}

/// Returns the items of a list; no items for any other text.
fn items(text: Option<&str>) -> impl Iterator<Item = &str> {
    let items = text.and_then(|text| serde_json::from_str::<Vec<&RawValue>>(text).ok());
    items.unwrap_or_default().into_iter().map(RawValue::get)
}

/// Returns the text of a non-empty JSON string.
fn string(text: Option<&str>) -> Option<&str> {
    text.filter(|text| text.starts_with('"') && !matches!(*text, "\"\"" | "\"null\""))
}
