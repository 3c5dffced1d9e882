//! Finds each [`Patch`](crate::Patch) that can never be missing, or never be `null`.

use serde_json::Value;

use crate::schema::keywords::{marks, pointer, subschemas};

/// Returns the pointer to a `Patch` that cannot have all its states, and advice; the schema has its marks.
pub(crate) fn find_misplaced(root: &Value) -> Option<(String, &'static str)> {
    let mut pending = vec![(String::new(), root, Some(NOT_A_FIELD))];
    while let Some((path, schema, misplaced)) = pending.pop() {
        let reason = match schema.get(marks::PATCH).map(Value::as_str) {
            Some(Some(WRAPPED)) => Some(IN_AN_OPTION),
            Some(_) => misplaced,
            None => None,
        };
        if let Some(reason) = reason {
            return Some((path, reason));
        }
        for (steps, child) in subschemas::children(schema) {
            let misplaced = if steps.starts_with("/properties/") {
                is_required(schema, &steps).then_some(REQUIRED)
            } else {
                Some(NOT_A_FIELD)
            };
            pending.push((path.clone() + &steps, child, misplaced));
        }
    }
    None
}

/// Returns whether an object requires the property with this pointer.
fn is_required(schema: &Value, property: &str) -> bool {
    let mut names = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    names.any(|name| {
        name.as_str()
            .is_some_and(|name| pointer::join("/properties", name) == property)
    })
}

/// Mark of a `Patch` in an `Option`, which has the same schema.
pub(crate) const WRAPPED: &str = "wrapped";

const REQUIRED: &str =
    "a `Patch` that is required can never be `Keep`; write `#[serde(default)]` above the field";
const IN_AN_OPTION: &str =
    "a `Patch` in an `Option` or in another `Patch` can never be `Clear`; write `Patch<..>` alone";
const NOT_A_FIELD: &str =
    "a `Patch` is a parameter or a field of a struct; this value cannot be missing, so write `Option<..>`";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_patches_that_cannot_be_missing_or_null() {
        let patch = json!({ "type": ["string", "null"], "$tool_runtime::patch": true });
        let wrapped = json!({ "type": ["string", "null"], "$tool_runtime::patch": "wrapped" });
        for (schema, expected) in [
            (json!({ "properties": { "a/b": patch } }), None),
            (
                json!({ "anyOf": [{ "properties": { "a": patch } }], "required": ["a"] }),
                None,
            ),
            (
                json!({ "properties": { "a/b": patch }, "required": ["c", "a/b"] }),
                Some(("/properties/a~1b", REQUIRED)),
            ),
            (
                json!({ "properties": { "a": wrapped } }),
                Some(("/properties/a", IN_AN_OPTION)),
            ),
            (json!({ "items": patch }), Some(("/items", NOT_A_FIELD))),
            (
                json!({ "properties": { "a": { "anyOf": [patch, { "type": "null" }] } } }),
                Some(("/properties/a/anyOf/0", NOT_A_FIELD)),
            ),
        ] {
            let found = find_misplaced(&schema);
            assert_eq!(
                found.as_ref().map(|(path, reason)| (&**path, *reason)),
                expected,
                "{schema}"
            );
        }
    }
}
