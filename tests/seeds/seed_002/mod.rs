//! Seed 002: from a function to a definition, from a model's arguments to parameters.

mod bridge;
mod cardinality;
mod coercion;
mod complex;
mod defaults;
mod definition;
mod errors;
mod passing;
mod practice;
mod types;

use serde_json::{Value, json};
use tool_runtime::testing::{self, Checked};
use tool_runtime::{CancellationToken, RawArguments, ToolDefinition, ToolError, ToolRegistry, tool};

/// 在工作区中搜索文件
#[tool(rename_all = "camelCase")]
async fn search_files(
    /// 要搜索的 glob 模式
    pattern: String,
    /// 是否区分大小写
    #[arg(default = true)]
    case_sensitive: bool,
    /// 返回的最大结果数
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

async fn search(input: impl Into<RawArguments>) -> Checked {
    testing::run::<search_files>(input).await
}

/// What [`search_files`] answers.
fn searched(pattern: &str, case_sensitive: bool, max_results: i64) -> Value {
    json!({ "pattern": pattern, "caseSensitive": case_sensitive, "maxResults": max_results, "cancelled": false })
}

/// A registry with the tool of the seed.
fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<search_files>().unwrap();
    registry
}

/// A registry with a dynamic tool that answers its arguments: `echo`, of these properties, `a` required.
fn echo(properties: Value) -> ToolRegistry {
    let schema = json!({ "type": "object", "properties": properties, "required": ["a"] });
    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(
            ToolDefinition::new("echo", "Answers its arguments.", schema),
            async |input, _| input,
        )
        .unwrap();
    registry
}

/// Calls [`echo`].
async fn echoed(properties: Value, input: impl Into<RawArguments>) -> Checked {
    testing::run_in(&echo(properties), "echo", input).await
}
