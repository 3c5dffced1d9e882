//! What a strict subset keeps of a schema's keywords, and the words for the others.
//!
//! Sources: <https://platform.openai.com/docs/guides/structured-outputs#supported-properties>,
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>.

use serde_json::{Map, Value};

use super::subset::Subset;

/// What becomes of a keyword.
pub(super) enum Kept {
    /// It was taken care of, or says nothing to a model.
    Handled,
    /// It is in the subset.
    AsIs,
    /// A sentence says it, and the API does not enforce it.
    Said(String),
    /// A sentence says it, and there is nothing to enforce.
    Described(String),
    /// It is dropped.
    Not,
}

/// What becomes of a keyword in a schema of the type `of` (empty: a union or a reference) with that description.
pub(super) fn fate(subset: Subset, of: &str, keyword: &str, value: &Value, description: &str) -> Kept {
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
        "enum" | "const" if matches!(of, "" | "object" | "array") => Kept::Said(format!("One of {value}.")),
        "enum" | "const" => Kept::AsIs,
        "default" if subset == Subset::Anthropic => Kept::AsIs,
        "default" => Kept::Described(format!("Default: {value}.")),
        "examples" => examples(value, description),
        "pattern" if of == "string" => pattern(subset, value),
        "format" if of == "string" => format(subset, value),
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" if is_number(of) => {
            limit(subset, keyword, value)
        }
        "minItems" | "maxItems" if of == "array" => items(subset, keyword, value),
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

fn limit(subset: Subset, keyword: &str, value: &Value) -> Kept {
    if subset == Subset::OpenAi {
        return Kept::AsIs;
    }
    Kept::Said(match keyword {
        "minimum" => format!("At least {value}."),
        "maximum" => format!("At most {value}."),
        "exclusiveMinimum" => format!("More than {value}."),
        "exclusiveMaximum" => format!("Less than {value}."),
        _ => format!("A multiple of {value}."),
    })
}

fn items(subset: Subset, keyword: &str, value: &Value) -> Kept {
    match (subset, keyword) {
        (Subset::OpenAi, _) => Kept::AsIs,
        (Subset::Anthropic, "minItems") if matches!(value.as_u64(), Some(0 | 1)) => Kept::AsIs,
        (Subset::Anthropic, "minItems") => count("At least", value, "item"),
        (Subset::Anthropic, _) => count("At most", value, "item"),
    }
}

fn pattern(subset: Subset, value: &Value) -> Kept {
    let text = value.as_str().unwrap_or_default();
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let around = has(&["(?=", "(?!", "(?<=", "(?<!"]);
    let back = (1..10).any(|group| text.contains(&format!("\\{group}"))) || has(&["\\k<"]);
    let refused = match subset {
        Subset::OpenAi => around,
        Subset::Anthropic => around || back || has(&["\\b", "\\B"]),
    };
    if refused {
        return Kept::Said(format!("Matches the regular expression `{text}`."));
    }
    Kept::AsIs
}

fn format(subset: Subset, value: &Value) -> Kept {
    match value.as_str() {
        Some(
            "date-time" | "time" | "date" | "duration" | "email" | "hostname" | "ipv4" | "ipv6" | "uuid",
        ) => Kept::AsIs,
        Some("uri") if subset == Subset::Anthropic => Kept::AsIs,
        Some(other) => Kept::Said(format!("Format: {other}.")),
        None => Kept::Not,
    }
}

/// The examples that the description does not name already.
fn examples(value: &Value, description: &str) -> Kept {
    let examples = value.as_array().into_iter().flatten();
    let unnamed = examples.filter(|example| match example {
        Value::String(text) => !names(description, text),
        other => !names(description, &other.to_string()),
    });
    let unnamed: Vec<_> = unnamed.map(Value::to_string).collect();
    if unnamed.is_empty() {
        return Kept::Handled;
    }
    Kept::Described(format!("For example {}.", unnamed.join(" or ")))
}

/// Whether a description has these words, and not as part of others.
fn names(description: &str, words: &str) -> bool {
    let mut places = description.match_indices(words);
    places.any(|(start, _)| {
        let before = description.get(..start).and_then(|text| text.chars().next_back());
        let after = description
            .get(start + words.len()..)
            .and_then(|text| text.chars().next());
        !words.is_empty()
            && [before, after]
                .into_iter()
                .flatten()
                .all(|next| !next.is_alphanumeric())
    })
}

fn count(limit: &str, value: &Value, of: &str) -> Kept {
    let plural = if value.as_u64() == Some(1) { "" } else { "s" };
    Kept::Said(format!("{limit} {value} {of}{plural}."))
}
