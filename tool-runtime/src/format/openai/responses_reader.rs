//! [`ResponseReader`]: reads a whole response from a stream of the Responses API.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};
use tool_repair::Status;
use tool_repair::stream::{CallEvent, Dialect, ReadCall, RepairRecord};

use super::responses_response::{Response, StreamedCall};
use crate::format::delta::Delta;
use crate::format::reader::{Event, StreamReader, StreamedResponse};
use crate::format::stream_error::StreamError;
use crate::format::surrogates::PendingSurrogates;

/// Reads a stream of the Responses API, in pieces of any size, to a whole [`Response`]. The arguments of calls are
/// repaired if the repair is certain.
///
/// A character with a surrogate pair that is split between two events is part of the later one; a lone surrogate is
/// U+FFFD.
///
/// ```
/// use tool_runtime::format::Delta;
/// use tool_runtime::format::openai::responses::ResponseReader;
///
/// let stream = br#"
/// data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}
///
/// data: {"type":"response.output_text.delta","output_index":0,"delta":"Noon."}
///
/// data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"type":"message","id":"msg_1",
/// data: "role":"assistant","status":"completed","content":[{"type":"output_text","text":"Noon.","annotations":[]}]}]}}
///
/// "#;
/// let mut reader = ResponseReader::new();
/// for bytes in stream.chunks(100) {
///     for delta in reader.push(bytes).unwrap() {
///         assert_eq!(delta, Delta::Text("Noon.".to_owned()));
///     }
/// }
/// let response = reader.finish().unwrap();
/// assert_eq!(response.output[0]["content"][0]["text"], "Noon.");
/// ```
#[derive(Debug)]
pub struct ResponseReader(StreamReader<StreamedOutput>);

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    /// Creates a reader for one response.
    pub fn new() -> Self {
        Self(StreamReader::new())
    }

    /// Takes the next bytes of the stream. Returns the new pieces of the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream reports an error, an event does not belong to this API, or a piece of arguments
    /// belongs to no call.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        self.0.push(bytes)
    }

    /// Takes the next event of the stream, decoded by another library.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`push`](Self::push).
    pub fn push_event(&mut self, event: &Value) -> Result<Vec<Delta>, StreamError> {
        self.0.push_event(event)
    }

    /// Takes the records of repaired calls that have ended since the last call of this method.
    #[must_use = "each record is returned once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.0.take_records()
    }

    /// Returns whether the last event has arrived: later events do not belong to the response.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the response is not complete, and the errors of [`push`](Self::push).
    pub fn finish(self) -> Result<Response, StreamError> {
        self.0.finish()
    }
}

/// The part of a response's output that has arrived.
#[derive(Debug, Default)]
struct StreamedOutput {
    /// Calls by number; `None` until they have ended.
    read: BTreeMap<u64, Option<ReadCall>>,
    /// Completed items by position, for servers whose last event has no items.
    items: BTreeMap<u64, Value>,
    /// Text, for servers whose events have no item with it.
    text: String,
    /// Whole response in the last event.
    response: Option<Map<String, Value>>,
    /// Number of the first call that only the last event contains.
    first_of_end: Option<u64>,
}

impl StreamedResponse for StreamedOutput {
    const DIALECT: Dialect = Dialect::Responses;
    type Response = Response;

    fn is_complete(&self) -> bool {
        self.response.is_some()
    }

    fn on_event(
        &mut self,
        event: Event<'_>,
        surrogates: &mut PendingSurrogates,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), StreamError> {
        let kind = event.kind().to_owned();
        let mut event = event.data;
        let is_last = matches!(kind.as_str(), "response.completed" | "response.incomplete");
        if is_last || kind.rsplit('.').next() == Some("done") {
            let item = event.get("output_index");
            for rest in surrogates.end(|rest| is_last || rest.get("output_index") == item) {
                let kind = rest.get("type").and_then(Value::as_str).unwrap_or_default();
                self.text(kind, &rest, deltas);
            }
        }
        self.text(&kind, &event, deltas);
        match kind.as_str() {
            "response.output_item.done" => {
                let last = self.items.last_key_value().map_or(0, |(last, _)| last + 1);
                let index = event.get("output_index").and_then(Value::as_u64).unwrap_or(last);
                if let Some(item) = event.get_mut("item").map(Value::take) {
                    self.items.insert(index, item);
                }
            }
            "response.completed" | "response.incomplete" => {
                let Some(Value::Object(mut response)) = event.get_mut("response").map(Value::take) else {
                    return Err(StreamError::invalid(format!("`{kind}` has no `response`")));
                };
                let status = kind.trim_start_matches("response.");
                response.entry("status").or_insert(status.into());
                self.response = Some(response);
            }
            "response.failed" | "response.cancelled" => {
                let error = event.get("response").and_then(|response| response.get("error"));
                let error = error.filter(|error| !error.is_null());
                return Err(StreamError::api(error.unwrap_or(&kind.into())));
            }
            "error" => return Err(StreamError::api(event.get("error").unwrap_or(&event))),
            _ => {}
        }
        Ok(())
    }

    fn on_calls(&mut self, calls: Vec<CallEvent>, deltas: &mut Vec<Delta>) {
        let mut shown = None;
        for event in calls {
            match event {
                CallEvent::Begun { call, tool, .. } => {
                    self.read.insert(call, None);
                    if self.response.is_some() {
                        self.first_of_end.get_or_insert(call);
                    }
                    let shown = shown.get_or_insert_with(|| self.shown_with_other_ids());
                    match shown.get_mut(&tool).filter(|count| **count > 0) {
                        Some(count) => *count -= 1,
                        None => deltas.push(Delta::Call { name: tool }),
                    }
                }
                CallEvent::Ended(call) => drop(self.read.insert(call.call, Some(call))),
                _ => {}
            }
        }
    }

    fn finish(self) -> Result<Response, StreamError> {
        let mut fields = self.response.ok_or(StreamError::Incomplete {
            missing: "`response.completed`",
        })?;
        let mut output = match fields.shift_remove("output") {
            Some(Value::Array(output)) if !output.is_empty() => output,
            _ => self.items.into_values().collect(),
        };
        let is_message = |item: &Value| item.get("type").is_some_and(|kind| kind == "message");
        if !self.text.is_empty() && !output.iter().any(is_message) {
            let content = json!([{ "type": "output_text", "text": self.text, "annotations": [] }]);
            let message = json!({ "type": "message", "role": "assistant", "content": content });
            let is_call = |item: &Value| item.get("type").is_some_and(|kind| kind == "function_call");
            output.insert(output.iter().position(is_call).unwrap_or(output.len()), message);
        }
        let is_incomplete = fields.get("status").is_some_and(|status| status == "incomplete");
        let first_of_end = self.first_of_end;
        let calls = self.read.into_values().flatten().map(|call| {
            let is_object = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
            StreamedCall {
                is_cut: is_incomplete && call.status == Status::Truncated && !is_object,
                is_of_end: first_of_end.is_some_and(|first| call.call >= first),
                id: call.id,
                name: call.tool,
                arguments: call.arguments,
            }
        });
        Response::new(output, calls.collect(), fields).map_err(StreamError::Call)
    }
}

impl StreamedOutput {
    /// Takes a piece of text, if the event has one.
    fn text(&mut self, kind: &str, event: &Value, deltas: &mut Vec<Delta>) {
        let text = event.get("delta").and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        match kind {
            "response.output_text.delta" => {
                self.text.push_str(text);
                deltas.push(Delta::Text(text.to_owned()));
            }
            "response.refusal.delta" => deltas.push(Delta::Text(text.to_owned())),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                deltas.push(Delta::Thinking(text.to_owned()));
            }
            _ => {}
        }
    }

    /// Returns the number of calls of each tool that the stream sent with an id which the final response lacks. The final
    /// response has these calls with other ids, and they were already returned when they began.
    fn shown_with_other_ids(&self) -> HashMap<String, usize> {
        let mut shown = HashMap::new();
        let output = self.response.as_ref().and_then(|response| response.get("output"));
        let Some(Value::Array(output)) = output else {
            return shown;
        };
        let ids = output.iter().filter_map(|item| item.get("call_id")?.as_str());
        let ids: HashSet<&str> = ids.collect();
        let read = self.read.values().flatten();
        for call in read.filter(|call| !call.id.as_deref().is_some_and(|id| ids.contains(id))) {
            *shown.entry(call.tool.clone()).or_default() += 1;
        }
        shown
    }
}
