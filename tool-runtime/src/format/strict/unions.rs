//! Unions in the strict subset: addition of `null`, and disjointness of alternatives.

use serde_json::{Map, Value, json};

/// Adds `null` to a schema.
pub(super) fn nullable(mut schema: Value) -> Value {
    if allows_null(&schema) {
        return schema;
    }
    let fixed = schema.get("const").is_some();
    if let Some(name) = schema.get_mut("type")
        && matches!(name.as_str(), Some("string" | "number" | "integer" | "boolean"))
        && !fixed
    {
        *name = json!([name.take(), "null"]);
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.push(Value::Null);
        }
        return schema;
    }
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.push(json!({ "type": "null" }));
        return schema;
    }
    let mut outer = Map::new();
    if let Value::Object(inner) = &mut schema
        && let Some(text) = inner.get("description").cloned()
    {
        inner.retain(|keyword, _| keyword != "description");
        outer.insert("description".to_owned(), text);
    }
    outer.insert("anyOf".to_owned(), json!([schema, { "type": "null" }]));
    Value::Object(outer)
}

pub(super) fn allows_null(schema: &Value) -> bool {
    match (schema.get("type"), schema.get("anyOf")) {
        (Some(Value::String(name)), _) => name == "null",
        (Some(Value::Array(names)), _) => names.iter().any(|name| name == "null"),
        (_, Some(Value::Array(alternatives))) => alternatives.iter().any(allows_null),
        _ => false,
    }
}

/// Returns whether no value matches both converted schemas. In converted schemas, an object has all its declared properties and no other
/// ones.
pub(super) fn disjoint(one: &Value, other: &Value) -> bool {
    let (Some(one_type), Some(other_type)) = (one.get("type"), other.get("type")) else {
        return false;
    };
    let number = |name: &Value| name == "integer" || name == "number";
    if one_type != other_type {
        return one_type.is_string() && other_type.is_string() && !(number(one_type) && number(other_type));
    }
    let fixed = |schema: &Value| match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    };
    if let (Some(ones), Some(others)) = (fixed(one), fixed(other)) {
        return !ones.iter().any(|value| others.contains(value));
    }
    let properties = |schema: &'_ Value| schema.get("properties").and_then(Value::as_object).cloned();
    let (Some(ones), Some(others)) = (properties(one), properties(other)) else {
        return false;
    };
    ones.len() != others.len()
        || ones.iter().any(|(name, property)| match others.get(name) {
            Some(other) => disjoint(property, other),
            None => true,
        })
}

/// Returns whether the first properties of two objects have the same name and overlapping schemas. OpenAI's
/// API rejects a union of such objects with an undocumented error 400:
/// <https://github.com/openai/openai-python/issues/2193>.
pub(super) fn share_first_property(one: &Value, other: &Value) -> bool {
    let first = |schema: &'_ Value| {
        let (name, property) = schema.get("properties")?.as_object()?.iter().next()?;
        Some((name.clone(), property.clone()))
    };
    match (first(one), first(other)) {
        (Some((name, property)), Some((other_name, other))) => {
            name == other_name && !disjoint(&property, &other)
        }
        _ => false,
    }
}
