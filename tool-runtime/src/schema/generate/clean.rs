//! Cleans the schemas from schemars for the model. Private marks are kept.
//!
//! All values stay valid, with two exceptions: `null` for optional properties, which can be omitted, and map keys
//! that serde rejects.

use serde_json::{Map, Value, json};

use crate::schema::generate::variants::{Enums, KeyType, Names};

use super::definitions::allows_null;
use super::{definitions, describe, enum_maps, example_order, patches, rust_enums};
use crate::schema::keywords::{Keywords, marks, subschemas};

/// Cleans the schema of a tool's parameters. `enums` has the enums in their types.
pub(crate) fn clean(root: &mut Value, enums: impl FnOnce(&Value) -> Enums) {
    if root.get("$defs").is_some() {
        let shown = shown(root);
        definitions::inline(root, &shown);
    }
    let enums = enums(root);
    add_property_names(root, &enums.maps);
    for pointer in &enums.buffered {
        if let Some(Value::Object(keywords)) = root.pointer_mut(pointer) {
            keywords.insert(marks::ENUM_MAP.to_owned(), true.into());
        }
    }
    for pointer in &enums.wrapped_patches {
        if let Some(patch) = root
            .pointer_mut(pointer)
            .and_then(|schema| schema.get_mut(marks::PATCH))
        {
            *patch = patches::WRAPPED.into();
        }
    }
    clean_schema(root, &enums);
    describe::write_descriptions(root);
    example_order::sort_in_schema(root);
    subschemas::visit_mut(root, sort_keywords);
}

/// Returns the schema as the model sees it, with all definitions.
fn shown(root: &Value) -> Value {
    let mut shown = root.clone();
    clean_schema(&mut shown, &Enums::default());
    describe::write_descriptions(&mut shown);
    marks::strip(&mut shown);
    shown
}

/// Adds `propertyNames`, which schemars omits, to maps with boolean or character keys.
fn add_property_names(root: &mut Value, maps: &[(String, KeyType)]) {
    for (pointer, key_type) in maps {
        let Some(Value::Object(keywords)) = root.pointer_mut(pointer) else {
            continue;
        };
        let describes_keys = ["properties", "patternProperties", "propertyNames"]
            .into_iter()
            .any(|keyword| keywords.contains_key(keyword));
        if describes_keys || !keywords.contains_key("additionalProperties") {
            continue;
        }
        let names = match key_type {
            KeyType::Boolean => json!({ "enum": ["true", "false"] }),
            KeyType::Character => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        };
        keywords.insert("propertyNames".to_owned(), names);
    }
}

/// Cleans a schema after its subschemas. Recursion is safe, since Rust types do not nest deeply.
fn clean_schema(schema: &mut Value, enums: &Enums) {
    if let Value::Object(keywords) = schema {
        rust_enums::fix_flattened(keywords);
    }
    for child in subschemas::children_mut(schema) {
        clean_schema(child, enums);
    }
    let Value::Object(keywords) = schema else {
        return;
    };
    // schemars turns a doc comment that is only a heading into a `title`, which is also the description.
    if let Some(title @ Value::String(_)) = keywords.get("title")
        && !keywords.contains_key("description")
    {
        let title = title.clone();
        keywords.insert("description".to_owned(), title);
    }
    keywords.retain(|keyword, value| !is_redundant(keyword, value));
    // APIs reject an array without `items`, and some APIs reject a boolean schema.
    if let Some(items) = keywords.get_mut("items").filter(|items| **items == true) {
        *items = Value::Object(Map::new());
    }
    // schemars writes `unevaluatedProperties` for a flattened map with a flattened enum, but only serde decides which
    // keys belong to the map.
    if keywords
        .get("unevaluatedProperties")
        .is_some_and(|schema| *schema != false)
        && !keywords.contains_key("additionalProperties")
    {
        keywords.insert("additionalProperties".to_owned(), true.into());
    }
    mark_integer(keywords);
    rust_enums::merge_unit_variants(keywords, &enums.values);
    rust_enums::open_externally_tagged(keywords);
    mark_map(keywords, &enums.keys);
    finalize_properties(keywords);
    rust_enums::unwrap_single(keywords);
    drop_redundant_limits(keywords);
}

fn is_redundant(keyword: &str, value: &Value) -> bool {
    match keyword {
        "$schema" | "title" => true,
        "required" => value.as_array().is_some_and(Vec::is_empty),
        // `ip` is not a format of JSON Schema. `IpAddr` accepts both kinds of addresses; `ipv4` and `ipv6` together
        // would reject every address.
        "format" => value == "ip",
        _ => false,
    }
}

/// Removes the `format` of a number, which has no meaning for a model. A mark with the enforced range replaces the `format`
/// of an integer.
fn mark_integer(keywords: &mut Keywords) {
    let Some(format) = keywords.get("format").and_then(Value::as_str) else {
        return;
    };
    let integer = match format {
        "float" | "double" => None,
        "int" => Some(format!("i{}", isize::BITS)),
        "uint" => Some(format!("u{}", usize::BITS)),
        "int8" | "int16" | "int32" | "int64" | "int128" => Some(format.replace("int", "i")),
        "uint8" | "uint16" | "uint32" | "uint64" | "uint128" => Some(format.replace("uint", "u")),
        _ => return,
    };
    keywords.retain(|keyword, _| keyword != "format");
    if let Some(integer) = integer {
        keywords.insert(marks::INTEGER.to_owned(), integer.into());
    }
}

/// Marks a map with enum keys, which schemars describes as a struct with the keys as properties in alphabetical
/// order.
fn mark_map(keywords: &mut Keywords, keys: &[Names]) {
    let Some(Value::Object(properties)) = keywords
        .get("properties")
        .filter(|_| enum_maps::is_candidate(keywords))
    else {
        return;
    };
    let first = properties.values().next();
    let is_listed = |names: &&Names| {
        names.len() == properties.len() && names.iter().all(|name| properties.contains_key(*name))
    };
    let Some(names) = keys.iter().find(is_listed) else {
        return;
    };
    let declared = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), first?.clone())));
    let declared: Keywords = declared.collect();
    keywords.insert("properties".to_owned(), declared.into());
    keywords.insert(marks::ENUM_MAP.to_owned(), true.into());
}

/// Removes `null` from optional properties, and replaces `true` by `{}`, which can have a description.
fn finalize_properties(keywords: &mut Keywords) {
    let required: Vec<Value> = match keywords.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let is_map = keywords.contains_key(marks::ENUM_MAP);
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        match property {
            Value::Bool(true) => *property = Value::Object(Map::new()),
            // A `Patch` keeps its `null`, and has no default.
            Value::Object(property) if property.contains_key(marks::PATCH) => {}
            Value::Object(property) if !is_map && !required.iter().any(|known| known == name) => {
                // The property is optional and not an `Option`, so its default is not in the schema.
                if !property.contains_key("default") && !allows_null(property) {
                    property.insert(marks::DEFAULT.to_owned(), true.into());
                }
                remove_null(property);
            }
            _ => {}
        }
    }
}

/// Removes the `null` of an `Option`.
fn remove_null(keywords: &mut Keywords) {
    if let Some(Value::Array(types)) = keywords.get_mut("type")
        && types.iter().any(|name| name != "null")
    {
        types.retain(|name| name != "null");
        if let [name] = types.as_mut_slice() {
            let name = name.take();
            keywords.insert("type".to_owned(), name);
        }
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum")
        && values.iter().any(|value| !value.is_null())
    {
        values.retain(|value| !value.is_null());
    }
    // Two branches are an `Option<T>`; more are a union that includes `null`.
    if let Some(Value::Array(alternatives)) = keywords.get_mut("anyOf")
        && alternatives.len() == 2
        && alternatives.iter().any(|schema| !is_null(schema))
    {
        alternatives.retain(|schema| !is_null(schema));
    }
    keywords.retain(|keyword, value| keyword != "default" || !value.is_null());
    rust_enums::unwrap_single(keywords);
    drop_redundant_limits(keywords);
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Removes the wider of two lower or upper limits: the limit of the type, or the limit of an attribute.
fn drop_redundant_limits(keywords: &mut Keywords) {
    for (inclusive, exclusive, sign) in [
        ("minimum", "exclusiveMinimum", 1.0),
        ("maximum", "exclusiveMaximum", -1.0),
    ] {
        let limit = |keyword| {
            keywords
                .get(keyword)
                .and_then(Value::as_f64)
                .map(|limit| limit * sign)
        };
        if let (Some(inclusive_limit), Some(exclusive_limit)) = (limit(inclusive), limit(exclusive)) {
            let superfluous = if exclusive_limit >= inclusive_limit {
                inclusive
            } else {
                exclusive
            };
            keywords.retain(|keyword, _| keyword != superfluous);
        }
    }
}

/// Sorts the keywords for reading.
fn sort_keywords(keywords: &mut Keywords) {
    let mut entries: Vec<_> = std::mem::take(keywords).into_iter().collect();
    entries.sort_by_key(|(keyword, _)| match keyword.as_str() {
        "$ref" => 0,
        "type" => 1,
        "description" => 2,
        "enum" | "const" => 3,
        "properties" => 4,
        "required" => 5,
        "additionalProperties" => 6,
        "$defs" => 8,
        _ => 7,
    });
    keywords.extend(entries);
}
