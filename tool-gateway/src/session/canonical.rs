//! The canonical form of messages, system prompt and tools: what clients change on the way does not count.
//!
//! A projection, then RFC 8785. Left out are `cache_control`, nulls, `is_error: false`, empty text blocks and thinking; a string is
//! one text block. The arguments of calls stay whole: a null there is a value.

use serde_json::{Map, Value};

use crate::wire::block::Block;

/// The canonical content of messages: one list of blocks.
pub(crate) fn content<'b>(blocks: impl Iterator<Item = &'b Block>) -> Vec<Value> {
    blocks
        .filter_map(|block| match serde_json::from_str(block.as_str()) {
            Ok(value) => projected(value),
            // A number that no double holds, half a surrogate pair, too many levels: the text counts as it is.
            Err(_) => Some(Value::String(block.as_str().to_owned())),
        })
        .collect()
}

/// A block, or `None` if it does not count.
fn projected(block: Value) -> Option<Value> {
    let Value::Object(fields) = block else {
        return Some(block);
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("thinking" | "redacted_thinking") => return None,
        Some("text") if fields.get("text").is_none_or(|text| text == "") => return None,
        _ => {}
    }
    Some(Value::Object(
        fields.into_iter().filter_map(projected_field).collect(),
    ))
}

fn projected_field((name, value): (String, Value)) -> Option<(String, Value)> {
    let value = match (name.as_str(), value) {
        ("cache_control", _) | (_, Value::Null) | ("is_error", Value::Bool(false)) => return None,
        ("input", value) => value,
        // Of tool results, documents and so on.
        ("content", Value::String(text)) if text.is_empty() => return None,
        ("content", Value::String(text)) => {
            let mut block = Map::new();
            block.insert("type".to_owned(), "text".into());
            block.insert("text".to_owned(), text.into());
            Value::Array(vec![Value::Object(block)])
        }
        ("content", Value::Array(blocks)) => {
            let blocks: Vec<_> = blocks.into_iter().filter_map(projected).collect();
            if blocks.is_empty() {
                return None;
            }
            Value::Array(blocks)
        }
        (_, value) => without_nulls(value),
    };
    Some((name, value))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(name, value)| !value.is_null() && name != "cache_control")
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        value => value,
    }
}

/// The canonical form of a system prompt: a string or a list of text blocks.
pub(super) fn system(text: Option<&str>) -> Vec<Value> {
    match text.and_then(|text| serde_json::from_str(text).ok()) {
        Some(Value::String(text)) => content([Block::text(&text)].iter()),
        Some(Value::Array(blocks)) => blocks.into_iter().filter_map(projected).collect(),
        _ => Vec::new(),
    }
}

/// The canonical form of the declared tools.
pub(super) fn tools(tools: &[&str]) -> Vec<Value> {
    let tools = tools.iter().filter_map(|tool| serde_json::from_str(tool).ok());
    tools.map(without_nulls).collect()
}

/// What of a canonical block stays the same when a client trims texts, and, without input, writes arguments anew.
pub(super) fn outline(mut block: Value, has_input: bool) -> Value {
    if let Some(Value::String(text)) = block.get_mut("text") {
        *text = text.trim().to_owned();
    }
    if let Some(fields) = block.as_object_mut().filter(|_| !has_input) {
        fields.shift_remove("input");
    }
    block
}

/// The bytes of RFC 8785: sorted keys, numbers as JavaScript writes them.
pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    // It fails for numbers that no double holds only, and `serde_json` reads none.
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(blocks: &[&str]) -> String {
        let blocks: Vec<_> = blocks.iter().map(|block| Block::new(*block)).collect();
        String::from_utf8(bytes(&Value::Array(content(blocks.iter())))).unwrap()
    }

    #[test]
    fn drifts_of_clients_do_not_count() {
        let sent = of(&[
            r#"{"type":"thinking","thinking":"","signature":"s"}"#,
            r#"{"type":"text","text":"a","cache_control":{"type":"ephemeral"},"citations":null}"#,
            r#"{"type":"text","text":""}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"b":1.0,"a":null,"n":12345678901234567890},"caller":null,"toolset_name":null}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":"x","is_error":false}"#,
        ]);
        let echoed = of(&[
            r#"{"text":"a","type":"text"}"#,
            r#"{"id":"t","input":{"n":12345678901234567000,"a":null,"b":1},"name":"n","type":"tool_use"}"#,
            r#"{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"x","cache_control":null}]}"#,
        ]);
        assert_eq!(sent, echoed);
    }

    #[test]
    fn what_was_said_counts() {
        let text = of(&[r#"{"type":"text","text":"a"}"#]);
        for other in [
            r#"{"type":"text","text":"a "}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#,
        ] {
            assert_ne!(text, of(&[other]));
        }
        let null = of(&[r#"{"type":"tool_use","id":"t","name":"n","input":{"a":null}}"#]);
        assert_ne!(
            null,
            of(&[r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#])
        );
        let failed = of(&[r#"{"type":"tool_result","tool_use_id":"t","is_error":true}"#]);
        assert_ne!(failed, of(&[r#"{"type":"tool_result","tool_use_id":"t"}"#]));
    }
}
