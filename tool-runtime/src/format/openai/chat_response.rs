//! [`Response`]: a whole response, split into the message for the next request and the fields that only responses
//! have.

use serde_json::{Map, Value, json};

use crate::call::tool_call::ToolCall;
use crate::format::call_arguments::{called, sent_back};
use crate::format::call_ids::CallIds;
use crate::format::fields::FormatError;

/// A whole response of the chat completions API, streamed or not: its first choice.
///
/// `try_from` converts a body without `stream: true`; a [`ResponseReader`](super::chat::ResponseReader) reads a
/// stream.
///
/// ```
/// use tool_runtime::format::openai::chat::Response;
/// use tool_runtime::serde_json::json;
///
/// let body = json!({
///     "id": "chatcmpl-1", "model": "gpt", "usage": { "total_tokens": 9 },
///     "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
///         "role": "assistant", "content": null, "refusal": null, "annotations": [],
///         "tool_calls": [{ "id": "call_1", "type": "function", "function": { "name": "now", "arguments": "{}" } }],
///     } }],
/// });
/// let response = Response::try_from(body).unwrap();
/// assert_eq!(response.finish_reason.as_deref(), Some("tool_calls"));
/// assert_eq!(response.calls[0].name, "now");
/// assert_eq!(response.usage["total_tokens"], 9);
/// assert_eq!(
///     response.message,
///     json!({
///         "role": "assistant",
///         "content": null,
///         "tool_calls": [{ "id": "call_1", "type": "function", "function": { "name": "now", "arguments": "{}" } }],
///     }),
/// );
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Response {
    /// Message for the next request: content, calls, and the reasoning in the field of the compatible server. Each
    /// call has a unique id, and the text of an object as its arguments, even if they could not be parsed.
    pub message: Value,
    /// Calls in the message, in order, with the model's own arguments; streamed arguments are repaired if the repair
    /// is certain. Each call needs a result. Unparsable arguments are kept, so that the registry's result explains
    /// the fault.
    pub calls: Vec<ToolCall>,
    /// `stop`, `tool_calls`, `length`, `content_filter` …; `None` if a stream ended with only `[DONE]`. Compatible
    /// servers also send `stop` with calls: check [`calls`](Self::calls), unless [`is_cut_off`](Self::is_cut_off).
    pub finish_reason: Option<String>,
    /// Number of tokens used, by kind; empty if the server did not report it.
    pub usage: Map<String, Value>,
    /// All other fields of the response, in their order: `id`, `model`, `created` …
    pub rest: Map<String, Value>,
}

impl Response {
    /// Returns whether the response was truncated by its length or a filter: its calls should not run.
    pub fn is_cut_off(&self) -> bool {
        self.finish_reason.as_deref().is_some_and(is_cut_off)
    }
}

impl TryFrom<Value> for Response {
    type Error = FormatError;

    /// Splits the body of a response.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no choice with a message, or a call has no name.
    fn try_from(body: Value) -> Result<Self, FormatError> {
        let missing = |field, wanted| FormatError::Missing {
            subject: "a response",
            field,
            wanted,
        };
        let Value::Object(mut rest) = body else {
            return Err(missing("choices", "a list"));
        };
        let first = rest
            .get_mut("choices")
            .and_then(|choices| choices.get_mut(0))
            .map(Value::take)
            .ok_or(missing("choices", "a list with a choice"))?;
        let finish_reason = first.get("finish_reason").and_then(Value::as_str);
        let mut parts = Parts {
            finish_reason: finish_reason.map(str::to_owned),
            ..Parts::default()
        };
        let message = first
            .get("message")
            .and_then(Value::as_object)
            .ok_or(missing("message", "an object"))?;
        for (field, value) in message {
            match (field.as_str(), value) {
                ("content", content) => parts.content = content.clone(),
                ("refusal", Value::String(text)) => parts.declined.clone_from(text),
                ("reasoning_content" | "reasoning" | "reasoning_details", reasoning)
                    if !is_empty(reasoning) =>
                {
                    parts.reasoning.insert(field.clone(), reasoning.clone());
                }
                ("tool_calls", Value::Array(calls)) => {
                    parts.calls.extend(calls.iter().map(PartCall::from_value));
                }
                ("function_call", function @ Value::Object(_)) => {
                    parts
                        .calls
                        .push(PartCall::from_value(&json!({ "function": function })));
                }
                _ => {}
            }
        }
        if finish_reason.is_some_and(is_cut_off)
            && let Some(last) = parts.calls.last_mut()
        {
            last.is_cut = serde_json::from_str::<Map<String, Value>>(&last.arguments).is_err();
        }
        parts.into_response(rest)
    }
}

/// Parts of a message.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) content: Value,
    /// Text of the refusal.
    pub(super) declined: String,
    pub(super) reasoning: Map<String, Value>,
    pub(super) calls: Vec<PartCall>,
    pub(super) finish_reason: Option<String>,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            content: Value::Null,
            declined: String::new(),
            reasoning: Map::new(),
            calls: Vec::new(),
            finish_reason: None,
        }
    }
}

/// A call of a message.
#[derive(Debug)]
pub(super) struct PartCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
    /// Fields of compatible servers that have to be sent back, such as the signatures of Gemini.
    pub(super) extra: Option<Value>,
    /// Whether the call was truncated, so that the message omits it.
    pub(super) is_cut: bool,
}

impl PartCall {
    fn from_value(call: &Value) -> Self {
        let function = call.get("function").unwrap_or(&Value::Null);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        Self {
            id: text(call.get("id")),
            name: text(function.get("name")).unwrap_or_default(),
            arguments,
            extra: call.get("extra_content").cloned(),
            is_cut: false,
        }
    }
}

impl Parts {
    /// Creates the response; `rest` are the fields beside the choices.
    pub(super) fn into_response(self, mut rest: Map<String, Value>) -> Result<Response, FormatError> {
        let usage = match rest.shift_remove("usage") {
            Some(Value::Object(usage)) => usage,
            _ => Map::new(),
        };
        for constant in ["choices", "object"] {
            rest.shift_remove(constant);
        }
        let mut ids = CallIds::default();
        let mut calls = Vec::new();
        let mut tool_calls = Vec::new();
        for part in self.calls.into_iter().filter(|call| !call.is_cut) {
            if part.name.is_empty() {
                return Err(FormatError::Missing {
                    subject: "a tool call",
                    field: "name",
                    wanted: "a string",
                });
            }
            let id = ids.unique(part.id);
            let function = json!({ "name": part.name, "arguments": sent_back(&part.arguments) });
            let mut call = json!({ "id": id, "type": "function", "function": function });
            if let (Some(extra), Value::Object(call)) = (part.extra, &mut call) {
                call.insert("extra_content".to_owned(), extra);
            }
            tool_calls.push(call);
            calls.push(ToolCall::new(id, part.name, called(part.arguments)));
        }
        let is_blank = match &self.content {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(parts) => parts.is_empty(),
            _ => true,
        };
        let content = match self.content {
            _ if is_blank && (!tool_calls.is_empty() || !self.declined.is_empty()) => Value::Null,
            Value::Null => "".into(),
            content => content,
        };
        let mut message = Map::from_iter([
            ("role".to_owned(), "assistant".into()),
            ("content".to_owned(), content),
        ]);
        if !self.declined.is_empty() {
            message.insert("refusal".to_owned(), self.declined.into());
        }
        message.extend(self.reasoning);
        if !tool_calls.is_empty() {
            message.insert("tool_calls".to_owned(), tool_calls.into());
        }
        Ok(Response {
            message: message.into(),
            calls,
            finish_reason: self.finish_reason,
            usage,
            rest,
        })
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns whether a response with this `finish_reason` was truncated.
pub(super) fn is_cut_off(finish_reason: &str) -> bool {
    CUT_OFF
        .iter()
        .any(|word| word.eq_ignore_ascii_case(finish_reason))
}

const CUT_OFF: [&str; 16] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_context_window_exceeded",
    "content_filter",
    "refusal",
    "insufficient_system_resource",
    "aborted",
    "cancelled",
    "timeout",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "malformed_function_call",
];
