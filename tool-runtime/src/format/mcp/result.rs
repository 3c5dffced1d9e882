//! Converts calls and results, for an MCP server.

use serde_json::{Map, Value, json};

use crate::call::tool_call::ToolCall;
use crate::format::fields::{FormatError, image, text};
use crate::wire::message::Block;
use crate::wire::result::{Content, ToolResult};

/// Converts the `params` of `tools/call` to a call with the request's id.
///
/// ```
/// use tool_runtime::{ToolOutput, ToolResult, format::mcp, serde_json::json};
///
/// let call = mcp::call("7", &json!({ "name": "now", "arguments": {} })).unwrap();
/// let answer = ToolResult::new(&call.id, ToolOutput::error("the clock has stopped"));
/// assert_eq!(
///     mcp::result(&answer).unwrap(),
///     json!({ "content": [{ "type": "text", "text": "the clock has stopped" }], "isError": true }),
/// );
/// ```
///
/// # Errors
///
/// Returns an error if there is no `name`.
pub fn call(id: impl Into<String>, params: &Value) -> Result<ToolCall, FormatError> {
    // Arguments are optional in MCP.
    let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
    Ok(ToolCall::new(
        id,
        text(params, "the `params` of `tools/call`", "name")?,
        arguments,
    ))
}

/// Converts to the result of `tools/call`. A [structured value](ToolResult::structured) that is an object becomes
/// `structuredContent`: this revision supports no other, and the text has the value.
///
/// Content that only MCP has (`audio`, `resource_link` and `resource`) is unchanged, for functions that MCP clients alone call: the
/// APIs of models refuse such blocks.
///
/// # Errors
///
/// Returns an error if the result has another block, or an image that is not base64.
pub fn result(result: &ToolResult) -> Result<Value, FormatError> {
    let content = match &result.content {
        // Hosts forward each text as a block, and Anthropic's API rejects an empty one.
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => vec![json!({ "type": "text", "text": text })],
        Content::Blocks(blocks) => blocks.iter().map(block).collect::<Result<_, _>>()?,
    };
    let mut answer = Map::from_iter([("content".to_owned(), Value::Array(content))]);
    if let Some(value) = result.structured.as_ref().filter(|value| value.is_object()) {
        answer.insert("structuredContent".to_owned(), Value::clone(value));
    }
    if result.is_error {
        answer.insert("isError".to_owned(), true.into());
    }
    Ok(answer.into())
}

fn block(block: &Block) -> Result<Value, FormatError> {
    if let ("text", Some(text)) = (block.kind(), block.str("text")) {
        return Ok(json!({ "type": "text", "text": text }));
    }
    if let ("image", Some((media_type, data))) = (block.kind(), image(block)) {
        return Ok(json!({ "type": "image", "data": data, "mimeType": media_type }));
    }
    let only_mcp = match block.kind() {
        "audio" => block.str("data").is_some() && block.str("mimeType").is_some(),
        "resource_link" => block.str("uri").is_some() && block.str("name").is_some(),
        "resource" => block
            .0
            .get("resource")
            .is_some_and(|resource| resource.get("uri").is_some_and(Value::is_string)),
        _ => false,
    };
    if only_mcp {
        return Ok(block.0.clone().into());
    }
    Err(FormatError::Block {
        api: "MCP",
        kind: block.kind().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::output::convert::IntoToolOutput;
    use crate::wire::result::{Blocks, ToolOutput};

    #[test]
    fn keeps_content_that_only_mcp_has() {
        for content in [
            json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }),
            json!({ "type": "resource_link", "uri": "file:///a", "name": "a", "size": 3 }),
            json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "a" } }),
        ] {
            let block: Block = serde_json::from_value(content.clone()).unwrap();
            let output = ToolOutput::blocks([block]);
            assert_eq!(
                result(&ToolResult::new("7", output)).unwrap()["content"],
                json!([content])
            );
        }
        for kind in ["audio", "resource_link", "resource", "document"] {
            let block: Block = serde_json::from_value(json!({ "type": kind })).unwrap();
            assert!(
                result(&ToolResult::new("7", ToolOutput::blocks([block]))).is_err(),
                "{kind}"
            );
        }
    }

    #[test]
    fn converts_calls_and_results() {
        let call = call("7", &json!({ "name": "forget", "arguments": { "all": true } })).unwrap();
        assert_eq!((call.id.as_str(), call.name.as_str()), ("7", "forget"));
        assert_eq!(call.input, json!({ "all": true }).into());
        let without = super::call("7", &json!({ "name": "forget" })).unwrap();
        assert_eq!(without.input, json!({}).into());

        let failed = ToolResult::new("7", ToolOutput::error("no"));
        assert_eq!(
            result(&failed).unwrap(),
            json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }),
        );
        let seen = Blocks(vec![Block::text("see"), Block::image("image/png", "AAAA")]);
        assert_eq!(
            result(&ToolResult::new("7", seen.into_tool_output())).unwrap(),
            json!({ "content": [
                { "type": "text", "text": "see" },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            ] }),
        );
    }
}
