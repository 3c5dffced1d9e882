//! Sorts maps and sets in defaults and examples, so that a definition is equal in all processes: the order of a `HashMap`
//! or a `HashSet` differs between processes.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::enum_maps;
use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::{marks, subschemas};

/// Sorts the maps and sets in the defaults and examples of a schema.
pub(super) fn sort_in_schema(root: &mut Value) {
    let written = root.clone();
    subschemas::visit_mut(root, |keywords| {
        for keyword in ["default", "examples"] {
            let Some(mut value) = keywords.get_mut(keyword).map(Value::take) else {
                continue;
            };
            let schema = Value::Object(std::mem::take(keywords));
            match (keyword, &mut value) {
                ("examples", Value::Array(examples)) => {
                    for example in examples {
                        sort(example, &[&schema], &written);
                    }
                }
                (_, value) => sort(value, &[&schema], &written),
            }
            if let Value::Object(schema) = schema {
                *keywords = schema;
            }
            keywords.insert(keyword.to_owned(), value);
        }
    });
}

/// Sorts the maps and sets in a value of a schema: the keys of a map by name, the items of a set by value.
/// Recursion is safe, since the value was serialized from a Rust value.
pub(crate) fn sort(value: &mut Value, schemas: &[&Value], root: &Value) {
    if !matches!(value, Value::Array(_) | Value::Object(_)) {
        return;
    }
    let schemas = with_in_place_subschemas(schemas, root);
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let of_item: Vec<_> = schemas
                    .iter()
                    .filter_map(|schema| item_schema(schema, index))
                    .collect();
                sort(item, &of_item, root);
            }
            if schemas
                .iter()
                .any(|schema| schema.get("uniqueItems") == Some(&Value::Bool(true)))
            {
                items.sort_by(compare);
            }
        }
        Value::Object(entries) => {
            for (key, entry) in entries.iter_mut() {
                let of_entry: Vec<_> = schemas
                    .iter()
                    .flat_map(|schema| entry_schemas(schema, key))
                    .collect();
                sort(entry, &of_entry, root);
            }
            sort_keys(entries, &schemas);
        }
        _ => {}
    }
}

/// Sorts the keys of an object. The fields of a struct come first, in declared order; enum keys of a map have the
/// order of the enum.
fn sort_keys(entries: &mut Map<String, Value>, schemas: &[&Value]) {
    let properties = || {
        schemas
            .iter()
            .filter_map(|schema| Some((*schema, schema.get("properties")?.as_object()?)))
    };
    let is_map = |schema: &Value| {
        schema.get(marks::ENUM_MAP).is_some() || schema.as_object().is_some_and(enum_maps::is_candidate)
    };
    let rank = |key: &str| {
        let mut ranks = properties().filter_map(|(schema, properties)| {
            let position = properties.keys().position(|name| name == key)?;
            Some(if is_map(schema) { position } else { 0 })
        });
        ranks.next()
    };
    let mut sorted: Vec<_> = std::mem::take(entries).into_iter().collect();
    sorted.sort_by(|(one, _), (other, _)| match (rank(one), rank(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    });
    entries.extend(sorted);
}

/// Maximum number of schemas for one value.
const MAX_SCHEMAS: usize = 256;

/// Returns the schemas and their in-place subschemas.
fn with_in_place_subschemas<'s>(schemas: &[&'s Value], root: &'s Value) -> Vec<&'s Value> {
    let mut all: Vec<&Value> = Vec::new();
    let mut pending: Vec<&Value> = schemas.iter().rev().copied().collect();
    while let Some(schema) = pending.pop() {
        if all.len() >= MAX_SCHEMAS || all.iter().any(|known| std::ptr::eq(*known, schema)) {
            continue;
        }
        all.push(schema);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Target::Schema(target, _) = reference::resolve(root, reference)
        {
            pending.push(target);
        }
        for keyword in ["oneOf", "anyOf", "allOf"] {
            let alternatives = schema.get(keyword).and_then(Value::as_array);
            pending.extend(alternatives.into_iter().flatten().rev());
        }
    }
    all
}

fn item_schema(schema: &Value, index: usize) -> Option<&Value> {
    let prefix = schema.get("prefixItems").and_then(|prefix| prefix.get(index));
    prefix.or_else(|| schema.get("items"))
}

fn entry_schemas<'s>(schema: &'s Value, key: &str) -> Vec<&'s Value> {
    if let Some(property) = schema
        .get("properties")
        .and_then(|properties| properties.get(key))
    {
        return vec![property];
    }
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let additional = schema.get("additionalProperties");
    patterns
        .into_iter()
        .flat_map(Map::values)
        .chain(additional)
        .collect()
}

fn compare(one: &Value, other: &Value) -> Ordering {
    let numbers = one
        .as_f64()
        .zip(other.as_f64())
        .and_then(|(one, other)| one.partial_cmp(&other));
    numbers
        .unwrap_or(Ordering::Equal)
        .then_with(|| one.to_string().cmp(&other.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sorts_maps_and_sets_but_not_structs_and_lists() {
        let mut schema = json!({
            "properties": {
                "struct": { "$ref": "#/$defs/Struct", "default": { "b": 1, "a": [2, 1], "y": 1, "x": { "z": 1, "y": 2 } } },
                "set": { "anyOf": [{ "type": "array", "uniqueItems": true }, { "type": "null" }], "default": [10, 9, "b", "a"] },
                "map": { "type": "object", "properties": { "Red": {}, "Blue": {} }, "$tool_runtime::enum_map": true,
                    "examples": [{ "Blue": 1, "Red": 2 }] },
            },
            "$defs": { "Struct": {
                "properties": { "a": { "items": {} }, "b": {} },
                "additionalProperties": { "additionalProperties": { "type": "integer" } },
            } },
        });
        sort_in_schema(&mut schema);
        let of = |name: &str, keyword: &str| schema["properties"][name][keyword].to_string();
        assert_eq!(
            of("struct", "default"),
            r#"{"b":1,"a":[2,1],"x":{"y":2,"z":1},"y":1}"#
        );
        assert_eq!(of("set", "default"), r#"["a","b",9,10]"#);
        assert_eq!(of("map", "examples"), r#"[{"Red":2,"Blue":1}]"#);
    }
}
