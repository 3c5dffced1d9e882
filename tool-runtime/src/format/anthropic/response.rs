//! [`Response`]: a whole response, split into the message for the next request and the fields that only responses
//! have.

use serde_json::{Map, Value};

use crate::call::tool_call::ToolCall;
use crate::format::call_arguments;
use crate::format::call_ids::CallIds;
use crate::format::fields::FormatError;
use crate::wire::message::{Block, Message, MessageContent};

/// A whole response of the Messages API, streamed or not.
///
/// A body without `stream: true` is deserialized as a [`Message`] first; a [`ResponseReader`](super::ResponseReader)
/// reads a stream.
///
/// ```
/// use tool_runtime::format::anthropic::Response;
/// use tool_runtime::message::Message;
/// use tool_runtime::serde_json::{from_value, json, to_value};
///
/// let body = json!({
///     "id": "msg_01", "type": "message", "role": "assistant", "model": "claude",
///     "content": [{ "type": "tool_use", "id": "toolu_01", "name": "now", "input": {} }],
///     "stop_reason": "tool_use", "stop_sequence": null, "usage": { "input_tokens": 9, "output_tokens": 4 },
/// });
/// let response = Response::try_from(from_value::<Message>(body).unwrap()).unwrap();
/// assert_eq!(response.stop_reason, "tool_use");
/// assert_eq!(response.calls[0].name, "now");
/// assert_eq!(response.usage["output_tokens"], 4);
/// assert_eq!(
///     to_value(&response.message).unwrap(),
///     json!({
///         "role": "assistant",
///         "content": [{ "type": "tool_use", "id": "toolu_01", "name": "now", "input": {} }],
///     }),
/// );
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Response {
    /// Message for the next request. Blocks that the API would reject are omitted: texts of only white space, and the
    /// last block of a truncated response, if it is a call or a thinking block without its signature. Each call has a
    /// unique id, and an object as its `input`, even if the arguments could not be parsed. If no block is left, the
    /// message [is empty](Message::is_empty), and the API rejects it: omit it from the next request.
    pub message: Message,
    /// Calls in the message, in order, with the model's own arguments, repaired if the repair is certain. Each call
    /// needs a result in the next message. Unparsable arguments are kept, so that the registry's result explains the
    /// fault.
    pub calls: Vec<ToolCall>,
    /// `end_turn`, `tool_use`, `max_tokens`, `pause_turn`, `refusal` …
    pub stop_reason: String,
    /// Number of tokens used, by kind.
    pub usage: Map<String, Value>,
    /// All other fields of the response, in their order: `id`, `model`, `stop_sequence` …
    pub rest: Map<String, Value>,
}

impl TryFrom<Message> for Response {
    type Error = FormatError;

    /// Splits a message that was deserialized from a response.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no `stop_reason`, or a call has no `name`.
    fn try_from(mut message: Message) -> Result<Self, FormatError> {
        let fields = std::mem::take(&mut message.response);
        let mut blocks = match message.content {
            MessageContent::Text(text) => vec![Block::text(text)],
            MessageContent::Blocks(blocks) => blocks,
        };
        let is_cut = fields
            .get("stop_reason")
            .and_then(Value::as_str)
            .is_some_and(is_cut_off);
        if is_cut && blocks.last().is_some_and(|block| block.kind() == "tool_use") {
            blocks.pop();
        }
        let blocks = blocks.into_iter().map(|block| ReadBlock {
            block,
            arguments: None,
        });
        let mut response = Self::new(message.role, blocks.collect(), fields)?;
        response.message.rest = message.rest;
        Ok(response)
    }
}

/// A complete block, and the text of its arguments if it is a streamed call.
pub(super) struct ReadBlock {
    pub(super) block: Block,
    pub(super) arguments: Option<String>,
}

impl Response {
    pub(super) fn new(
        role: String,
        mut blocks: Vec<ReadBlock>,
        mut fields: Map<String, Value>,
    ) -> Result<Self, FormatError> {
        let Some(Value::String(stop_reason)) = fields.shift_remove("stop_reason") else {
            return Err(FormatError::Missing {
                subject: "a response",
                field: "stop_reason",
                wanted: "a string",
            });
        };
        let usage = match fields.shift_remove("usage") {
            Some(Value::Object(usage)) => usage,
            _ => Map::new(),
        };
        for constant in ["type", "role", "content"] {
            fields.shift_remove(constant);
        }
        let is_unsigned = |last: &ReadBlock| {
            let signature = last.block.str("signature").unwrap_or_default();
            last.block.kind() == "thinking" && signature.is_empty()
        };
        if is_cut_off(&stop_reason) && blocks.last().is_some_and(is_unsigned) {
            blocks.pop();
        }
        let mut ids = CallIds::default();
        let mut calls = Vec::new();
        let mut content = Vec::with_capacity(blocks.len());
        for ReadBlock { mut block, arguments } in blocks {
            match block.kind() {
                // https://platform.claude.com/docs/en/api/errors: "text content blocks must contain non-whitespace text".
                "text" if block.str("text").is_none_or(|text| text.trim().is_empty()) => continue,
                "tool_use" => calls.push(take_call(&mut block, arguments, &mut ids)?),
                _ => {}
            }
            content.push(block);
        }
        Ok(Self {
            message: Message::from_blocks(role, content),
            calls,
            stop_reason,
            usage,
            rest: fields,
        })
    }
}

/// Reads the call of a block. An `input` that is not an object is replaced by an object.
fn take_call(
    block: &mut Block,
    arguments: Option<String>,
    ids: &mut CallIds,
) -> Result<ToolCall, FormatError> {
    let id = ids.unique(block.str("id").map(str::to_owned));
    block.0.insert("id".to_owned(), id.as_str().into());
    let name = block.str("name").ok_or(FormatError::Missing {
        subject: "a `tool_use` block",
        field: "name",
        wanted: "a string",
    })?;
    let name = name.to_owned();
    let sent = block.0.get("input").cloned().unwrap_or_default();
    let arguments = arguments.or(sent.as_str().map(str::to_owned));
    let Some(arguments) = arguments else {
        if !sent.is_object() {
            block.0.insert("input".to_owned(), Map::new().into());
        }
        return Ok(ToolCall::new(id, name, sent));
    };
    let input = call_arguments::object(&arguments).unwrap_or_default();
    block.0.insert("input".to_owned(), input.into());
    Ok(ToolCall::new(id, name, arguments))
}

/// Returns whether a response with this `stop_reason` was truncated.
pub(super) fn is_cut_off(stop_reason: &str) -> bool {
    matches!(
        stop_reason,
        "max_tokens" | "model_context_window_exceeded" | "refusal"
    )
}
