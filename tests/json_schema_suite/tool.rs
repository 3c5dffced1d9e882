//! A dynamic tool with a schema of the suite, whose answer under `Policy::Strict` is the verdict.

use serde_json::{Map, Value, json};
use tool_runtime::{Policy, ToolCall, ToolDefinition, ToolRegistry};

/// Under what name the value is the only argument.
const ONLY: &str = "x";

/// A tool, and whether its arguments are the value itself or hold it as their only one.
pub struct Tool {
    registry: ToolRegistry,
    wraps: bool,
}

impl Tool {
    /// A tool with one required argument of this schema: arguments are always an object, and the suite's values are
    /// of every type. References into the schema are made to lead to where it stands now.
    pub fn holding(schema: &Value) -> Result<Self, String> {
        let inner = if schema.to_string().contains("\"$id\"") {
            named(schema)
        } else {
            rebased(schema)
        };
        let mut outer = json!({ "type": "object", "properties": { ONLY: inner }, "required": [ONLY] });
        if let Some(dialect) = schema.get("$schema") {
            outer["$schema"] = dialect.clone();
        }
        Ok(Self {
            registry: registry(&outer)?,
            wraps: true,
        })
    }

    /// A tool of this schema itself; `None` where that does not describe an object.
    pub fn of(schema: &Value) -> Option<Self> {
        let mut schema = schema.clone();
        // It has to say that it wants one. (Where it may refer to itself, it would say so of other values, too.)
        if !schema.to_string().contains("\"$ref\"") {
            schema
                .as_object_mut()?
                .entry("type")
                .or_insert_with(|| json!("object"));
        }
        let registry = registry(&schema).ok()?;
        Some(Self {
            registry,
            wraps: false,
        })
    }

    /// Whether the value conforms; `None` where it cannot be asked.
    pub fn takes(&self, value: &Value) -> Option<Result<(), String>> {
        let arguments = if self.wraps {
            json!({ ONLY: value })
        } else {
            value.clone()
        };
        if !arguments.is_object() {
            return None;
        }
        let request = self.registry.request(ToolCall::new("id", "tool", arguments));
        let errors: Vec<_> = request.errors.iter().map(ToString::to_string).collect();
        Some(if errors.is_empty() {
            Ok(())
        } else {
            Err(errors.join("; "))
        })
    }
}

fn registry(schema: &Value) -> Result<ToolRegistry, String> {
    let mut registry = ToolRegistry::new().with_policy(Policy::Strict);
    let definition = ToolDefinition::new("tool", "Takes what its schema says.", schema.clone());
    registry
        .register_dynamic(definition, async |arguments: Value, _| arguments)
        .map_err(|error| error.to_string())?;
    Ok(registry)
}

/// The same schema with a name, to which its references are relative wherever it stands.
fn named(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(keywords) = schema.as_object_mut() {
        keywords.entry("$id").or_insert_with(|| json!("urn:tests:suite"));
    }
    schema
}

/// The same schema one property deeper.
fn rebased(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let moved = keywords.iter().map(|(keyword, value)| {
                let value = match (keyword.as_str(), value) {
                    ("$ref", Value::String(reference)) => json!(moved(reference)),
                    // Values, not schemas.
                    ("const" | "enum" | "default" | "examples", value) => value.clone(),
                    (_, value) => rebased(value),
                };
                (keyword.clone(), value)
            });
            Value::Object(moved.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(rebased).collect(),
        scalar => scalar.clone(),
    }
}

fn moved(reference: &str) -> String {
    match reference {
        "" | "#" => format!("#/properties/{ONLY}"),
        pointer => match pointer.strip_prefix("#/") {
            Some(steps) => format!("#/properties/{ONLY}/{steps}"),
            None => pointer.to_owned(),
        },
    }
}
