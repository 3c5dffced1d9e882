//! Shortens the schemas from schemars for Rust enums.

use serde_json::{Map, Value, json};

use crate::schema::generate::variants::Names;

use crate::schema::keywords::{Keywords, marks};

/// Merges unit variants into one `enum`; schemars lists variants separately if one of them has docs.
///
/// The docs are collected in [`marks::MEANINGS`], for the description.
pub(super) fn merge_unit_variants(keywords: &mut Keywords, orders: &[Names]) {
    let Some(Value::Array(alternatives)) = keywords.get_mut("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    let mut meanings = Vec::new();
    let mut others = Vec::new();
    let mut position = 0;
    for alternative in alternatives.drain(..) {
        let Some(constants) = constants(&alternative) else {
            others.push(alternative);
            continue;
        };
        if values.is_empty() {
            position = others.len();
        }
        if let Some(meaning) = alternative.get("description") {
            meanings.extend(constants.iter().map(|text| json!([text, meaning])));
        }
        values.extend(constants);
    }
    if values.is_empty() {
        *alternatives = others;
        return;
    }
    sort_by_declaration(&mut values, orders);
    let mut merged = Map::from_iter([
        ("type".to_owned(), "string".into()),
        ("enum".to_owned(), Value::Array(values)),
    ]);
    if !meanings.is_empty() {
        merged.insert(marks::MEANINGS.to_owned(), Value::Array(meanings));
    }
    others.insert(position, Value::Object(merged));
    *alternatives = others;
}

/// Sorts values in the order of the smallest enum that contains all of them.
fn sort_by_declaration(values: &mut [Value], orders: &[Names]) {
    let position = |order: &Names, value: &Value| order.iter().position(|name| value == name);
    let declared = orders
        .iter()
        .filter(|order| values.iter().all(|value| position(order, value).is_some()))
        .min_by_key(|order| order.len());
    if let Some(order) = declared {
        values.sort_by_key(|value| position(order, value));
    }
}

/// Returns the strings of a schema whose only constraint is a `const` or `enum` of strings.
fn constants(schema: &Value) -> Option<Vec<Value>> {
    let keywords = schema.as_object()?;
    let only_constants = keywords
        .keys()
        .all(|keyword| matches!(keyword.as_str(), "type" | "const" | "enum" | "description"));
    if !only_constants {
        return None;
    }
    let constants = match (keywords.get("const"), keywords.get("enum")) {
        (Some(text), None) => vec![text.clone()],
        (None, Some(Value::Array(constants))) => constants.clone(),
        _ => return None,
    };
    constants.iter().all(Value::is_string).then_some(constants)
}

/// Fixes documented unit variants of a flattened enum: serde expects `{"Name": null}`, but schemars writes the string
/// `Name`.
pub(super) fn fix_flattened(keywords: &mut Keywords) {
    if keywords.get("type").and_then(Value::as_str) != Some("object") {
        return;
    }
    if let Some(alternatives) = keywords.get_mut("oneOf") {
        constants_to_properties(alternatives);
    }
    // There are several flattened enums.
    if let Some(Value::Array(unions)) = keywords.get_mut("allOf") {
        let unions = unions.iter_mut().filter_map(|union| union.get_mut("oneOf"));
        unions.for_each(constants_to_properties);
    }
}

fn constants_to_properties(alternatives: &mut Value) {
    for alternative in alternatives.as_array_mut().into_iter().flatten() {
        let Some(Value::String(name)) = alternative.get("const").cloned() else {
            continue;
        };
        let description = alternative.get("description").cloned();
        *alternative = json!({
            "type": "object",
            "properties": { &name: { "type": "null" } },
            "required": [name],
        });
        if let (Value::Object(keywords), Some(description)) = (alternative, description) {
            keywords.insert("description".to_owned(), description);
        }
    }
}

/// Removes `additionalProperties: false` from `{"Variant": …}`: `oneOf` already excludes other variants.
pub(super) fn open_externally_tagged(keywords: &mut Keywords) {
    let Some(Value::Array(alternatives)) = keywords.get_mut("oneOf") else {
        return;
    };
    for alternative in alternatives.iter_mut().filter_map(Value::as_object_mut) {
        let wrapper = alternative
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| {
                properties.len() == 1
                    && properties
                        .values()
                        .all(|property| property.get("const").is_none())
            });
        if wrapper {
            alternative
                .retain(|keyword, value| keyword != "additionalProperties" || *value != Value::Bool(false));
        }
    }
}

/// Replaces a union with a single branch by the branch. A keyword beside the union replaces the keyword of the branch, and
/// an `enum` keeps the values of both. Contradicting keywords keep the union.
pub(crate) fn unwrap_single(keywords: &mut Keywords) {
    for union in ["allOf", "anyOf", "oneOf"] {
        let inner = match keywords.get(union) {
            Some(Value::Array(alternatives)) => match alternatives.as_slice() {
                [Value::Object(inner)] => inner.clone(),
                _ => continue,
            },
            _ => continue,
        };
        if inner
            .iter()
            .any(|(keyword, value)| keyword != union && conflicts(keyword, value, keywords))
        {
            continue;
        }
        keywords.retain(|keyword, _| keyword != union);
        for (keyword, value) in inner {
            match keywords.get_mut(&keyword) {
                Some(Value::Array(outer)) if keyword == "enum" => {
                    outer.retain(|allowed| value.as_array().is_some_and(|inner| inner.contains(allowed)));
                }
                Some(_) => {}
                None => {
                    keywords.insert(keyword, value);
                }
            }
        }
    }
}

/// Returns whether an inner keyword contradicts the outer keyword of the same name.
fn conflicts(keyword: &str, inner: &Value, outer: &Keywords) -> bool {
    let is_narrowed = matches!(
        keyword,
        "description"
            | "enum"
            | "default"
            | "examples"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
    ) || keyword.starts_with("min")
        || keyword.starts_with("max");
    !is_narrowed && outer.get(keyword).is_some_and(|value| value != inner)
}
