//! The two strict subsets, and their references.

use std::collections::HashSet;

use serde_json::Value;

use crate::schema::keywords::{pointer, reference, subschemas};

/// A published subset of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Subset {
    /// <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>: every property is required,
    /// and an optional one may be `null`.
    OpenAi,
    /// <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>: optional
    /// properties stay optional; no limits of numbers, no recursion.
    Anthropic,
}

/// Returns the schema of a definition, with its pointer.
pub(super) fn find<'a>(root: &'a Value, name: &str) -> Option<(String, &'a Value)> {
    ["/$defs", "/definitions"]
        .into_iter()
        .map(|holder| pointer::join(holder, name))
        .find_map(|pointer| root.pointer(&pointer).map(|schema| (pointer, schema)))
}

/// Returns whether a definition is recursive.
pub(super) fn is_recursive(root: &Value, name: &str) -> bool {
    let mut seen = HashSet::new();
    let mut pending: Vec<&Value> = find(root, name).map(|(_, schema)| schema).into_iter().collect();
    while let Some(schema) = pending.pop() {
        if let Some(next) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(reference::definition_name)
            && seen.insert(next.clone())
        {
            pending.extend(find(root, &next).map(|(_, schema)| schema));
        }
        pending.extend(subschemas::children(schema).into_iter().map(|(_, child)| child));
    }
    seen.contains(name)
}
