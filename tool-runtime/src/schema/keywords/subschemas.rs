//! Iterates over subschemas. A property with the name `default` or `enum` is not read as the keyword.

use serde_json::{Map, Value};

use super::pointer;

/// Returns the schemas directly inside `schema`, each with its JSON Pointer relative to `schema`.
pub(crate) fn children(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (kind(keyword), value) {
            (Some(SubschemaKind::Map), Value::Object(schemas)) => found.extend(
                schemas
                    .iter()
                    .map(|(name, schema)| (pointer::join(&format!("/{keyword}"), name), schema)),
            ),
            (Some(SubschemaKind::Schemas), Value::Array(schemas)) => found.extend(
                schemas
                    .iter()
                    .enumerate()
                    .map(|(index, schema)| (format!("/{keyword}/{index}"), schema)),
            ),
            (Some(SubschemaKind::Schemas), schema) => found.push((format!("/{keyword}"), schema)),
            _ => {}
        }
    }
    found
}

/// Returns the schemas directly inside `schema`.
pub(crate) fn children_mut(schema: &mut Value) -> Vec<&mut Value> {
    let mut found = Vec::new();
    for (keyword, value) in schema.as_object_mut().into_iter().flatten() {
        match (kind(keyword), value) {
            (Some(SubschemaKind::Map), Value::Object(schemas)) => found.extend(schemas.values_mut()),
            (Some(SubschemaKind::Schemas), Value::Array(schemas)) => found.extend(schemas),
            (Some(SubschemaKind::Schemas), schema) => found.push(schema),
            _ => {}
        }
    }
    found
}

/// Returns the schemas directly inside `schema`, each with its JSON Pointer relative to `schema`.
pub(crate) fn located_children_mut(schema: &mut Value) -> Vec<(String, &mut Value)> {
    let pointers: Vec<String> = children(schema).into_iter().map(|(pointer, _)| pointer).collect();
    pointers.into_iter().zip(children_mut(schema)).collect()
}

/// Visits a schema and all its subschemas. A schema is visited before its subschemas. The function is not recursive,
/// since an external schema may be nested deeply.
pub(crate) fn visit_mut(root: &mut Value, mut visit: impl FnMut(&mut Map<String, Value>)) {
    let mut pending = vec![root];
    while let Some(schema) = pending.pop() {
        if let Value::Object(keywords) = schema {
            visit(keywords);
        }
        pending.extend(children_mut(schema));
    }
}

/// Returns whether the value of a keyword consists of subschemas.
pub(crate) fn is_applicator(keyword: &str) -> bool {
    kind(keyword).is_some()
}

/// Structure of a keyword's subschemas.
enum SubschemaKind {
    /// One schema or a list of them.
    Schemas,
    /// A map from names to schemas.
    Map,
}

fn kind(keyword: &str) -> Option<SubschemaKind> {
    match keyword {
        "items"
        | "prefixItems"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "allOf"
        | "anyOf"
        | "oneOf"
        | "not"
        | "if"
        | "then"
        | "else" => Some(SubschemaKind::Schemas),
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
        | "definitions" => Some(SubschemaKind::Map),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn does_not_confuse_property_names_with_keywords() {
        let mut schema = json!({
            "properties": { "items": { "x": 1 }, "a/b": { "enum": [{ "items": {} }] } },
            "items": [{ "x": 2 }, { "not": { "x": 3 } }],
            "default": { "items": { "x": 4 } },
        });
        let pointers: Vec<_> = children(&schema)
            .into_iter()
            .map(|(pointer, _)| pointer)
            .collect();
        assert_eq!(
            pointers,
            ["/properties/items", "/properties/a~1b", "/items/0", "/items/1"]
        );
        for (pointer, child) in children(&schema) {
            assert_eq!(schema.pointer(&pointer), Some(child));
        }
        let mut seen = Vec::new();
        visit_mut(&mut schema, |keywords| seen.extend(keywords.get("x").cloned()));
        seen.sort_by_key(Value::as_i64);
        assert_eq!(seen, [1, 2, 3]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn visits_deep_schemas_without_overflow() {
        let mut schema = json!({});
        for _ in 0..100_000 {
            schema = Value::Object(Map::from_iter([("items".to_owned(), schema)]));
        }
        let mut count = 0;
        visit_mut(&mut schema, |_| count += 1);
        assert_eq!(count, 100_001);
        // Dropping a value is recursive, so the test drops one level at a time.
        while let Some(inner) = schema.get_mut("items") {
            schema = inner.take();
        }
    }
}
