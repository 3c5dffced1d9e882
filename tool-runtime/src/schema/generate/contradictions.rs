//! Finds contradictions in the schema of Rust types: duplicate required properties, and variants and properties
//! without a valid value.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::schema::keywords::{pointer, reference, subschemas};

/// A part of a schema that no arguments can satisfy, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    /// JSON Pointer into the schema.
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// Finds the first contradiction.
pub(crate) fn find(root: &Value) -> Option<Contradiction> {
    let mut search = Search {
        definitions: root.get("$defs").and_then(Value::as_object),
        satisfiable: HashSet::new(),
    };
    search.collect_satisfiable();
    search.find(root, "")
}

struct Search<'s> {
    definitions: Option<&'s Map<String, Value>>,
    /// Names of the definitions that have a valid value.
    satisfiable: HashSet<&'s str>,
}

impl<'s> Search<'s> {
    /// Finds the definitions with a finite value: first definitions without references, then definitions that refer
    /// to these.
    fn collect_satisfiable(&mut self) {
        loop {
            let before = self.satisfiable.len();
            // A definition precedes the definitions that it uses.
            for (name, schema) in self.definitions.into_iter().flatten().rev() {
                if !self.satisfiable.contains(name.as_str()) && self.is_satisfiable(schema) {
                    self.satisfiable.insert(name);
                }
            }
            if self.satisfiable.len() == before {
                return;
            }
        }
    }

    /// Returns the first contradiction in a schema. Contradictions in subschemas precede the schema's own. Recursion is safe, since
    /// Rust types do not nest deeply.
    fn find(&self, schema: &'s Value, path: &str) -> Option<Contradiction> {
        if let Some(found) = repeated_name(schema, path) {
            return Some(found);
        }
        for (steps, child) in subschemas::children(schema) {
            let at = format!("{path}{steps}");
            if let Some(found) = self.find(child, &at) {
                return Some(found);
            }
            let is_reached = ["/properties/", "/oneOf/", "/anyOf/"]
                .into_iter()
                .any(|keyword| steps.starts_with(keyword));
            if is_reached && !self.is_satisfiable(child) {
                let reason = "no value is valid here, so that no call can reach it: its type is an enum without variants, \
                              contains itself in each of its values, or is tagged and no object; change or remove it";
                return Some(Contradiction {
                    path: at,
                    reason: reason.to_owned(),
                });
            }
        }
        None
    }

    fn is_satisfiable(&self, schema: &Value) -> bool {
        let Value::Object(keywords) = schema else {
            return *schema != Value::Bool(false);
        };
        let list = |keyword: &str| {
            keywords
                .get(keyword)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        if let Some(name) = keywords
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(reference::definition_name)
            && self
                .definitions
                .is_some_and(|definitions| definitions.contains_key(&name))
            && !self.satisfiable.contains(name.as_str())
        {
            return false;
        }
        let has_alternative = ["anyOf", "oneOf"].into_iter().all(|union| {
            let mut alternatives = list(union).peekable();
            alternatives.peek().is_none() || alternatives.any(|alternative| self.is_satisfiable(alternative))
        });
        has_alternative
            && list("allOf").all(|part| self.is_satisfiable(part))
            && match (
                keywords.get("const"),
                keywords.get("enum").and_then(Value::as_array),
            ) {
                (Some(value), _) => has_type(keywords, value),
                (None, Some(values)) => values.iter().any(|value| has_type(keywords, value)),
                (None, None) => self.has_object(keywords),
            }
    }

    /// Returns whether the schema allows another type, or all its required properties and items can have a value.
    fn has_object(&self, keywords: &Map<String, Value>) -> bool {
        let properties = keywords.get("properties");
        let required = keywords
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        match keywords.get("type").and_then(Value::as_str) {
            Some("object") => required
                .filter_map(|name| properties?.get(name.as_str()?))
                .all(|property| self.is_satisfiable(property)),
            Some("array") => {
                let prefix = keywords.get("prefixItems").and_then(Value::as_array);
                let rest = keywords.get("items");
                let min = keywords
                    .get("minItems")
                    .and_then(Value::as_u64)
                    .unwrap_or_default();
                let mut items = prefix
                    .into_iter()
                    .flatten()
                    .map(Some)
                    .chain(std::iter::once(rest));
                let needed = usize::try_from(min).unwrap_or(usize::MAX);
                items
                    .by_ref()
                    .take(needed)
                    .all(|item| item.is_none_or(|item| self.is_satisfiable(item)))
            }
            _ => true,
        }
    }
}

/// Returns whether `type` allows the type of a value.
fn has_type(keywords: &Map<String, Value>, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer" | "number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    match keywords.get("type") {
        Some(Value::Array(names)) => names.iter().any(is),
        name => name.is_none_or(is),
    }
}

/// Finds a duplicate name in `required`, with both positions.
fn repeated_name(schema: &Value, path: &str) -> Option<Contradiction> {
    let names = schema.get("required")?.as_array()?;
    let (second, name) = names
        .iter()
        .enumerate()
        .find(|(index, name)| names.iter().take(*index).any(|known| known == *name))?;
    let first = names.iter().position(|known| known == name)?;
    let required = pointer::join(path, "required");
    Some(Contradiction {
        path: format!("{required}/{second}"),
        reason: format!(
            "{name} is required twice, here and at `{required}/{first}`: two flattened structs have a field of this name, or a tag \
             has the name of a field; rename one of the two"
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_duplicates_in_required() {
        let schema = json!({ "properties": { "a": { "required": ["x", "id", "y", "id"] } } });
        let found = find(&schema).unwrap();
        assert_eq!(found.path, "/properties/a/required/3");
        assert!(
            found
                .reason
                .starts_with("\"id\" is required twice, here and at `/properties/a/required/1`: "),
            "{}",
            found.reason
        );
    }

    #[test]
    fn finds_schemas_without_a_valid_value() {
        let path = |schema: Value| find(&schema).map(|found| found.path);
        let never = json!({ "type": "object", "properties": { "self": { "$ref": "#/$defs/N" } }, "required": ["self"] });
        for (property, at) in [
            (json!(false), Some("")),
            (json!({ "type": "object", "enum": ["a"] }), Some("")),
            (
                json!({ "oneOf": [{ "type": "string" }, { "type": "object", "const": "a" }] }),
                Some("/oneOf/1"),
            ),
            (json!({ "$ref": "#/$defs/N" }), Some("")),
            (
                json!({ "anyOf": [{ "$ref": "#/$defs/N" }, { "type": "null" }] }),
                Some("/anyOf/0"),
            ),
            (
                json!({ "type": "array", "prefixItems": [{}, false], "minItems": 2 }),
                Some(""),
            ),
            (
                json!({ "type": "array", "items": { "$ref": "#/$defs/N" }, "minItems": 1 }),
                Some(""),
            ),
            (json!({ "type": "array", "items": false }), None),
            (json!({ "type": ["object", "null"], "enum": ["a", null] }), None),
            (json!({ "$ref": "#/$defs/List" }), None),
            (json!({}), None),
        ] {
            let schema = json!({ "properties": { "p": property }, "$defs": {
                "List": { "type": "object", "properties": { "next": { "anyOf": [{ "$ref": "#/$defs/List" }, { "type": "null" }] } } },
                "N": if at.is_some() { never.clone() } else { json!({}) },
            } });
            assert_eq!(
                path(schema),
                at.map(|at| format!("/properties/p{at}")),
                "{property}"
            );
        }
    }
}
