//! [`FlatObject`]: the schema of an object without compositions.

use serde_json::{Map, Value, json};

/// Keywords that APIs refuse at the root, and that the flat form replaces.
pub(super) const COMPOSITIONS: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];

/// The schema of an object without compositions.
#[derive(Debug, Default)]
pub(super) struct FlatObject {
    pub(super) properties: Map<String, Value>,
    /// Names of required properties, in their order.
    pub(super) required: Map<String, Value>,
    /// All other keywords.
    pub(super) rest: Map<String, Value>,
    pub(super) rules: Vec<String>,
}

impl FlatObject {
    pub(super) fn from_keywords(keywords: &Map<String, Value>) -> Self {
        let mut rest = keywords.clone();
        for keyword in COMPOSITIONS.iter().chain(&["type"]) {
            rest.shift_remove(*keyword);
        }
        let properties = match rest.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        let required = match rest.shift_remove("required") {
            Some(Value::Array(names)) => names,
            _ => Vec::new(),
        };
        let required = required.into_iter().filter_map(|name| match name {
            Value::String(name) => Some((name, Value::Null)),
            _ => None,
        });
        let required = required.collect();
        Self {
            properties,
            required,
            rest,
            rules: Vec::new(),
        }
    }

    /// Adds the constraints of another part that applies, too.
    pub(super) fn add(&mut self, other: Self) {
        for (name, schema) in other.properties {
            match self.properties.get_mut(&name) {
                Some(known) => restrict(known, schema),
                None => {
                    self.properties.insert(name, schema);
                }
            }
        }
        self.required.extend(other.required);
        for (keyword, value) in other.rest {
            self.rest.entry(keyword).or_insert(value);
        }
        self.rules.extend(other.rules);
    }
}

/// Returns whether a schema allows any value.
pub(super) fn is_any(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty)
}

/// Adds another constraint to a schema.
fn restrict(schema: &mut Value, other: Value) {
    if *schema == other || is_any(&other) {
        return;
    }
    if is_any(schema) {
        *schema = other;
        return;
    }
    match (schema, other) {
        // The description stays beside the alternatives.
        (Value::Object(keywords), Value::Object(other))
            if other.len() == 1 && other.contains_key("anyOf") && !keywords.contains_key("anyOf") =>
        {
            keywords.extend(other);
        }
        (Value::Object(keywords), other) if !keywords.contains_key("$ref") => {
            match keywords.entry("allOf").or_insert_with(|| json!([])) {
                Value::Array(parts) => parts.push(other),
                parts => *parts = json!([other]),
            }
        }
        (schema, other) => *schema = json!({ "allOf": [schema.take(), other] }),
    }
}
