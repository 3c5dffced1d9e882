//! The Anthropic Messages API. [`Message`] and [`Block`] are the types of its messages and content blocks.
//!
//! Source: <https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools>.

mod response;
#[cfg(feature = "stream")]
mod reader;

use serde_json::Value;

use crate::call::tool_call::ToolCall;
use crate::wire::definition::ToolDefinition;
use crate::wire::message::{Block, Message, MessageContent};
use crate::wire::result::ToolResult;

use super::fields::{FormatError, text};
use super::strict::{NotStrict, StrictTool, Subset};

#[cfg(feature = "stream")]
pub use reader::ResponseReader;
pub use response::Response;

/// Converts a definition to a member of the request's `tools`. The member is the serialized definition, whose
/// schema is [flat](ToolDefinition::flattened).
///
/// ```
/// use tool_runtime::{ToolDefinition, format::anthropic, serde_json::json};
///
/// let schema = json!({ "type": "object", "properties": {} });
/// let tool = anthropic::tool(&ToolDefinition::new("now", "Tell the time.", schema.clone()));
/// assert_eq!(tool, json!({ "name": "now", "description": "Tell the time.", "input_schema": schema }));
/// ```
pub fn tool(definition: &ToolDefinition) -> Value {
    // Strings and JSON values always serialize.
    serde_json::to_value(definition).unwrap_or_default()
}

/// Converts a definition like [`tool`], and adds `strict: true`. The schema is converted to the published subset of JSON
/// Schema, since the API rejects `strict` with other schemas.
///
/// # Errors
///
/// Returns an error if the schema cannot be converted; send [`tool`] without `strict` then.
pub fn strict_tool(definition: &ToolDefinition) -> Result<StrictTool, NotStrict> {
    Subset::Anthropic.strict_tool(definition, |schema| {
        let mut definition = definition.clone();
        definition.input_schema = schema;
        definition.strict = Some(true);
        tool(&definition)
    })
}

/// Returns the calls in a model's message, in order: its `tool_use` blocks.
///
/// ```
/// use tool_runtime::format::anthropic;
/// use tool_runtime::serde_json::{from_value, json, to_value};
/// use tool_runtime::{ToolOutput, ToolResult};
///
/// let message = from_value(json!({ "role": "assistant", "content": [
///     { "type": "text", "text": "Let me look." },
///     { "type": "tool_use", "id": "toolu_01", "name": "now", "input": {} },
/// ] })).unwrap();
/// let calls = anthropic::calls(&message).unwrap();
/// assert_eq!((calls.len(), calls[0].name.as_str()), (1, "now"));
///
/// let answer = ToolResult::new(&calls[0].id, ToolOutput::text("noon"));
/// assert_eq!(
///     to_value(anthropic::results([&answer])).unwrap(),
///     json!({ "role": "user", "content": [
///         { "type": "tool_result", "tool_use_id": "toolu_01", "content": "noon" },
///     ] }),
/// );
/// ```
///
/// # Errors
///
/// Returns an error if a block has no `id` or no `name`.
pub fn calls(message: &Message) -> Result<Vec<ToolCall>, FormatError> {
    let MessageContent::Blocks(blocks) = &message.content else {
        return Ok(Vec::new());
    };
    let uses = blocks.iter().filter(|block| block.kind() == "tool_use");
    uses.map(call).collect()
}

fn call(block: &Block) -> Result<ToolCall, FormatError> {
    let block = Value::Object(block.0.clone());
    let input = block.get("input").cloned().unwrap_or_default();
    Ok(ToolCall::new(
        text(&block, "a `tool_use` block", "id")?,
        text(&block, "a `tool_use` block", "name")?,
        input,
    ))
}

/// Creates the message with the results of a turn: the API requires all of them in one message.
pub fn results<'a>(results: impl IntoIterator<Item = &'a ToolResult>) -> Message {
    let blocks = results
        .into_iter()
        .filter_map(|result| match serde_json::to_value(result) {
            Ok(Value::Object(fields)) => Some(Block(fields)),
            _ => None,
        });
    Message::user(blocks)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::result::ToolOutput;

    #[test]
    fn converts_calls_and_results_of_a_turn() {
        let message: Message = serde_json::from_value(json!({
            "role": "assistant",
            "content": [
                { "type": "text", "text": "Let me look." },
                { "type": "tool_use", "id": "toolu_1", "name": "now", "input": { "zone": "UTC" } },
                { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} },
                { "type": "tool_use", "id": "toolu_2", "name": "now" },
            ],
        }))
        .unwrap();
        let calls = calls(&message).unwrap();
        let seen: Vec<_> = calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str()))
            .collect();
        assert_eq!(seen, [("toolu_1", "now"), ("toolu_2", "now")]);
        assert_eq!(calls[0].input, json!({ "zone": "UTC" }).into());
        assert_eq!(calls[1].input, Value::Null.into());

        let answers = [
            ToolResult::new("toolu_1", ToolOutput::text("noon")),
            ToolResult::new("toolu_2", ToolOutput::error("no zone")),
        ];
        assert_eq!(
            serde_json::to_value(results(&answers)).unwrap(),
            json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": "noon" },
                { "type": "tool_result", "tool_use_id": "toolu_2", "content": "no zone", "is_error": true },
            ] }),
        );
    }

    #[test]
    fn rejects_calls_without_id() {
        let message: Message = serde_json::from_value(json!({
            "role": "assistant", "content": [{ "type": "tool_use", "name": "now", "input": {} }],
        }))
        .unwrap();
        assert_eq!(
            calls(&message).unwrap_err().to_string(),
            "a `tool_use` block needs `id`, a string"
        );
    }
}
