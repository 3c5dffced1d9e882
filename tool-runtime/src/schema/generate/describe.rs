//! Descriptions: adds rules for which JSON Schema has no keyword, and finds properties without a description.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::{marks, pointer, subschemas};

/// Adds the docs of enum values, and the rules "not blank" and "not zero", to the descriptions.
pub(super) fn write_descriptions(root: &mut Value) {
    subschemas::visit_mut(root, |schema| {
        let mut text = description(schema).unwrap_or_default().trim().to_owned();
        if schema.get(marks::NOT_BLANK) == Some(&Value::Bool(true)) && !mentions_blank(&text) {
            push_sentence(&mut text, "Must not be blank.");
        }
        if remove_not_zero(schema) {
            push_sentence(&mut text, "Must not be 0.");
        }
        if let Some(Value::Array(meanings)) = schema.get_mut(marks::MEANINGS).map(Value::take) {
            push_meanings(&mut text, schema, &meanings);
        }
        schema.retain(|keyword, _| keyword != marks::MEANINGS && keyword != "description");
        if !text.is_empty() {
            schema.insert("description".to_owned(), text.into());
        }
    });
}

/// Returns the JSON Pointers of properties without a description.
///
/// A constant tag needs no description, and neither does the only property of a described alternative.
pub(crate) fn undescribed_properties(root: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), root, false)];
    while let Some((path, schema, is_branch)) = pending.pop() {
        let is_sole_content =
            is_branch && schema.get("description").is_some() && untagged_properties(schema).count() == 1;
        for (name, property) in untagged_properties(schema) {
            if !is_sole_content && !has_description(property, root) {
                found.push(pointer::join(&format!("{path}/properties"), name));
            }
        }
        let children = subschemas::children(schema).into_iter().rev();
        pending.extend(children.map(|(pointer, child)| {
            let is_branch = pointer.starts_with("/oneOf/") || pointer.starts_with("/anyOf/");
            (format!("{path}{pointer}"), child, is_branch)
        }));
    }
    found
}

/// Returns the properties of a schema, except for constant tags.
fn untagged_properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter(|(_, property)| property.get("const").is_none())
}

fn has_description(property: &Value, root: &Value) -> bool {
    let reference = property.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|reference| match reference::resolve(root, reference) {
        Target::Schema(target, _) => Some(target),
        _ => None,
    });
    [Some(property), target].into_iter().flatten().any(|schema| {
        schema
            .as_object()
            .and_then(description)
            .is_some_and(|text| !text.trim().is_empty())
    })
}

fn description(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

fn mentions_blank(text: &str) -> bool {
    text.to_lowercase().contains("blank") || text.contains("空白")
}

/// Removes the `not: {const: 0}` of `NonZeroI64`, which becomes a sentence of the description.
fn remove_not_zero(schema: &mut Map<String, Value>) -> bool {
    let zero = schema
        .get("not")
        .and_then(Value::as_object)
        .is_some_and(|not| not.len() == 1 && not.get("const").and_then(Value::as_i64) == Some(0));
    if zero {
        schema.retain(|keyword, _| keyword != "not");
    }
    zero
}

/// Appends a sentence to a description.
fn push_sentence(text: &mut String, sentence: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(sentence);
}

/// Appends a line for each allowed value with docs.
fn push_meanings(text: &mut String, schema: &Map<String, Value>, meanings: &[Value]) {
    let allowed = schema.get("enum").and_then(Value::as_array);
    for value in allowed.into_iter().flatten() {
        let meaning = meanings
            .iter()
            .find_map(|pair| match pair.as_array()?.as_slice() {
                [of, meaning] if of == value => meaning.as_str(),
                _ => None,
            });
        let (Some(value), Some(meaning)) = (value.as_str(), meaning) else {
            continue;
        };
        if !text.is_empty() {
            text.push('\n');
        }
        let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        // Writing to a string cannot fail.
        let _ = write!(text, "- `{value}`: {meaning}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn does_not_repeat_existing_descriptions() {
        let mut schema = json!({ "properties": {
            "a": { "$tool_runtime::not_blank": true },
            "b": { "$tool_runtime::not_blank": true, "description": "The name." },
            "c": { "$tool_runtime::not_blank": true, "description": "Never Blank." },
            "d": { "$tool_runtime::not_blank": false, "description": "Any." },
            "e": { "$tool_runtime::not_blank": true, "description": "不可为空白" },
            "f": { "not": { "const": 0 }, "description": "A step." },
        }});
        write_descriptions(&mut schema);
        let texts: Vec<_> = untagged_properties(&schema)
            .map(|(_, property)| property["description"].as_str().unwrap())
            .collect();
        assert_eq!(
            texts,
            [
                "Must not be blank.",
                "The name. Must not be blank.",
                "Never Blank.",
                "Any.",
                "不可为空白",
                "A step. Must not be 0."
            ],
        );
        assert_eq!(schema["properties"]["f"].get("not"), None);
    }

    #[test]
    fn finds_properties_without_description() {
        let schema = json!({
            "properties": {
                "told": { "description": "x", "properties": { "inner": { "description": " " } } },
                "referred": { "$ref": "#/$defs/Told" },
                "silent/one": { "items": { "properties": { "deep": {} } } },
                "union": { "description": "x", "oneOf": [
                    { "description": "x", "properties": { "Circle": {} } },
                    { "properties": { "type": { "const": "square" }, "side": {} } },
                ] },
            },
            "$defs": { "Told": { "description": "x" } },
        });
        assert_eq!(
            undescribed_properties(&schema),
            [
                "/properties/silent~1one",
                "/properties/told/properties/inner",
                "/properties/silent~1one/items/properties/deep",
                "/properties/union/oneOf/1/properties/side",
            ],
        );
    }
}
