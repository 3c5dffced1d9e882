//! [`ResponseReader`]: reads a whole response from a stream of chunks.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tool_repair::Status;
use tool_repair::stream::{CallEvent, Dialect, ReadCall, RepairRecord};

use super::chat_response::{PartCall, Parts, Response, is_cut_off};
use crate::format::delta::Delta;
use crate::format::reader::{Event, StreamReader, StreamedResponse};
use crate::format::stream_error::StreamError;
use crate::format::surrogates::PendingSurrogates;

/// Reads a stream of the chat completions API, in pieces of any size, to a whole [`Response`]: the first choice. The
/// arguments of calls are repaired if the repair is certain. Pieces are assigned to their calls even if a server
/// repeats or omits `index` or `id`.
///
/// A character with a surrogate pair that is split between two events is part of the later one; a lone surrogate is
/// U+FFFD.
///
/// ```
/// use tool_runtime::format::Delta;
/// use tool_runtime::format::openai::chat::ResponseReader;
///
/// let stream = br#"
/// data: {"choices":[{"index":0,"delta":{"content":"Let me look."}}]}
///
/// data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"now","arguments":"{'zone'"}}]}}]}
///
/// data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":": 'UTC'}"}}]}}]}
///
/// data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
///
/// data: [DONE]
///
/// "#;
/// let mut reader = ResponseReader::new();
/// let mut deltas = Vec::new();
/// for bytes in stream.chunks(100) {
///     deltas.extend(reader.push(bytes).unwrap());
/// }
/// assert_eq!(deltas, [Delta::Text("Let me look.".into()), Delta::Call { name: "now".into() }]);
///
/// let response = reader.finish().unwrap();
/// assert_eq!(response.message["tool_calls"][0]["function"]["arguments"], r#"{"zone": "UTC"}"#);
/// assert_eq!(response.calls[0].id, "call_1");
/// ```
#[derive(Debug)]
pub struct ResponseReader(StreamReader<StreamedChoice>);

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

    /// Takes the next chunk of the stream, decoded by another library.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`push`](Self::push).
    pub fn push_event(&mut self, chunk: &Value) -> Result<Vec<Delta>, StreamError> {
        self.0.push_event(chunk)
    }

    /// Takes the records of repaired calls that have ended since the last call of this method.
    #[must_use = "each record is returned once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.0.take_records()
    }

    /// Returns whether `[DONE]` has arrived: later events do not belong to the response. The usage may arrive after the
    /// `finish_reason`.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the response is not complete, and the errors of [`push`](Self::push). A response is
    /// complete with a `finish_reason`, or with `[DONE]` after a text or whole calls.
    pub fn finish(self) -> Result<Response, StreamError> {
        self.0.finish()
    }
}

/// The part of the first choice, and of the fields beside it, that has arrived.
#[derive(Debug, Default)]
struct StreamedChoice {
    /// Calls of the first choice by number; `None` until they have ended.
    read: BTreeMap<u64, Option<ReadCall>>,
    /// Fields of compatible servers that have to be sent back, by the number of their call.
    extras: BTreeMap<u64, Value>,
    /// Members of `tool_calls` in the current chunk.
    sent: Vec<Value>,
    parts: Parts,
    /// Fields beside the choices.
    fields: Map<String, Value>,
    done: bool,
}

impl StreamedResponse for StreamedChoice {
    const DIALECT: Dialect = Dialect::ChatCompletions;
    type Response = Response;

    fn is_complete(&self) -> bool {
        self.done
    }

    fn on_done(&mut self, surrogates: &mut PendingSurrogates, deltas: &mut Vec<Delta>) -> bool {
        self.end_texts(surrogates, deltas);
        self.done = true;
        true
    }

    fn on_event(
        &mut self,
        event: Event<'_>,
        surrogates: &mut PendingSurrogates,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), StreamError> {
        let Event { name, data: chunk } = event;
        let error = chunk.get("error").filter(|error| !is_blank_error(error));
        let is_error = name == Some("error") || chunk.get("object").is_some_and(|kind| kind == "error");
        if is_error || error.is_some() {
            return Err(StreamError::api(error.unwrap_or(&chunk)));
        }
        let Value::Object(fields) = chunk else {
            return Err(StreamError::invalid("a chunk is not an object"));
        };
        for (field, value) in fields {
            match field.as_str() {
                "choices" => {
                    for choice in value.as_array().into_iter().flatten() {
                        if is_first(choice) {
                            self.choice(choice, surrogates, deltas)?;
                            let delta = choice.get("delta").and_then(|delta| delta.get("tool_calls"));
                            self.sent
                                .extend(delta.and_then(Value::as_array).into_iter().flatten().cloned());
                        }
                    }
                }
                "usage" if value.is_null() => {}
                "usage" => drop(self.fields.insert(field, value)),
                _ => drop(self.fields.entry(field).or_insert(value)),
            }
        }
        Ok(())
    }

    fn on_calls(&mut self, calls: Vec<CallEvent>, deltas: &mut Vec<Delta>) {
        let mut begun = Vec::new();
        for event in calls {
            match event {
                CallEvent::Begun {
                    call, choice, tool, ..
                } if choice.unwrap_or_default() == 0 => {
                    begun.push(call);
                    self.read.insert(call, None);
                    deltas.push(Delta::Call { name: tool });
                }
                CallEvent::Ended(call) => {
                    if let Some(read) = self.read.get_mut(&call.call) {
                        *read = Some(call);
                    }
                }
                _ => {}
            }
        }
        let last = self.read.keys().next_back().copied();
        let mut begun = begun.into_iter();
        for sent in std::mem::take(&mut self.sent) {
            let name = sent.get("function").and_then(|function| function.get("name"));
            let own = name.and_then(|_| begun.next()).or(last);
            if let (Some(extra), Some(call)) = (sent.get("extra_content"), own) {
                self.extras.insert(call, extra.clone());
            }
        }
    }

    fn finish(mut self) -> Result<Response, StreamError> {
        let is_whole =
            |call: &Option<ReadCall>| call.as_ref().is_some_and(|call| call.status != Status::Truncated);
        let has_text = !matches!(&self.parts.content, Value::Null);
        let is_done = self.done && self.read.values().all(is_whole) && (has_text || !self.read.is_empty());
        if self.parts.finish_reason.is_none() && !is_done {
            return Err(StreamError::Incomplete {
                missing: "`finish_reason`",
            });
        }
        let is_cut = self.parts.finish_reason.as_deref().is_some_and(is_cut_off);
        let mut extras = self.extras;
        let last = self.read.keys().next_back().copied();
        for (number, call) in self.read {
            let Some(call) = call else { continue };
            let is_object = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
            let is_bare = last == Some(number) && call.arguments.trim().is_empty();
            let is_cut = is_cut && (is_bare || call.status == Status::Truncated && !is_object);
            self.parts.calls.push(PartCall {
                id: call.id,
                name: call.tool,
                arguments: call.arguments,
                extra: extras.remove(&number),
                is_cut,
            });
        }
        self.parts.into_response(self.fields).map_err(StreamError::Call)
    }
}

impl StreamedChoice {
    fn choice(
        &mut self,
        choice: &Value,
        surrogates: &mut PendingSurrogates,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), StreamError> {
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !matches!(reason, "" | "null")
        {
            if matches!(reason, "error" | "abort") {
                let error = choice.get("error").or(choice.get("message"));
                return Err(StreamError::api(error.unwrap_or(&reason.into())));
            }
            self.parts.finish_reason = Some(reason.to_owned());
        }
        if let Some(delta) = choice.get("delta").and_then(Value::as_object) {
            self.delta(delta, deltas);
        }
        if self.parts.finish_reason.is_some() {
            self.end_texts(surrogates, deltas);
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Map<String, Value>, deltas: &mut Vec<Delta>) {
        let mut is_shown = false; // some servers send the same text in two fields
        for (field, value) in delta {
            match (field.as_str(), value) {
                ("content", content) => self.content(content, deltas),
                ("refusal", Value::String(text)) if !text.is_empty() => {
                    self.parts.declined.push_str(text);
                    deltas.push(Delta::Text(text.clone()));
                }
                ("reasoning_content" | "reasoning", Value::String(text)) if !text.is_empty() => {
                    let kept = self.parts.reasoning.entry(field.clone()).or_insert("".into());
                    push_text(kept, text);
                    if !std::mem::replace(&mut is_shown, true) {
                        deltas.push(Delta::Thinking(text.clone()));
                    }
                }
                ("reasoning_details", Value::Array(details)) if !details.is_empty() => {
                    let kept = self
                        .parts
                        .reasoning
                        .entry(field.clone())
                        .or_insert(Value::Array(Vec::new()));
                    for detail in details {
                        push_detail(kept, detail);
                    }
                }
                _ => {}
            }
        }
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        let texts = details
            .into_iter()
            .flatten()
            .filter_map(|detail| detail.get("text")?.as_str());
        let text: String = texts.collect();
        if !is_shown && !text.is_empty() {
            deltas.push(Delta::Thinking(text));
        }
    }

    /// Ends the texts of the delta.
    fn end_texts(&mut self, surrogates: &mut PendingSurrogates, deltas: &mut Vec<Delta>) {
        for chunk in surrogates.end(|_| true) {
            let choices = chunk.get("choices").and_then(Value::as_array);
            for choice in choices.into_iter().flatten().filter(|choice| is_first(choice)) {
                if let Some(delta) = choice.get("delta").and_then(Value::as_object) {
                    self.delta(delta, deltas);
                }
            }
        }
    }

    /// Takes a piece of the content: a text, or a list of parts from some compatible servers.
    fn content(&mut self, content: &Value, deltas: &mut Vec<Delta>) {
        match content {
            Value::String(text) if !text.is_empty() => {
                deltas.push(Delta::Text(text.clone()));
                match &mut self.parts.content {
                    Value::Null => self.parts.content = text.as_str().into(),
                    Value::Array(parts) => {
                        push_part(parts, &serde_json::json!({ "type": "text", "text": text }));
                    }
                    kept => push_text(kept, text),
                }
            }
            Value::Array(parts) => {
                for part in parts {
                    let text = part.get("text").and_then(Value::as_str);
                    if let Some(text) = text.filter(|_| part.get("type").is_none_or(|kind| kind == "text")) {
                        self.content(&text.into(), deltas);
                        continue;
                    }
                    let thinking = part
                        .get("thinking")
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten();
                    let thinking: String = thinking.filter_map(|part| part.get("text")?.as_str()).collect();
                    if !thinking.is_empty() {
                        deltas.push(Delta::Thinking(thinking));
                    }
                    let kept = match self.parts.content.take() {
                        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
                        Value::Array(parts) => parts,
                        _ => Vec::new(),
                    };
                    self.parts.content = kept.into();
                    if let Value::Array(kept) = &mut self.parts.content {
                        push_part(kept, part);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns whether a choice is the first one.
fn is_first(choice: &Value) -> bool {
    let index = choice.get("index").and_then(Value::as_u64);
    index.unwrap_or_default() == 0
}

/// Appends to a text.
fn push_text(kept: &mut Value, more: &str) {
    if let Value::String(text) = kept {
        text.push_str(more);
    }
}

/// Adds a part of the content, or appends its text to the last part.
fn push_part(parts: &mut Vec<Value>, part: &Value) {
    if let Some(last) = parts.last_mut()
        && last.get("type") == part.get("type")
        && let (Some(text), Some(more)) = (last.get_mut("text"), part.get("text").and_then(Value::as_str))
    {
        return push_text(text, more);
    }
    parts.push(part.clone());
}

/// Adds a piece of `reasoning_details`. Pieces with equal index and type are joined.
fn push_detail(kept: &mut Value, detail: &Value) {
    let Value::Array(kept) = kept else { return };
    let same =
        |last: &Value| last.get("index") == detail.get("index") && last.get("type") == detail.get("type");
    if detail.get("index").is_some()
        && let Some(Value::Object(last)) = kept.last_mut().filter(|last| same(last))
    {
        for (field, value) in detail.as_object().into_iter().flatten() {
            match (last.get_mut(field), value) {
                (Some(Value::String(text)), Value::String(more))
                    if matches!(field.as_str(), "text" | "summary" | "data") =>
                {
                    text.push_str(more);
                }
                (_, Value::Null) => {}
                _ => drop(last.insert(field.clone(), value.clone())),
            }
        }
        return;
    }
    kept.push(detail.clone());
}

/// Returns whether an `error` is empty.
fn is_blank_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
