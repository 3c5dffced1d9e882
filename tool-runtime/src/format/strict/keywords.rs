//! Decides which keywords a strict subset keeps, and describes the others.
//!
//! Sources: <https://platform.openai.com/docs/guides/structured-outputs#supported-properties>,
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>.

use serde_json::{Map, Value};

use super::subset::Subset;

/// Treatment of a keyword.
pub(super) enum Treatment {
    /// The keyword is skipped: it was already converted, or a model does not need it.
    Ignore,
    /// The keyword is kept: it is in the subset.
    Keep,
    /// A sentence replaces the keyword, with a note, since the API does not enforce it.
    MoveToDescription(String),
    /// A sentence replaces the keyword, which is not a constraint.
    AddToDescription(String),
    /// The keyword is dropped, with a note.
    Drop,
}

impl Subset {
    /// Returns the treatment of a keyword in a schema with the type `type_name` (empty for a union or a reference) and
    /// this description.
    pub(super) fn treatment(
        self,
        type_name: &str,
        keyword: &str,
        value: &Value,
        description: &str,
    ) -> Treatment {
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
            | "$comment" => Treatment::Ignore,
            // The constraint is redundant.
            "nullable" if *value == Value::Bool(false) => Treatment::Ignore,
            "enum" | "const" if matches!(type_name, "" | "object" | "array") => {
                Treatment::MoveToDescription(format!("One of {value}."))
            }
            "enum" | "const" => Treatment::Keep,
            "default" if self == Subset::Anthropic => Treatment::Keep,
            "default" => Treatment::AddToDescription(format!("Default: {value}.")),
            "examples" => examples(value, description),
            "pattern" if type_name == "string" => self.pattern(value),
            "format" if type_name == "string" => self.format(value),
            "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
                if is_number(type_name) =>
            {
                self.limit(keyword, value)
            }
            "minItems" | "maxItems" if type_name == "array" => self.items(keyword, value),
            "minLength" if type_name == "string" => count("At least", value, "character"),
            "maxLength" if type_name == "string" => count("At most", value, "character"),
            "uniqueItems" if type_name == "array" && *value == Value::Bool(true) => {
                Treatment::MoveToDescription("No item twice.".to_owned())
            }
            // Limits of other types do not apply.
            "pattern" | "format" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" | "minItems" | "maxItems" | "minLength" | "maxLength" | "uniqueItems"
                if !type_name.is_empty() =>
            {
                Treatment::Ignore
            }
            _ => Treatment::Drop,
        }
    }

    fn limit(self, keyword: &str, value: &Value) -> Treatment {
        if self == Subset::OpenAi {
            return Treatment::Keep;
        }
        Treatment::MoveToDescription(match keyword {
            "minimum" => format!("At least {value}."),
            "maximum" => format!("At most {value}."),
            "exclusiveMinimum" => format!("More than {value}."),
            "exclusiveMaximum" => format!("Less than {value}."),
            _ => format!("A multiple of {value}."),
        })
    }

    fn items(self, keyword: &str, value: &Value) -> Treatment {
        match (self, keyword) {
            (Subset::OpenAi, _) => Treatment::Keep,
            (Subset::Anthropic, "minItems") if matches!(value.as_u64(), Some(0 | 1)) => Treatment::Keep,
            (Subset::Anthropic, "minItems") => count("At least", value, "item"),
            (Subset::Anthropic, _) => count("At most", value, "item"),
        }
    }

    fn pattern(self, value: &Value) -> Treatment {
        let text = value.as_str().unwrap_or_default();
        let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
        let has_lookaround = has(&["(?=", "(?!", "(?<=", "(?<!"]);
        let has_backreference = (1..10).any(|group| text.contains(&format!("\\{group}"))) || has(&["\\k<"]);
        let is_unsupported = match self {
            Subset::OpenAi => has_lookaround,
            Subset::Anthropic => has_lookaround || has_backreference || has(&["\\b", "\\B"]),
        };
        if is_unsupported {
            return Treatment::MoveToDescription(format!("Matches the regular expression `{text}`."));
        }
        Treatment::Keep
    }

    fn format(self, value: &Value) -> Treatment {
        match value.as_str() {
            Some(
                "date-time" | "time" | "date" | "duration" | "email" | "hostname" | "ipv4" | "ipv6" | "uuid",
            ) => Treatment::Keep,
            Some("uri") if self == Subset::Anthropic => Treatment::Keep,
            Some(other) => Treatment::MoveToDescription(format!("Format: {other}.")),
            None => Treatment::Drop,
        }
    }
}

/// Returns the types of a schema, or of its constants.
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

/// Returns the name of a value's type in JSON Schema.
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

fn is_number(type_name: &str) -> bool {
    matches!(type_name, "number" | "integer")
}

/// Examples that the description does not contain.
fn examples(value: &Value, description: &str) -> Treatment {
    let examples = value.as_array().into_iter().flatten();
    let unnamed = examples.filter(|example| match example {
        Value::String(text) => !mentions(description, text),
        other => !mentions(description, &other.to_string()),
    });
    let unnamed: Vec<_> = unnamed.map(Value::to_string).collect();
    if unnamed.is_empty() {
        return Treatment::Ignore;
    }
    Treatment::AddToDescription(format!("For example {}.", unnamed.join(" or ")))
}

/// Returns whether a description contains `text` between word boundaries.
fn mentions(description: &str, text: &str) -> bool {
    let mut places = description.match_indices(text);
    places.any(|(start, _)| {
        let before = description.get(..start).and_then(|side| side.chars().next_back());
        let after = description
            .get(start + text.len()..)
            .and_then(|side| side.chars().next());
        !text.is_empty()
            && [before, after]
                .into_iter()
                .flatten()
                .all(|next| !next.is_alphanumeric())
    })
}

fn count(limit: &str, value: &Value, unit: &str) -> Treatment {
    let plural = if value.as_u64() == Some(1) { "" } else { "s" };
    Treatment::MoveToDescription(format!("{limit} {value} {unit}{plural}."))
}
