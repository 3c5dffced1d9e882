//! Valid schemas of dynamic tools are shown unchanged, except for keywords that APIs require and that do not change the meaning.

use serde_json::{Value, json};
use tests::warnings::warnings_of;
use tool_runtime::{ToolDefinition, ToolRegistry};

/// Returns the schema that a registry shows for a dynamic tool; `None` if the tool is rejected.
pub fn shown(schema: &Value) -> Option<Value> {
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("tool", "Takes arguments.", schema.clone());
    registry.register_dynamic(definition, async |_, _| "").ok()?;
    Some(registry.tool_definitions()[0].input_schema.clone())
}

/// Registers a tool with a valid schema. Returns whether the tool was accepted. Panics if the shown schema differs.
pub fn is_shown(schema: &Value, place: &str) -> bool {
    let (shown, warnings) = warnings_of(|| shown(schema));
    let Some(shown) = shown else { return false };
    // A schema that accepts any value is the schema of a tool without parameters.
    let extended = extends(schema, &shown, true) || *schema == json!({}) || *schema == json!(true);
    assert!(extended, "{place}: {schema}\nis shown as\n{shown}");
    for warning in warnings {
        let is_read = warning.contains(" was read as ") && !warning.contains("without constraints");
        assert!(!is_read, "{place}: {warning}: {schema}");
    }
    true
}

fn without_duplicates(values: &[Value]) -> Value {
    let mut unique: Vec<&Value> = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    json!(unique)
}

/// Returns whether a schema equals another one with the keywords that APIs require.
fn extends(written: &Value, shown: &Value, is_root: bool) -> bool {
    match (written, shown) {
        (Value::Object(written), Value::Object(shown)) => {
            let is_array = |name: &Value| name == "array";
            let has_arrays = |types: &Value| {
                is_array(types) || types.as_array().is_some_and(|types| types.iter().any(is_array))
            };
            let is_added = |keyword: &str, value: &Value| match keyword {
                "items" => *value == json!({}) && written.get("type").is_some_and(has_arrays),
                "type" => is_root && value == "object",
                "properties" => is_root && *value == json!({}),
                _ => false,
            };
            written.keys().all(|keyword| shown.contains_key(keyword))
                && shown.iter().all(|(keyword, value)| match written.get(keyword) {
                    Some(_) if is_root && keyword == "type" => value == "object",
                    Some(Value::Array(values)) if keyword == "enum" => *value == without_duplicates(values),
                    Some(known) => extends(known, value, false),
                    None => is_added(keyword, value),
                })
        }
        (Value::Array(written), Value::Array(shown)) => {
            written.len() == shown.len()
                && written
                    .iter()
                    .zip(shown)
                    .all(|(written, shown)| extends(written, shown, false))
        }
        _ => written == shown,
    }
}
