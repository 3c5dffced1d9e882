//! Annotated functions: their definitions, and the conversion of a model's arguments to parameters.

mod functions;
mod definitions;
mod passing;
mod nested_types;
mod json_values;
mod errors;

use serde_json::{Value, json};
use tool_runtime::testing::{self, CallAssert};
use tool_runtime::{CancellationToken, RawArguments, ToolDefinition, ToolError, ToolRegistry, tool};

/// Search the workspace for files.
#[tool(rename_all = "camelCase")]
async fn search_files(
    /// Glob pattern, for example `**/*.rs`.
    pattern: String,
    /// Whether case matters.
    #[arg(default = true)]
    case_sensitive: bool,
    /// The most results to return.
    #[arg(default = 100)]
    max_results: i64,
    cancel: CancellationToken,
) -> Result<Value, ToolError> {
    if !(1..=10_000).contains(&max_results) {
        return Err(ToolError::new(
            "maxResults_out_of_range",
            "maxResults must be between 1 and 10000",
        ));
    }
    Ok(json!({
        "pattern": pattern,
        "caseSensitive": case_sensitive,
        "maxResults": max_results,
        "cancelled": cancel.is_cancelled(),
    }))
}

async fn search(input: impl Into<RawArguments<'_>>) -> CallAssert {
    testing::run::<search_files>(input).await
}

/// Returns the result of [`search_files`].
fn searched(pattern: &str, case_sensitive: bool, max_results: i64) -> Value {
    json!({ "pattern": pattern, "caseSensitive": case_sensitive, "maxResults": max_results, "cancelled": false })
}

/// Builds a registry with [`search_files`].
fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<search_files>().unwrap();
    registry
}

/// Builds a registry with the dynamic tool `echo`, which returns its arguments. The tool has these properties; `a` is required.
fn echo(properties: Value) -> ToolRegistry {
    let schema = json!({ "type": "object", "properties": properties, "required": ["a"] });
    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(
            ToolDefinition::new("echo", "Return the arguments.", schema),
            async |input, _| input,
        )
        .unwrap();
    registry
}

/// Calls [`echo`].
async fn echoed(properties: Value, input: impl Into<RawArguments<'_>>) -> CallAssert {
    testing::run_in(&echo(properties), "echo", input).await
}
