//! Warning about long definitions, which add to the cost of every request.

use serde_json::{Map, Value};

use crate::wire::definition::ToolDefinition;
use crate::wire::issue::excerpt;

/// Maximum length in bytes of a definition without a warning. This length is about 8,000 tokens.
const LONG_DEFINITION: usize = 32 * 1024;

/// Maximum number of properties and named types in a warning.
const MAX_NAMED_PARTS: usize = 3;

/// Returns the warning about a long definition, with the largest parts of its schema. `schema_of_types` returns the schema of the
/// arguments, if possible with each named type in `$defs`. The definition may have the types inlined, without their names.
pub(crate) fn warning(
    definition: &ToolDefinition,
    schema_of_types: impl FnOnce() -> Value,
) -> Option<String> {
    let length = serde_json::to_string(definition).map_or(0, |text| text.len());
    if length <= LONG_DEFINITION {
        return None;
    }
    let parts = largest(&schema_of_types());
    Some(format!(
        "the definition is {} KB long and is sent with every request; its largest parts: {}",
        length.div_ceil(1024),
        parts.join(", ")
    ))
}

/// Returns the names and lengths of the longest properties and named types (`$defs`) of a schema.
fn largest(schema: &Value) -> Vec<String> {
    let named = |keyword: &str| schema.get(keyword).and_then(Value::as_object);
    let parts = ["$defs", "definitions", "properties"]
        .into_iter()
        .filter_map(named);
    let mut parts: Vec<(usize, &String)> = parts
        .flat_map(Map::iter)
        .map(|(name, schema)| (schema.to_string().len(), name))
        .collect();
    parts.sort_by(|(one, _), (other, _)| other.cmp(one));
    parts
        .into_iter()
        .take(MAX_NAMED_PARTS)
        .map(|(length, name)| format!("`{}` ({} bytes)", excerpt(name), length))
        .collect()
}
