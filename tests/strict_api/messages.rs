//! The Messages API of Anthropic.

use serde_json::{Map, Value};

use crate::fields::{definition, list, name, object, text, tools};

/// Checks a request. The error has the text of the API's error.
pub fn check(request: &Value) -> Result<(), String> {
    let fields = [
        "model",
        "max_tokens",
        "messages",
        "stream",
        "tools",
        "tool_choice",
        "system",
        "temperature",
        "thinking",
        "metadata",
    ];
    let request = object(request, "request", &fields)?;
    text(request, "request", "model")?;
    let limit = request.get("max_tokens").and_then(Value::as_u64);
    if limit.is_none_or(|limit| limit == 0) {
        return Err("max_tokens: Field required".to_owned());
    }
    for (place, tool) in tools(request) {
        let known = [
            "name",
            "description",
            "input_schema",
            "cache_control",
            "strict",
            "input_examples",
            "type",
        ];
        let tool = object(tool, &place, &known)?;
        definition(tool, &place, "input_schema")?;
    }
    let messages = list(request, "request", "messages")?;
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages.{at}");
        let message = object(message, &place, &["role", "content"])?;
        let role = text(message, &place, "role")?;
        if !["user", "assistant"].contains(&role) || (at == 0 && role != "user") {
            return Err(format!("{place}.role: unexpected role `{role}`"));
        }
        let is_empty = message["content"].as_array().is_some_and(Vec::is_empty);
        if is_empty && (role != "assistant" || at + 1 < messages.len()) {
            return Err(format!(
                "{place}: all messages must have non-empty content except for the optional final assistant message"
            ));
        }
        open = content(message, &place, role, &open)?;
    }
    if !open.is_empty() {
        return Err(unanswered(&open));
    }
    let last = messages.last().unwrap();
    // A paused turn is sent back unchanged.
    let paused = last["content"].as_array().is_some_and(|blocks| {
        let mut blocks = blocks.iter();
        blocks.any(|block| block["type"] == "server_tool_use")
    });
    if last["role"] == "assistant" && !paused {
        return Err("This model does not support assistant message prefill. The conversation must end with a user message.".to_owned());
    }
    Ok(())
}

/// Checks the content of a message after open calls. Returns the calls that the content opens.
fn content(
    message: &Map<String, Value>,
    place: &str,
    role: &str,
    open: &[String],
) -> Result<Vec<String>, String> {
    if let Some(content) = message.get("content").and_then(Value::as_str) {
        if !open.is_empty() {
            return Err(unanswered(open));
        }
        return match content.trim() {
            "" => Err(format!("{place}: text content blocks must be non-empty")),
            _ => Ok(Vec::new()),
        };
    }
    let (mut answered, mut called, mut others) = (Vec::new(), Vec::new(), false);
    for (at, block) in list(message, place, "content")?.iter().enumerate() {
        let place = format!("{place}.content.{at}");
        match (role, self::block(block, &place)?) {
            ("user", Block::Result(_)) if others => {
                return Err(format!("{place}: `tool_result` blocks must come first"));
            }
            ("user", Block::Result(id)) => answered.push(id),
            ("assistant", Block::Call(id)) => called.push(id),
            (_, Block::Other) => others = true,
            _ => return Err(format!("{place}: unexpected block in a message of `{role}`")),
        }
    }
    if let Some(id) = answered.iter().find(|id| !open.contains(id)) {
        return Err(format!(
            "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
        ));
    }
    let left: Vec<String> = open.iter().filter(|id| !answered.contains(id)).cloned().collect();
    if !left.is_empty() {
        return Err(unanswered(&left));
    }
    let mut unique = called.clone();
    unique.sort_unstable();
    unique.dedup();
    if unique.len() != called.len() {
        return Err(format!("{place}: `tool_use` ids must be unique"));
    }
    Ok(called)
}

enum Block {
    Call(String),
    Result(String),
    Other,
}

fn block(block: &Value, place: &str) -> Result<Block, String> {
    let known: &[&str] = match block["type"].as_str().unwrap_or_default() {
        "text" => &["type", "text", "citations", "cache_control"],
        "thinking" => &["type", "thinking", "signature"],
        "redacted_thinking" => &["type", "data"],
        "image" => &["type", "source", "cache_control"],
        "tool_use" => &["type", "id", "name", "input", "caller", "cache_control"],
        "server_tool_use" => &["type", "id", "name", "input", "caller"],
        "tool_result" => &["type", "tool_use_id", "content", "is_error", "cache_control"],
        other => return Err(format!("{place}.type: Input tag '{other}' is not known")),
    };
    let block = object(block, place, known)?;
    match text(block, place, "type")? {
        "text" if text(block, place, "text")?.trim().is_empty() => Err(format!(
            "{place}: text content blocks must contain non-whitespace text"
        )),
        "thinking" if text(block, place, "signature")?.is_empty() => {
            Err(format!("{place}: Invalid `signature` in `thinking` block"))
        }
        "tool_use" | "server_tool_use" => {
            name(block, place, "name")?;
            let id = text(block, place, "id")?;
            if !block.get("input").is_some_and(Value::is_object) {
                return Err(format!("{place}.input: Input should be a valid dictionary"));
            }
            match block["type"] == "tool_use" {
                true => Ok(Block::Call(id.to_owned())),
                false => Ok(Block::Other),
            }
        }
        "tool_result" => {
            let is_empty = match block.get("content") {
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Array(blocks)) => blocks.is_empty(),
                _ => true,
            };
            if is_empty && block.get("is_error") == Some(&Value::Bool(true)) {
                return Err(format!("{place}: content cannot be empty if `is_error` is true"));
            }
            Ok(Block::Result(text(block, place, "tool_use_id")?.to_owned()))
        }
        _ => Ok(Block::Other),
    }
}

fn unanswered(ids: &[String]) -> String {
    format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}",
        ids.join(", ")
    )
}
