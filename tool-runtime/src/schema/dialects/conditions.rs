//! Subschemas in conditions, directly or by a reference. A value that violates such a subschema can be valid.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::{pointer, subschemas};

/// Keywords with a schema that valid values may violate.
const CONDITIONS: [&str; 5] = ["not", "if", "oneOf", "anyOf", "contains"];

/// Returns the JSON Pointers of the subschemas inside conditions.
pub(super) fn inside_conditions(root: &Value) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut pending = vec![Place::new(String::new(), root, false)];
    let mut by_name = None;
    while let Some(Place { path, schema, inside }) = pending.pop() {
        if inside && !found.insert(path.clone()) {
            continue;
        }
        for (steps, child) in subschemas::children(schema) {
            // The first step of the path is a keyword, not the name of a property.
            let keyword = steps.split('/').nth(1).unwrap_or_default();
            let inside = inside || is_condition(schema, keyword);
            pending.push(Place::new(format!("{path}{steps}"), child, inside));
        }
        let Some(reference) = schema.get("$ref").and_then(Value::as_str).filter(|_| inside) else {
            continue;
        };
        match reference::resolve(root, reference) {
            Target::Schema(target, path) => pending.push(Place::new(path, target, true)),
            // The reference may be corrected to one of the definitions with the name.
            Target::Missing => {
                let name = reference.rsplit('/').next().unwrap_or_default();
                let named = by_name.get_or_insert_with(|| definitions(root)).get(name);
                let named = named.into_iter().flatten();
                pending.extend(named.map(|(path, schema)| Place::new(path.clone(), schema, true)));
            }
            Target::Remote => {}
        }
    }
    found
}

/// A visited subschema.
struct Place<'s> {
    path: String,
    schema: &'s Value,
    /// Whether the subschema is inside a condition.
    inside: bool,
}

impl<'s> Place<'s> {
    fn new(path: String, schema: &'s Value, inside: bool) -> Self {
        Self { path, schema, inside }
    }
}

/// Returns whether valid values may violate the schemas of a keyword, except for the only alternative beside
/// `null`.
fn is_condition(schema: &Value, keyword: &str) -> bool {
    let alternatives = schema.get(keyword).and_then(Value::as_array);
    let is_null = |schema: &&Value| schema.get("type").is_some_and(|only| only == "null");
    CONDITIONS.contains(&keyword)
        && alternatives.is_none_or(|schemas| schemas.iter().filter(|schema| !is_null(schema)).count() > 1)
}

/// Returns all definitions by their names, with their JSON Pointers.
fn definitions(root: &Value) -> HashMap<&str, Vec<(String, &Value)>> {
    let mut found: HashMap<&str, Vec<(String, &Value)>> = HashMap::new();
    let mut pending = vec![(String::new(), root)];
    while let Some((path, schema)) = pending.pop() {
        for keyword in ["$defs", "definitions"] {
            let named = schema.get(keyword).and_then(Value::as_object);
            for (name, definition) in named.into_iter().flatten() {
                let path = pointer::join(&format!("{path}/{keyword}"), name);
                found.entry(name).or_default().push((path, definition));
            }
        }
        let inside = subschemas::children(schema).into_iter();
        pending.extend(inside.map(|(steps, child)| (format!("{path}{steps}"), child)));
    }
    found
}
