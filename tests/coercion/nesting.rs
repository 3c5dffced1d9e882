//! Nests a row: its schema becomes the schema of a property of a list's item.

use serde_json::{Value, json};

use crate::coercion::table::{Expectation, Outcome};

/// Path of a nested value.
const PLACE: &str = "/deep/0/inner";

/// Path of a nested schema.
const SCHEMA_PLACE: &str = "#/properties/deep/items/properties/inner";

pub fn schema(schema: &Value) -> Value {
    let mut inner = schema.clone();
    let mut outer = json!({});
    for keyword in ["$schema", "$defs", "definitions"] {
        if let Some(moved) = inner
            .as_object_mut()
            .and_then(|inner| inner.shift_remove(keyword))
        {
            outer[keyword] = moved;
        }
    }
    move_references(&mut inner);
    outer["type"] = json!("object");
    outer["properties"] = json!({
        "deep": {
            "type": "array",
            "items": { "type": "object", "properties": { "inner": inner }, "required": ["inner"] },
        },
    });
    outer["required"] = json!(["deep"]);
    outer
}

pub fn text(sent: &str) -> String {
    format!(r#"{{"deep":[{{"inner":{sent}}}]}}"#)
}

pub fn value(value: &Value) -> Value {
    json!({ "deep": [{ "inner": value }] })
}

pub fn expectation(expected: &Expectation) -> Expectation {
    let outcome = match &expected.outcome {
        Outcome::Value(inner) => Outcome::Value(value(inner)),
        Outcome::Text(text) => Outcome::Text(self::text(text)),
        Outcome::Errors(errors) => Outcome::Errors(errors.iter().map(|issue| moved(issue)).collect()),
    };
    let warnings = expected.warnings.as_ref().map(|warnings| {
        let mut warnings: Vec<_> = warnings.iter().map(|issue| moved(issue)).collect();
        warnings.sort();
        warnings
    });
    Expectation { outcome, warnings }
}

fn moved(issue: &str) -> String {
    let (code, path) = issue.split_once('@').unwrap_or((issue, ""));
    let code = if code == "unknown_parameter" {
        "unknown_property"
    } else {
        code
    };
    format!("{code}@{PLACE}{path}")
}

/// Definitions stay at the top; all other references follow their targets.
fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    Value::String(target) if key == "$ref" => {
                        if !target.starts_with("#/$defs/") && !target.starts_with("#/definitions/") {
                            *target = target.replacen('#', SCHEMA_PLACE, 1);
                        }
                    }
                    other => move_references(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(move_references),
        _ => {}
    }
}
