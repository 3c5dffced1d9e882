//! A dynamic tool with a given schema, which returns its arguments.

use serde_json::Value;
use tool_runtime::{Policy, RawArguments, ToolCall, ToolCallRequest, ToolDefinition, ToolRegistry};

/// Name of the tool.
pub const NAME: &str = "tool";

/// All policies, the most lenient first.
pub const POLICIES: [Policy; 3] = [Policy::Lenient, Policy::Lossless, Policy::Strict];

/// Builds a registry with the tool. Panics if the schema is invalid.
pub fn registry(schema: &Value) -> ToolRegistry {
    try_registry(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// Builds a registry with the tool, or returns the error of its schema.
pub fn try_registry(schema: &Value) -> Result<ToolRegistry, String> {
    try_register(ToolRegistry::new(), schema)
}

/// Builds a registry with the tool that enforces formats.
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

/// Returns the coerced arguments for the tool.
pub fn prepare<'a>(
    registry: &ToolRegistry,
    input: impl Into<RawArguments<'a>>,
    policy: Policy,
) -> ToolCallRequest {
    registry.prepare(ToolCall::new("id", NAME, input).with_policy(policy))
}
