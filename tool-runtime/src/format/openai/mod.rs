//! OpenAI's two APIs, and compatible servers.
//!
//! Sources: <https://platform.openai.com/docs/guides/function-calling>,
//! <https://platform.openai.com/docs/guides/structured-outputs> (the strict forms).
//!
//! These APIs have no field for failed calls: only the text reports a failure. Fields that only Anthropic's API has
//! (`input_examples`, `cache_control` …) are omitted.

mod chat_response;
#[cfg(feature = "stream")]
mod chat_reader;
mod responses_response;
#[cfg(feature = "stream")]
mod responses_reader;

use serde_json::{Map, Value, json};

use crate::call::tool_call::ToolCall;
use crate::wire::definition::ToolDefinition;
use crate::wire::message::Block;
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::{Content, ToolResult};

use super::fields::{FormatError, image, image_url, text};
use super::strict::{NotStrict, StrictTool, Subset};

/// The chat completions API.
pub mod chat {
    use super::{
        Content, FormatError, NotStrict, StrictTool, Subset, ToolCall, ToolDefinition, ToolResult, Value,
        function, json, list, shown, text, text_block,
    };

    #[cfg(feature = "stream")]
    pub use super::chat_reader::ResponseReader;
    pub use super::chat_response::Response;

    /// Converts to a member of the request's `tools`.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, format::openai::chat, serde_json::json};
    ///
    /// let schema = json!({ "type": "object", "properties": {} });
    /// assert_eq!(
    ///     chat::tool(&ToolDefinition::new("now", "Tell the time.", schema.clone())),
    ///     json!({
    ///         "type": "function",
    ///         "function": { "name": "now", "description": "Tell the time.", "parameters": schema, "strict": false },
    ///     }),
    /// );
    /// ```
    pub fn tool(definition: &ToolDefinition) -> Value {
        json!({ "type": "function", "function": shown(definition) })
    }

    /// Converts like [`tool`], with `strict: true` and a schema in the published subset of JSON Schema.
    ///
    /// The form requires all parameters, so the model sends `null` for optional ones. Use `Lenient` or `Lossless` for
    /// such calls: `Strict` rejects `null` for a parameter with a default.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, format::openai::chat, serde_json::json};
    ///
    /// let definition = ToolDefinition::new("wait", "Wait.", json!({
    ///     "type": "object",
    ///     "properties": { "seconds": { "type": "integer", "description": "How long." } },
    /// }));
    /// let tool = match chat::strict_tool(&definition) {
    ///     Ok(strict) => strict.tool,
    ///     Err(_) => chat::tool(&definition), // a map with free keys, for example
    /// };
    /// assert_eq!(
    ///     tool["function"]["parameters"]["properties"]["seconds"]["type"],
    ///     json!(["integer", "null"]),
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the schema cannot be converted; send [`tool`] then.
    pub fn strict_tool(definition: &ToolDefinition) -> Result<StrictTool, NotStrict> {
        Subset::OpenAi.strict_tool(
            definition,
            |schema| json!({ "type": "function", "function": function(definition, schema, true) }),
        )
    }

    /// Returns the calls in a model's message, in order: its `tool_calls`.
    ///
    /// ```
    /// use tool_runtime::{ToolOutput, ToolResult, format::openai::chat, serde_json::json};
    ///
    /// let message = json!({ "role": "assistant", "tool_calls": [
    ///     { "id": "call_1", "type": "function", "function": { "name": "now", "arguments": "{}" } },
    /// ] });
    /// let calls = chat::calls(&message).unwrap();
    /// assert_eq!(calls[0].name, "now");
    ///
    /// let answer = ToolResult::new(&calls[0].id, ToolOutput::text("noon"));
    /// assert_eq!(
    ///     chat::result(&answer).unwrap(),
    ///     json!({ "role": "tool", "tool_call_id": "call_1", "content": "noon" }),
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a member is not a function call with an `id` and a `name`.
    pub fn calls(message: &Value) -> Result<Vec<ToolCall>, FormatError> {
        list(message.get("tool_calls")).map(call).collect()
    }

    /// Converts a member of `tool_calls`; its `arguments` remain text.
    ///
    /// # Errors
    ///
    /// Returns an error if the member is not a function call with an `id` and a `name`.
    pub fn call(call: &Value) -> Result<ToolCall, FormatError> {
        let function = call.get("function").ok_or(FormatError::Missing {
            subject: "a tool call",
            field: "function",
            wanted: "an object; other kinds of calls are the API's own",
        })?;
        let id = text(call, "a tool call", "id")?;
        Ok(ToolCall::new(
            id,
            text(function, "a tool call", "name")?,
            super::arguments(function),
        ))
    }

    /// Converts to the `role: "tool"` message with the result of a call.
    ///
    /// # Errors
    ///
    /// Returns an error if the result has blocks other than text.
    pub fn result(result: &ToolResult) -> Result<Value, FormatError> {
        let content = match &result.content {
            Content::Text(text) => text.as_str().into(),
            Content::Blocks(blocks) => {
                let parts = blocks.iter().map(|block| {
                    text_block(block, "text").ok_or_else(|| FormatError::Block {
                        api: "the chat completions API",
                        kind: block.kind().to_owned(),
                    })
                });
                Value::Array(parts.collect::<Result<_, _>>()?)
            }
        };
        Ok(json!({ "role": "tool", "tool_call_id": result.tool_use_id, "content": content }))
    }
}

/// The Responses API.
pub mod responses {
    use super::{
        Block, Content, FormatError, Map, NotStrict, StrictTool, Subset, ToolCall, ToolDefinition,
        ToolResult, Value, function, image, image_url, json, list, shown, text, text_block,
    };

    #[cfg(feature = "stream")]
    pub use super::responses_reader::ResponseReader;
    pub use super::responses_response::Response;

    /// Converts to a member of the request's `tools`.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, format::openai::responses, serde_json::json};
    ///
    /// let schema = json!({ "type": "object", "properties": {} });
    /// assert_eq!(
    ///     responses::tool(&ToolDefinition::new("now", "Tell the time.", schema.clone())),
    ///     json!({
    ///         "type": "function",
    ///         "name": "now",
    ///         "description": "Tell the time.",
    ///         "parameters": schema,
    ///         "strict": false,
    ///     }),
    /// );
    /// ```
    pub fn tool(definition: &ToolDefinition) -> Value {
        flat(shown(definition))
    }

    /// Converts like [`tool`], with `strict: true` and a schema in the published subset of JSON Schema.
    ///
    /// The form requires all parameters, so the model sends `null` for optional ones. Use `Lenient` or `Lossless` for
    /// such calls: `Strict` rejects `null` for a parameter with a default.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema cannot be converted; send [`tool`] then.
    pub fn strict_tool(definition: &ToolDefinition) -> Result<StrictTool, NotStrict> {
        Subset::OpenAi.strict_tool(definition, |schema| flat(function(definition, schema, true)))
    }

    fn flat(function: Map<String, Value>) -> Value {
        let mut tool = Map::from_iter([("type".to_owned(), "function".into())]);
        tool.extend(function);
        Value::Object(tool)
    }

    /// Returns the calls in a response, in order: the `function_call` items of its `output`.
    ///
    /// ```
    /// use tool_runtime::{ToolOutput, ToolResult, format::openai::responses, serde_json::json};
    ///
    /// let response = json!({ "output": [
    ///     { "type": "function_call", "call_id": "call_1", "name": "now", "arguments": "{}" },
    /// ] });
    /// let calls = responses::calls(&response).unwrap();
    /// assert_eq!(calls[0].name, "now");
    ///
    /// let answer = ToolResult::new(&calls[0].id, ToolOutput::text("noon"));
    /// assert_eq!(
    ///     responses::result(&answer).unwrap(),
    ///     json!({ "type": "function_call_output", "call_id": "call_1", "output": "noon" }),
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if an item has no `call_id` or no `name`.
    pub fn calls(response: &Value) -> Result<Vec<ToolCall>, FormatError> {
        let items = list(response.get("output"));
        let calls = items.filter(|item| item.get("type").and_then(Value::as_str) == Some("function_call"));
        calls.map(call).collect()
    }

    /// Converts a `function_call` item; its `arguments` remain text.
    ///
    /// # Errors
    ///
    /// Returns an error if the item has no `call_id` or no `name`.
    pub fn call(item: &Value) -> Result<ToolCall, FormatError> {
        let id = text(item, "a `function_call` item", "call_id")?;
        let name = text(item, "a `function_call` item", "name")?;
        Ok(ToolCall::new(id, name, super::arguments(item)))
    }

    /// Converts to the `function_call_output` item with the result of a call.
    ///
    /// # Errors
    ///
    /// Returns an error if the result has a block that is neither text nor an image.
    pub fn result(result: &ToolResult) -> Result<Value, FormatError> {
        let output = match &result.content {
            Content::Text(text) => text.as_str().into(),
            Content::Blocks(blocks) => Value::Array(blocks.iter().map(part).collect::<Result<_, _>>()?),
        };
        Ok(json!({ "type": "function_call_output", "call_id": result.tool_use_id, "output": output }))
    }

    fn part(block: &Block) -> Result<Value, FormatError> {
        if let Some(part) = text_block(block, "input_text") {
            return Ok(part);
        }
        let url = match image(block) {
            Some((media_type, data)) => Some(format!("data:{media_type};base64,{data}")),
            None => image_url(block).map(str::to_owned),
        };
        match url {
            Some(url) if block.kind() == "image" => Ok(json!({ "type": "input_image", "image_url": url })),
            _ => Err(FormatError::Block {
                api: "the Responses API",
                kind: block.kind().to_owned(),
            }),
        }
    }
}

/// Returns the function with the flat form of its schema.
fn shown(definition: &ToolDefinition) -> Map<String, Value> {
    let definition = definition.flattened();
    function(&definition, definition.input_schema.clone(), false)
}

fn function(definition: &ToolDefinition, parameters: Value, strict: bool) -> Map<String, Value> {
    Map::from_iter([
        ("name".to_owned(), definition.name.as_str().into()),
        ("description".to_owned(), definition.description.as_str().into()),
        ("parameters".to_owned(), parameters),
        // Explicit, because the default of the Responses API is `true`.
        ("strict".to_owned(), strict.into()),
    ])
}

/// Returns the arguments: text, as in both APIs, or an object, as from some compatible servers.
fn arguments(call: &Value) -> RawArguments<'_> {
    match call.get("arguments") {
        Some(Value::String(text)) => text.into(),
        Some(other) => other.clone().into(),
        None => Value::Null.into(),
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn text_block(block: &Block, kind: &str) -> Option<Value> {
    let text = block.str("text").filter(|_| block.kind() == "text")?;
    Some(json!({ "type": kind, "text": text }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::output::convert::IntoToolOutput;
    use crate::wire::result::{Blocks, ToolOutput};

    #[test]
    fn chat_converts_calls_and_results() {
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "call_1", "type": "function", "function": { "name": "now", "arguments": "{\"n\": 1.50}" } },
        ] });
        let calls = chat::calls(&message).unwrap();
        assert_eq!((calls[0].id.as_str(), calls[0].name.as_str()), ("call_1", "now"));
        assert_eq!(calls[0].input, "{\"n\": 1.50}".into());
        assert!(
            chat::calls(&json!({ "role": "assistant", "content": "hi" }))
                .unwrap()
                .is_empty()
        );
        let custom = json!({ "tool_calls": [{ "id": "call_1", "type": "custom", "custom": {} }] });
        assert!(chat::calls(&custom).is_err());

        let answer = ToolResult::new("call_1", ToolOutput::text("noon"));
        assert_eq!(
            chat::result(&answer).unwrap(),
            json!({ "role": "tool", "tool_call_id": "call_1", "content": "noon" }),
        );
        let image = ToolResult::new(
            "call_1",
            Blocks(vec![Block::image("image/png", "AAAA")]).into_tool_output(),
        );
        assert_eq!(
            chat::result(&image).unwrap_err().to_string(),
            "the chat completions API takes no `image` block in a tool's result; send text",
        );
    }

    #[test]
    fn responses_converts_calls_and_results() {
        let response = json!({ "output": [
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "now", "arguments": "{}" },
        ] });
        let calls = responses::calls(&response).unwrap();
        assert_eq!(calls.len(), 1);
        assert_eq!((calls[0].id.as_str(), calls[0].name.as_str()), ("call_1", "now"));

        let seen = Blocks(vec![Block::text("see"), Block::image("image/png", "AAAA")]);
        assert_eq!(
            responses::result(&ToolResult::new("call_1", seen.into_tool_output())).unwrap(),
            json!({ "type": "function_call_output", "call_id": "call_1", "output": [
                { "type": "input_text", "text": "see" },
                { "type": "input_image", "image_url": "data:image/png;base64,AAAA" },
            ] }),
        );
    }
}
