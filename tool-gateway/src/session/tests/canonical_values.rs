//! The canonical form, compared with a projection of parsed values. Earlier versions computed their stored digests from such projections.

use serde_json::{Map, Value};

use super::Random;
use crate::session::canonical;
use crate::session::canonical_text::CanonicalText;
use crate::session::texts::is_space;

/// Parses a text. A text that cannot be parsed becomes a string with the text.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Removes the fields of a block that are not part of the canonical content. Returns whether the block is part of it.
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

fn outline(mut block: Value, has_input: bool) -> Value {
    if let Some(Value::String(text)) = block.get_mut("text") {
        *text = text.trim().to_owned();
    }
    if let Some(fields) = block.as_object_mut().filter(|_| !has_input) {
        fields.shift_remove("input");
    }
    block
}

/// Joins the neighbouring texts of canonical content, and removes their white space.
fn joined(blocks: &[Value], has_input: bool) -> Vec<Value> {
    fn take(text: &mut String) -> Option<Value> {
        let text = Some(std::mem::take(text)).filter(|text| !text.is_empty())?;
        Some(serde_json::json!({ "text": text, "type": "text" }))
    }
    let mut joined = Vec::new();
    let mut text = String::new();
    for block in blocks {
        let is_text = block.get("type").is_some_and(|kind| kind == "text");
        let own = block.get("text").and_then(Value::as_str).filter(|_| is_text);
        let own = own.map(|own| own.replace(is_space, ""));
        if let (Some(own), Some(2)) = (&own, block.as_object().map(Map::len)) {
            text.push_str(own);
            continue;
        }
        joined.extend(take(&mut text));
        let mut block = block.clone();
        if let (Some(own), Some(place)) = (own, block.get_mut("text")) {
            *place = own.into();
        }
        if let Some(fields) = block.as_object_mut().filter(|_| !is_text && !has_input) {
            fields.shift_remove("input");
        }
        joined.push(block);
    }
    joined.extend(take(&mut text));
    joined
}

fn reference(values: Vec<Value>) -> String {
    serde_json_canonicalizer::to_string(&Value::Array(values)).unwrap()
}

fn written(write: impl Fn(&mut CanonicalText)) -> String {
    let bytes = CanonicalText::kept(|out| {
        out.push(b"[");
        write(out);
        out.push(b"]");
    });
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn assert_equal_to_values(blocks: &[String]) {
    let projected = blocks.iter().filter_map(|block| {
        let mut value = parsed(block);
        project(&mut value).then_some(value)
    });
    let projected: Vec<_> = projected.collect();
    let content = written(|out| canonical::write_content(out, blocks.iter()));
    assert_eq!(content, reference(projected.clone()), "{blocks:?}");
    for has_input in [false, true] {
        let items = canonical::items(&blocks.iter());
        let outline = projected.iter().map(|block| outline(block.clone(), has_input));
        let expected = reference(outline.collect());
        let found = written(|out| canonical::write_outline(out, &items, has_input));
        assert_eq!(found, expected, "{blocks:?}");
        let expected = reference(joined(&projected, has_input));
        let found = written(|out| canonical::write_joined(out, &items, has_input));
        assert_eq!(found, expected, "{blocks:?}");
    }
    let tools = blocks.iter().map(|tool| {
        let mut tool = parsed(tool);
        remove_nulls(&mut tool);
        tool
    });
    let expected = reference(tools.collect());
    let found = CanonicalText::kept(|out| canonical::write_tools(out, blocks.iter().map(String::as_str)));
    assert_eq!(String::from_utf8(found).unwrap(), expected);
}

#[test]
fn canonical_form_equals_the_form_of_parsed_values() {
    let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    let too_deep = format!("{{\"a\":{}1{}}}", "[".repeat(128), "]".repeat(128));
    let texts = [
        "1",
        "null",
        "true",
        "\"a\"",
        "[]",
        "{}",
        "[null,{\"a\":null}]",
        deep.as_str(),
        too_deep.as_str(),
        r#"{"type":"text","text":null}"#,
        r#"{"type":"text","text":5}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"t\u0065xt","text":" a\u00e9\n","citations":null,"x":{"cache_control":1,"y":[null,{"z":null}]}}"#,
        r#"{"type":"text","text":"half \ud83d"}"#,
        r#"{"type":"text","text":"a","n":1e999}"#,
        r#"{"b":1,"a":2,"b":3,"\u0062":4,"\ud83d\ude00":5,"\ufb33":6}"#,
        r#"{"type":"tool_result","content":"","is_error":false}"#,
        r#"{"type":"tool_result","content":" x ","is_error":true}"#,
        r#"{"type":"tool_result","content":[{"type":"thinking"}]}"#,
        r#"{"type":"tool_result","content":[{"type":"text","text":" b "},1,null,{"content":"c","input":{"a":null}}]}"#,
        r#"{"type":"tool_use","input":{"b":1.0,"a":null,"c":[1E2,-0,0.1e-6,18446744073709551615,9007199254740993]},"id":"t"}"#,
        r#"{"type":"tool_use","input":null}"#,
        r#"{"type":"redacted_thinking","data":"a"}"#,
    ];
    let texts = texts.map(str::to_owned);
    assert_equal_to_values(&texts);
    for text in texts {
        assert_equal_to_values(&[text]);
    }
    let mut random = Random(7);
    for _ in 0..2000 {
        let blocks: Vec<_> = (0..random.below(4))
            .map(|_| random_value(&mut random, 0))
            .collect();
        assert_equal_to_values(&blocks);
    }
}

/// Long forms are hashed in pieces, and written twice.
#[test]
fn digest_of_a_long_form_equals_the_digest_of_its_bytes() {
    let key = crate::session::chain::ChainKey::new([7; 32]);
    for items in [0, 1, 10, 20_000, 40_000] {
        let list = format!("[{}]", vec!["1e3"; items].join(" , "));
        let text = format!(r#"{{"b":{list},"a":"{}"}}"#, "é".repeat(items));
        let bytes = CanonicalText::kept(|out| canonical::write_value(out, &text));
        let expected = key.digest(&[b"label", &bytes]);
        assert_eq!(
            key.canonical(b"label", |out| canonical::write_value(out, &text)),
            expected
        );
        assert!(CanonicalText::equals(&bytes, |out| canonical::write_value(
            out, &text
        )));
    }
}

fn random_value(random: &mut Random, depth: usize) -> String {
    const NAMES: [&str; 10] = [
        "type",
        "text",
        "content",
        "input",
        "is_error",
        "cache_control",
        "a",
        "\\u0061",
        "é",
        "t\\u0065xt",
    ];
    const SCALARS: [&str; 12] = [
        "null",
        "true",
        "false",
        "\"\"",
        "\" a \"",
        "\"text\"",
        "\"thinking\"",
        "\"t\\u0065xt\"",
        "1.0",
        "-0",
        "1e21",
        "\"\\ud83d\\ude00\\n\"",
    ];
    let space = ["", " ", "\n\t"][random.below(3)];
    let items = |random: &mut Random| -> Vec<String> {
        (0..random.below(4))
            .map(|_| random_value(random, depth + 1))
            .collect()
    };
    match random.below(if depth > 3 { 1 } else { 4 }) {
        0 => SCALARS[random.below(SCALARS.len())].to_owned(),
        1 => format!("[{space}{}]", items(random).join(",")),
        _ => {
            let fields: Vec<_> = items(random)
                .into_iter()
                .map(|value| format!("\"{}\"{space}:{space}{value}", NAMES[random.below(NAMES.len())]))
                .collect();
            format!("{{{}{space}}}", fields.join(&format!("{space},")))
        }
    }
}
