//! JSON in Python's notation.

use std::fmt::Write as _;

use serde_json::Value;

/// Writes a list or an object like Python's `repr`; `None` if the text is also JSON.
pub fn written(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let mut text = String::new();
    match &value {
        // A tuple at the top differs from JSON only in its brackets.
        Value::Array(items) if !items.is_empty() => {
            text.push('(');
            for item in items {
                write(item, &mut text);
                text.push_str(", ");
            }
            if items.len() > 1 {
                text.truncate(text.len() - 2);
            }
            text.push(')');
        }
        other => write(other, &mut text),
    }
    serde_json::from_str::<Value>(&text).is_err().then_some(text)
}

pub fn boolean(is: bool) -> &'static str {
    if is { "True" } else { "False" }
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("None"),
        Value::Bool(is) => text.push_str(boolean(*is)),
        Value::Number(number) => {
            let _ = write!(text, "{number}");
        }
        Value::String(string) => quote(string, text),
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { ", " });
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (place, (key, value)) in members.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { ", " });
                quote(key, text);
                text.push_str(": ");
                write(value, text);
            }
            text.push('}');
        }
    }
}

/// Writes a string in single quotes, unless the string contains only single quotes.
fn quote(string: &str, text: &mut String) {
    let quote = if string.contains('\'') && !string.contains('"') {
        '"'
    } else {
        '\''
    };
    text.push(quote);
    for letter in string.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            letter if letter == quote => text.extend(['\\', letter]),
            letter => text.push(letter),
        }
    }
    text.push(quote);
}
