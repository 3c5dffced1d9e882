//! Canonical form of messages, system prompts and tools, without the differences that clients add when they echo messages.
//!
//! A value is projected, and then written as RFC 8785 defines. The projection removes `cache_control`, nulls, `is_error: false`, empty text
//! blocks and thinking, and turns a string into one text block. The arguments of calls are not projected, since a null is a value there.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::texts::is_space;
use crate::wire::block::Block;
use crate::wire::object::has_escapes;

/// Returns the canonical content of messages as one list of blocks.
pub(crate) fn content<'b>(blocks: impl Iterator<Item = &'b Block>) -> Vec<Value> {
    blocks
        .filter_map(|block| {
            let mut value = value(block.as_str());
            project(&mut value).then_some(value)
        })
        .collect()
}

/// Parses a JSON text. A text that this program cannot parse (a number outside the range of doubles, half a surrogate pair, too many
/// levels) becomes a string value.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Removes the fields of a block that digests ignore. Returns whether the block is kept.
fn project(block: &mut Value) -> bool {
    let Value::Object(fields) = block else {
        return true;
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("thinking" | "redacted_thinking") => return false,
        Some("text") if fields.get("text").is_none_or(|text| text == "") => return false,
        _ => {}
    }
    fields.retain(|name, value| project_field(name, value));
    true
}

fn project_field(name: &str, value: &mut Value) -> bool {
    match (name, value) {
        ("cache_control", _) | (_, Value::Null) | ("is_error", Value::Bool(false)) => return false,
        ("input", _) => {}
        // Content of tool results, documents and other blocks.
        ("content", Value::String(text)) if text.is_empty() => return false,
        ("content", value @ Value::String(_)) => {
            let mut block = Map::new();
            block.insert("type".to_owned(), "text".into());
            block.insert("text".to_owned(), value.take());
            *value = Value::Array(vec![Value::Object(block)]);
        }
        ("content", Value::Array(blocks)) => {
            blocks.retain_mut(project);
            return !blocks.is_empty();
        }
        (_, value) => remove_nulls(value),
    }
    true
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            remove_nulls(value);
            !value.is_null() && name != "cache_control"
        }),
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// Returns the canonical form of a system prompt: a string or a list of text blocks.
pub(super) fn system(text: Option<&str>) -> Vec<Value> {
    match text.map_or(Value::Null, value) {
        Value::String(text) => content([Block::text(&text)].iter()),
        Value::Array(mut blocks) => {
            blocks.retain_mut(project);
            blocks
        }
        Value::Null => Vec::new(),
        other => vec![other],
    }
}

/// Returns the canonical form of the declared tools.
pub(super) fn tools(tools: &[&str]) -> Vec<Value> {
    let without_nulls = |tool: &&str| {
        let mut tool = value(tool);
        remove_nulls(&mut tool);
        tool
    };
    tools.iter().map(without_nulls).collect()
}

/// Joins neighbouring texts of canonical content, and removes their white space, for the look-up key of an assistant message. Without
/// `has_input`, removes the arguments of calls.
pub(super) fn joined(blocks: &[Value], has_input: bool) -> Vec<Cow<'_, Value>> {
    let mut joined: Vec<Cow<'_, Value>> = Vec::new();
    let mut text = String::new();
    for block in blocks {
        if let Some(own) = plain_text(block) {
            text.extend(own.chars().filter(|character| !is_space(*character)));
            continue;
        }
        joined.extend(take_text(&mut text));
        joined.push(match block {
            Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "text") => {
                let mut block = block.clone();
                if let Some(Value::String(own)) = block.get_mut("text") {
                    own.retain(|character| !is_space(character));
                }
                Cow::Owned(block)
            }
            Value::Object(fields) if !has_input && fields.contains_key("input") => {
                let mut fields = fields.clone();
                fields.shift_remove("input");
                Cow::Owned(Value::Object(fields))
            }
            _ => Cow::Borrowed(block),
        });
    }
    joined.extend(take_text(&mut text));
    joined
}

/// Returns the text of a block that has no other fields, such as citations, which are lost when texts are joined.
fn plain_text(block: &Value) -> Option<&str> {
    let fields = block.as_object().filter(|fields| fields.len() == 2)?;
    let text = fields
        .get("text")
        .filter(|_| fields.get("type").is_some_and(|kind| kind == "text"));
    text?.as_str()
}

/// Returns the collected text as a block, unless it is empty.
fn take_text(text: &mut String) -> Option<Cow<'static, Value>> {
    let text = Some(std::mem::take(text)).filter(|text| !text.is_empty())?;
    let fields = [("text", text), ("type", "text".to_owned())];
    let fields = fields.map(|(name, value)| (name.to_owned(), Value::String(value)));
    Some(Cow::Owned(Value::Object(Map::from_iter(fields))))
}

/// Returns the part of a canonical block that stays equal when a client trims texts and, if `has_input` is false, rewrites arguments.
pub(super) fn outline(mut block: Value, has_input: bool) -> Value {
    if let Some(Value::String(text)) = block.get_mut("text") {
        *text = text.trim().to_owned();
    }
    if let Some(fields) = block.as_object_mut().filter(|_| !has_input) {
        fields.shift_remove("input");
    }
    block
}

/// Serializes a value as RFC 8785 defines: sorted keys, and numbers as in JavaScript.
pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

/// Serializes a list with these items as RFC 8785 defines.
pub(super) fn list_bytes(items: &[impl Borrow<Value>]) -> Vec<u8> {
    let mut out = Vec::new();
    write_list(items, &mut out);
    out
}

// Every request is serialized several times. `serde_json_canonicalizer` allocates buffers for each field, and is several times slower.
fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => write_list(items, out),
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by(|(left, _), (right, _)| utf16_order(left, right));
            out.push(b'{');
            for (index, (name, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(name, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
    }
}

fn write_list(items: &[impl Borrow<Value>], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item.borrow(), out);
    }
    out.push(b']');
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    // Doubles represent all integers up to this one, and JavaScript writes them with all digits.
    const EXACT: u64 = 1 << 53;
    if number
        .as_i64()
        .is_some_and(|integer| integer.unsigned_abs() <= EXACT)
    {
        out.extend_from_slice(number.to_string().as_bytes());
        return;
    }
    // The call fails only for numbers outside the range of doubles, which `serde_json` does not parse.
    let text = serde_json_canonicalizer::to_vec(number);
    out.extend(text.unwrap_or_else(|_| number.to_string().into_bytes()));
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    if !has_escapes(text) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    // `serde_json` escapes like RFC 8785. Writes to memory do not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Compares texts by UTF-16 code units.
fn utf16_order(left: &str, right: &str) -> Ordering {
    if left.is_ascii() && right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(blocks: &[&str]) -> String {
        let blocks: Vec<_> = blocks.iter().map(|block| Block::new(*block)).collect();
        String::from_utf8(bytes(&Value::Array(content(blocks.iter())))).unwrap()
    }

    #[test]
    fn ignores_changes_that_clients_make() {
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
    fn bytes_match_the_reference_implementation() {
        let texts = [
            r#"{"b":[true,false,null,{}],"a":{"z":[],"y":{"x":1}},"":"","a.b":"/","aa":1}"#,
            r"[0,-0,-0.0,1.0,1.5,-2,9007199254740991,9007199254740992,9007199254740993,-9007199254740993,
                18446744073709551615,-9223372036854775808,1e21,1e20,1e-7,0.000001,123456789012345680000,1.7976931348623157e308]",
            r#""\u0000\u001f\b\t\n\f\r\"\\/\u007f\u0080\u2028\ud83d\ude00é""#,
            // UTF-16 sorts the second key, a surrogate pair, before the first; UTF-8 does not.
            r#"{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"ö":7}"#,
        ];
        for text in texts {
            let value: Value = serde_json::from_str(text).unwrap();
            let reference = serde_json_canonicalizer::to_string(&value).unwrap();
            assert_eq!(String::from_utf8(bytes(&value)).unwrap(), reference);
        }
    }

    #[test]
    fn different_content_has_different_bytes() {
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
