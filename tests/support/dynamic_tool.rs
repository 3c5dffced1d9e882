//! A dynamic tool with a given schema, which answers with its arguments.

use serde_json::Value;
use tool_runtime::{Policy, RawArguments, ToolCall, ToolCallRequest, ToolDefinition, ToolRegistry};

/// The name of the tool.
pub const NAME: &str = "tool";

/// Every policy, the most lenient first.
pub const POLICIES: [Policy; 3] = [Policy::Lenient, Policy::Lossless, Policy::Strict];

/// A registry of the tool alone. Panics if the schema is refused.
pub fn registry(schema: &Value) -> ToolRegistry {
    try_registry(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// A registry of the tool alone, or why its schema is refused.
pub fn try_registry(schema: &Value) -> Result<ToolRegistry, String> {
    try_register(ToolRegistry::new(), schema)
}

/// A registry that enforces formats, with one tool of this schema.
pub fn try_registry_with_formats(schema: &Value) -> Result<ToolRegistry, String> {
    try_register(ToolRegistry::new().with_formats_enforced(true), schema)
}

fn try_register(mut registry: ToolRegistry, schema: &Value) -> Result<ToolRegistry, String> {
    let definition = ToolDefinition::new(NAME, "Takes what its schema says.", schema.clone());
    match registry.register_dynamic(definition, async |arguments: Value, _| arguments) {
        Ok(_) => Ok(registry),
        Err(error) => Err(error.to_string()),
    }
}

/// The arguments that the tool would be called with.
pub fn prepare<'a>(
    registry: &ToolRegistry,
    input: impl Into<RawArguments<'a>>,
    policy: Policy,
) -> ToolCallRequest {
    registry.prepare(ToolCall::new("id", NAME, input).with_policy(policy))
}
