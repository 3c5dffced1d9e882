//! Merges two schemas into one schema that is equivalent to their `allOf`.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use crate::schema::check::is_annotation;
use crate::schema::compiled::decimal::Decimal;
use crate::schema::keywords::marks;

/// Merges two schemas without `$ref` and `allOf`; `None` if the result might not be equivalent.
///
/// Keywords of `left` come first.
pub(super) fn merge(left: &Map<String, Value>, right: &Map<String, Value>) -> Option<Map<String, Value>> {
    if additional_conflicts(left, right) || additional_conflicts(right, left) {
        return None;
    }
    let mut merged = left.clone();
    for (keyword, value) in right {
        let combined = match merged.get(keyword) {
            None => value.clone(),
            Some(same) if same == value || is_annotation(keyword) => continue,
            Some(other) => merge_keyword(keyword, other, value)?,
        };
        merged.insert(keyword.clone(), combined);
    }
    Some(merged)
}

/// Returns whether `left` constrains additional properties or items, and `right` declares some of these.
fn additional_conflicts(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    let constrains =
        |schema: &Map<String, Value>, keyword: &str| schema.get(keyword).is_some_and(|value| *value != true);
    let names = |keywords: &[&str]| keywords.iter().any(|keyword| right.contains_key(*keyword));
    (constrains(left, "additionalProperties")
        && names(&["properties", "patternProperties", "additionalProperties"]))
        || (["items", "prefixItems", "additionalItems"]
            .into_iter()
            .any(|keyword| constrains(left, keyword))
            && names(&["items", "prefixItems", "additionalItems"])
            && left.get("items") != right.get("items"))
}

fn merge_keyword(keyword: &str, left: &Value, right: &Value) -> Option<Value> {
    match keyword {
        "type" => common_types(left, right),
        "properties" | "patternProperties" => merge_named(left, right),
        "required" => {
            let (left, right) = (left.as_array()?, right.as_array()?);
            let missing = right.iter().filter(|name| !left.contains(name));
            Some(left.iter().chain(missing).cloned().collect())
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            stricter_limit(left, right, Ordering::Greater)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            stricter_limit(left, right, Ordering::Less)
        }
        marks::VALIDATION => {
            let (left, right) = (left.as_array()?, right.as_array()?);
            let more = right.iter().filter(|id| !left.contains(id));
            Some(left.iter().chain(more).cloned().collect())
        }
        "uniqueItems"
        | marks::NOT_BLANK
        | marks::STRICT
        | marks::CASE_SENSITIVE
        | marks::ENUM_MAP
        | marks::DEFAULT => Some(Value::Bool(left.as_bool()? || right.as_bool()?)),
        _ => None,
    }
}

/// Returns the stricter of two limits.
fn stricter_limit(left: &Value, right: &Value, stricter: Ordering) -> Option<Value> {
    if !left.is_number() || !right.is_number() {
        return None;
    }
    let (left_text, right_text) = (left.to_string(), right.to_string());
    let order = Decimal::parse(&left_text)?.cmp(&Decimal::parse(&right_text)?);
    Some(if order == stricter { left } else { right }.clone())
}

fn common_types(left: &Value, right: &Value) -> Option<Value> {
    let (left, right) = (names(left)?, names(right)?);
    let allow = |names: &[&str], name: &str| {
        names.contains(&name) || (name == "integer" && names.contains(&"number"))
    };
    let in_right = left.iter().filter(|name| allow(&right, name));
    let in_left = right.iter().filter(|name| allow(&left, name));
    let mut common: Vec<&str> = in_right.chain(in_left).copied().collect();
    let mut seen = Vec::new();
    common.retain(|name| {
        let first = !seen.contains(name);
        seen.push(*name);
        first
    });
    match common.as_slice() {
        [] => None,
        [single] => Some(Value::from(*single)),
        several => Some(Value::from(several.to_vec())),
    }
}

fn names(types: &Value) -> Option<Vec<&str>> {
    match types {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Merges two maps of schemas; a name in both maps gets an `allOf`.
fn merge_named(left: &Value, right: &Value) -> Option<Value> {
    let mut combined = left.as_object()?.clone();
    for (name, schema) in right.as_object()? {
        let merged = match combined.get(name) {
            Some(other) if other != schema => all_of(other, schema),
            _ => schema.clone(),
        };
        combined.insert(name.clone(), merged);
    }
    Some(Value::Object(combined))
}

/// Returns the `allOf` of two schemas, without duplicates. Repeated merging of a recursive schema then gives the same
/// parts, and the compilation terminates.
fn all_of(left: &Value, right: &Value) -> Value {
    let mut parts = all_of_parts(left);
    for part in all_of_parts(right) {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    json!({ "allOf": parts })
}

/// Returns the parts of a schema that is only an `allOf`; for any other schema, the schema itself.
pub(super) fn all_of_parts(schema: &Value) -> Vec<&Value> {
    match schema
        .as_object()
        .map(|keywords| (keywords.len(), keywords.get("allOf")))
    {
        Some((1, Some(Value::Array(all)))) => all.iter().flat_map(all_of_parts).collect(),
        _ => vec![schema],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn merge(left: &Value, right: &Value) -> Option<Value> {
        super::merge(left.as_object().unwrap(), right.as_object().unwrap()).map(Value::Object)
    }

    #[test]
    fn merges_limits_and_properties() {
        let left = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"], "minimum": 1, "maximum": 9 });
        let right = json!({ "type": ["object", "null"], "properties": { "b": {} }, "required": ["b", "a"], "minimum": 0, "maximum": 3 });
        let expected = json!({ "type": "object", "properties": { "a": {}, "b": {} }, "required": ["a", "b"], "minimum": 1, "maximum": 3 });
        assert_eq!(merge(&left, &right), Some(expected));
    }

    #[test]
    fn intersects_types() {
        let common = |left: Value, right: Value| {
            let merged = merge(&json!({ "type": left }), &json!({ "type": right }))?;
            Some(merged["type"].clone())
        };
        assert_eq!(common(json!(["integer", "number"]), json!("boolean")), None);
        assert_eq!(
            common(json!(["integer", "number"]), json!("integer")),
            Some(json!("integer"))
        );
        assert_eq!(
            common(json!(["integer", "null"]), json!(["null", "number"])),
            Some(json!(["integer", "null"]))
        );
    }

    #[test]
    fn joins_schemas_of_one_property_with_all_of() {
        let left = json!({ "properties": { "a": { "minLength": 1 } } });
        let right = json!({ "properties": { "a": { "type": "string" } } });
        let expected =
            json!({ "properties": { "a": { "allOf": [{ "minLength": 1 }, { "type": "string" }] } } });
        assert_eq!(merge(&left, &right), Some(expected));
    }

    #[test]
    fn flattens_and_deduplicates_all_of() {
        let (a, b, c) = (
            json!({ "minLength": 1 }),
            json!({ "maxLength": 5 }),
            json!({ "$ref": "#" }),
        );
        let left = json!({ "properties": { "x": { "allOf": [a, { "allOf": [b] }] } } });
        let right = json!({ "properties": { "x": { "allOf": [b, c] } } });
        let expected = json!({ "properties": { "x": { "allOf": [a, b, c] } } });
        assert_eq!(merge(&left, &right), Some(expected));
    }

    #[test]
    fn rejects_merges_that_lose_constraints() {
        let closed = json!({ "properties": { "a": {} }, "additionalProperties": false });
        assert_eq!(merge(&closed, &json!({ "properties": { "b": {} } })), None);
        assert_eq!(
            merge(&json!({ "prefixItems": [{}] }), &json!({ "items": false })),
            None
        );
        assert_eq!(
            merge(&json!({ "pattern": "a" }), &json!({ "pattern": "b" })),
            None
        );
        assert_eq!(
            merge(&json!({ "type": "string" }), &json!({ "type": "null" })),
            None
        );
        assert!(merge(&closed, &json!({ "required": ["a"] })).is_some());
    }
}
