//! What OpenAI's strict subset keeps of a schema's keywords, and the words for the others.
//!
//! Source: <https://platform.openai.com/docs/guides/structured-outputs#supported-properties>.

use serde_json::{Map, Value};

/// What becomes of a keyword.
pub(super) enum Kept {
    /// It was taken care of, or says nothing to a model.
    Handled,
    /// It is in the subset.
    AsIs,
    /// A sentence says it.
    Said(String),
    /// It is dropped.
    Not,
}

/// What becomes of a keyword in a schema of the type `of` (empty: a union or a reference).
pub(super) fn fate(of: &str, keyword: &str, value: &Value) -> Kept {
    match keyword {
        "type"
        | "description"
        | "properties"
        | "required"
        | "items"
        | "anyOf"
        | "oneOf"
        | "$ref"
        | "$defs"
        | "definitions"
        | "additionalProperties"
        | "title"
        | "$schema"
        | "$id"
        | "$comment" => Kept::Handled,
        "enum" | "const" if of.is_empty() => Kept::Said(format!("One of {value}.")),
        "enum" | "const" => Kept::AsIs,
        "default" => Kept::Said(format!("Default: {value}.")),
        "examples" => examples(value),
        "pattern" if of == "string" => pattern(value),
        "format" if of == "string" => format(value),
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" if is_number(of) => {
            Kept::AsIs
        }
        "minItems" | "maxItems" if of == "array" => Kept::AsIs,
        "minLength" if of == "string" => count("At least", value, "character"),
        "maxLength" if of == "string" => count("At most", value, "character"),
        "uniqueItems" if of == "array" && *value == Value::Bool(true) => {
            Kept::Said("No item twice.".to_owned())
        }
        // Limits of another type say nothing about this one.
        "pattern" | "format" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
        | "exclusiveMaximum" | "minItems" | "maxItems" | "minLength" | "maxLength" | "uniqueItems"
            if !of.is_empty() =>
        {
            Kept::Handled
        }
        _ => Kept::Not,
    }
}

/// The types that a schema names, or those of its fixed values.
pub(super) fn types(keywords: &Map<String, Value>) -> Vec<&str> {
    match keywords.get("type") {
        Some(Value::String(name)) => return vec![name],
        Some(Value::Array(names)) => return names.iter().filter_map(Value::as_str).collect(),
        _ => {}
    }
    let fixed = match (keywords.get("const"), keywords.get("enum")) {
        (Some(value), _) => std::slice::from_ref(value),
        (None, Some(Value::Array(values))) => values.as_slice(),
        _ if keywords.contains_key("properties") => return vec!["object"],
        _ if keywords.contains_key("items") => return vec!["array"],
        _ => &[],
    };
    let mut types = Vec::new();
    for value in fixed {
        let name = type_of(value);
        if !types.contains(&name) {
            types.push(name);
        }
    }
    types
}

/// The type of a value, as JSON Schema calls it.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_number(of: &str) -> bool {
    matches!(of, "number" | "integer")
}

fn pattern(value: &Value) -> Kept {
    let text = value.as_str().unwrap_or_default();
    // Look-around, in all four forms.
    if ["(?=", "(?!", "(?<=", "(?<!"]
        .iter()
        .any(|around| text.contains(around))
    {
        return Kept::Said(format!("Matches the regular expression `{text}`."));
    }
    Kept::AsIs
}

fn format(value: &Value) -> Kept {
    match value.as_str() {
        Some(
            "date-time" | "time" | "date" | "duration" | "email" | "hostname" | "ipv4" | "ipv6" | "uuid",
        ) => Kept::AsIs,
        Some(other) => Kept::Said(format!("Format: {other}.")),
        None => Kept::Not,
    }
}

fn examples(value: &Value) -> Kept {
    let Some(examples) = value.as_array().filter(|examples| !examples.is_empty()) else {
        return Kept::Handled;
    };
    let examples: Vec<_> = examples.iter().map(Value::to_string).collect();
    Kept::Said(format!("For example {}.", examples.join(" or ")))
}

fn count(limit: &str, value: &Value, of: &str) -> Kept {
    let plural = if value.as_u64() == Some(1) { "" } else { "s" };
    Kept::Said(format!("{limit} {value} {of}{plural}."))
}
