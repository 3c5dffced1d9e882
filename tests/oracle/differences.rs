//! Differences between `Policy::Strict` and plain validation. Each difference has an example, a reason, and a condition for the pairs that
//! it explains.

use serde_json::{Map, Value, json};
use tests::instances;
use tests::values::PROPERTIES;

/// A difference between the two.
pub struct Row {
    pub name: &'static str,
    pub schema: Value,
    pub instance: Value,
    /// Whether `Policy::Strict` accepts the example.
    pub ours: bool,
    /// Whether the example is valid.
    pub theirs: bool,
    pub why: &'static str,
    /// Returns whether this difference may explain different verdicts on a pair.
    pub excuses: fn(&Value, &Value) -> bool,
}

/// Returns all differences.
pub fn rows() -> Vec<Row> {
    of_values().into_iter().chain(of_schemas()).collect()
}

/// `Policy::Strict` accepts an invalid value.
const MORE: (bool, bool) = (true, false);

/// `Policy::Strict` rejects a valid value.
const LESS: (bool, bool) = (false, true);

fn row(
    name: &'static str,
    (schema, instance): (Value, Value),
    (ours, theirs): (bool, bool),
    why: &'static str,
    excuses: fn(&Value, &Value) -> bool,
) -> Row {
    Row {
        name,
        schema,
        instance,
        ours,
        theirs,
        why,
        excuses,
    }
}

/// Differences in verdicts on values.
fn of_values() -> Vec<Row> {
    vec![
        row(
            "null for an optional property",
            (alpha(json!({ "type": "integer" })), json!({ "alpha": null })),
            MORE,
            "models write null for what they leave out (rule 3); absent afterwards",
            |_, instance| anywhere(instance, &|value| has_null_property(value)),
        ),
        row(
            "an integer beyond 64 bits",
            (alpha(json!({ "type": "integer" })), json!({ "alpha": 1e20 })),
            LESS,
            "no integer type of Rust that anybody uses holds it (`integer_out_of_range`)",
            |_, instance| anywhere(instance, &is_beyond_64_bits),
        ),
        row(
            "the parameters inside an unknown key",
            (
                alpha(json!({ "type": "integer" })),
                json!({ "data": { "alpha": 1 } }),
            ),
            LESS,
            "no tool runs without its arguments while they are inside another key",
            instances::has_wrapped_properties,
        ),
        row(
            "a text for nothing as a format",
            (
                alpha(json!({ "type": "string", "format": "date" })),
                json!({ "alpha": "null" }),
            ),
            LESS,
            "no text of a format stands for nothing, whether formats are enforced or not (rule 4)",
            instances::has_format_of_nothing,
        ),
        row(
            "deeper than anything sensible",
            (alpha(json!({ "items": {} })), json!({ "alpha": nested(200) })),
            LESS,
            "nothing overflows the stack (`too_deep`)",
            |_, instance| depth(instance) > 100,
        ),
    ]
}

/// Differences in the meaning of schemas.
fn of_schemas() -> Vec<Row> {
    vec![
        row(
            "what stands beside a draft-07 `$ref`",
            (
                json!({
                    "$schema": "http://json-schema.org/draft-07/schema#",
                    "type": "object",
                    "properties": { "alpha": { "$ref": "#/definitions/a", "maxLength": 1 } },
                    "definitions": { "a": { "type": "string" } },
                }),
                json!({ "alpha": "ab" }),
            ),
            LESS,
            "what the model is shown is enforced",
            |schema, _| schema.get("$schema").is_some() && anywhere(schema, &has_more_than_its_reference),
        ),
        row(
            "a pattern that is not understood",
            (alpha(json!({ "pattern": "^(?!a)" })), json!({ "alpha": "a" })),
            MORE,
            "registration warns of it; better too lenient than to refuse what fits",
            |schema, _| anywhere(schema, &|schema| pattern_with(schema, "(?")),
        ),
        row(
            "white space beyond ASCII",
            (alpha(json!({ "pattern": "^\\s$" })), json!({ "alpha": "\u{a0}" })),
            LESS,
            "classes of characters are those of ASCII in a small engine",
            |schema, _| anywhere(schema, &|schema| pattern_with(schema, "\\")),
        ),
    ]
}

/// Builds a tool with one optional argument.
fn alpha(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "alpha": schema } })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]))
}

fn depth(value: &Value) -> usize {
    1 + children(value).map(depth).max().unwrap_or(0)
}

/// Returns whether a condition holds for a value or for one of its parts.
fn anywhere(value: &Value, holds: &dyn Fn(&Value) -> bool) -> bool {
    holds(value) || children(value).any(|inner| anywhere(inner, holds))
}

fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let (items, fields) = match value {
        Value::Array(items) => (Some(items), None),
        Value::Object(fields) => (None, Some(fields)),
        _ => (None, None),
    };
    items
        .into_iter()
        .flatten()
        .chain(fields.into_iter().flat_map(Map::values))
}

fn has_null_property(value: &Value) -> bool {
    PROPERTIES
        .iter()
        .any(|name| value.get(name).is_some_and(Value::is_null))
}

fn is_beyond_64_bits(value: &Value) -> bool {
    value
        .as_f64()
        .is_some_and(|number| !(-9.3e18..1.9e19).contains(&number))
}

fn has_more_than_its_reference(schema: &Value) -> bool {
    schema.get("$ref").is_some() && schema.as_object().is_some_and(|keywords| keywords.len() > 1)
}

fn pattern_with(schema: &Value, part: &str) -> bool {
    schema["pattern"]
        .as_str()
        .is_some_and(|pattern| pattern.contains(part))
}
