//! A dynamic tool with a schema of the suite. The tool's answer under `Policy::Strict` is the verdict.

use serde_json::{Map, Value, json};
use tests::dynamic_tool::{prepare, try_registry, try_registry_with_formats};
use tool_runtime::{Policy, ToolRegistry};

/// Name of the only argument.
const ONLY: &str = "x";

/// A tool whose arguments either are the value or contain the value as the only argument.
pub struct Tool {
    registry: ToolRegistry,
    wraps: bool,
}

impl Tool {
    /// Builds a tool with one required argument of this schema, since arguments are always an object but the suite's values have any type.
    /// References into the schema are adapted to its new position.
    pub fn holding(schema: &Value, has_formats: bool) -> Result<Self, String> {
        Ok(Self {
            registry: registry(&Self::holding_schema(schema), has_formats)?,
            wraps: true,
        })
    }

    /// Returns the schema of the arguments.
    pub fn holding_schema(schema: &Value) -> Value {
        let id = schema.get("$id").and_then(Value::as_str).unwrap_or_default();
        let mut inner = rebased(schema, id);
        let own: Map<_, _> = ["$schema", "$id"]
            .into_iter()
            .filter_map(|keyword| Some((keyword.to_owned(), inner.as_object_mut()?.shift_remove(keyword)?)))
            .collect();
        let mut outer = json!({ "type": "object", "properties": { ONLY: inner }, "required": [ONLY] });
        outer.as_object_mut().unwrap().extend(own);
        outer
    }

    /// Builds a tool with this schema; `None` if the schema does not describe an object.
    pub fn of(schema: &Value, has_formats: bool) -> Option<Self> {
        let mut schema = schema.clone();
        // The schema needs `type: object`. (If the schema may refer to itself, the keyword would apply to other values, too.)
        if !schema.to_string().contains("\"$ref\"") {
            schema
                .as_object_mut()?
                .entry("type")
                .or_insert_with(|| json!("object"));
        }
        let registry = registry(&schema, has_formats).ok()?;
        Some(Self {
            registry,
            wraps: false,
        })
    }

    /// Returns whether the value is valid; `None` if the tool cannot decide.
    pub fn takes(&self, value: &Value) -> Option<Result<(), String>> {
        let arguments = if self.wraps {
            json!({ ONLY: value })
        } else {
            value.clone()
        };
        if !arguments.is_object() {
            return None;
        }
        let request = prepare(&self.registry, arguments, Policy::Strict);
        let errors: Vec<_> = request.errors.iter().map(ToString::to_string).collect();
        Some(if errors.is_empty() {
            Ok(())
        } else {
            Err(errors.join("; "))
        })
    }
}

fn registry(schema: &Value, has_formats: bool) -> Result<ToolRegistry, String> {
    if has_formats {
        try_registry_with_formats(schema)
    } else {
        try_registry(schema)
    }
}

/// Moves the schema one property deeper. `id` is the `$id` of the root schema.
fn rebased(schema: &Value, id: &str) -> Value {
    match schema {
        Value::Object(keywords) => {
            let moved = keywords.iter().map(|(keyword, value)| {
                let value = match (keyword.as_str(), value) {
                    ("$ref", Value::String(reference)) => json!(moved(reference, id)),
                    // Values instead of schemas.
                    ("const" | "enum" | "default" | "examples", value) => value.clone(),
                    (_, value) => rebased(value, id),
                };
                (keyword.clone(), value)
            });
            Value::Object(moved.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| rebased(item, id)).collect(),
        scalar => scalar.clone(),
    }
}

fn moved(reference: &str, id: &str) -> String {
    match reference.strip_prefix(id).unwrap_or(reference) {
        "" | "#" => format!("#/properties/{ONLY}"),
        pointer => match pointer.strip_prefix("#/") {
            Some(steps) => format!("#/properties/{ONLY}/{steps}"),
            None => reference.to_owned(),
        },
    }
}
