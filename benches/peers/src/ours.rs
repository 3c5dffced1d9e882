//! This runtime with all features: coercion, unknown keys, a constraint, isolation, a real `ToolResult`.

use std::hint::black_box;

use serde_json::Value;
use tool_runtime::{ToolCall, ToolDefinition, ToolRegistry, tool};

use crate::row::{BATCH, Row, again, each_with, runtime};
use crate::task::{JSON, answer};

/// Search files in the project.
#[tool]
pub async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    #[arg(default = true)]
    case_sensitive: bool,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: i64,
) -> String {
    answer(&pattern, case_sensitive, max_results)
}

/// Builds a registry of `search_files` and `others` further tools.
pub fn registry(others: usize) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for number in 0..others {
        let schema = serde_json::json!({
            "type": "object",
            "properties": { "pattern": { "type": "string" }, "max_results": { "type": "integer" } },
        });
        let other = ToolDefinition::new(format!("other_{number}"), "Another tool.", schema);
        registry
            .register_dynamic(other, async |_, _| "".to_owned())
            .expect("a tool of another name");
    }
    registry.register::<search_files>().expect("a tool");
    registry
}

pub fn everything_on(others: usize) -> Row {
    let value: Value = serde_json::from_str(JSON).unwrap();
    let by_text = registry(others);
    let by_value = registry(others);
    // Checked before the measurement, since every call has an answer and the loop unwraps nothing.
    for registry in [&by_text, &by_value] {
        let result = runtime().block_on(registry.execute_tool("toolu_01", "search_files", JSON));
        assert!(!result.is_error, "{result:?}");
    }
    Row {
        name: "tool-runtime, everything on",
        from_text: again(async move || {
            by_text
                .execute_tool("toolu_01", black_box("search_files"), black_box(JSON))
                .await
        }),
        from_value: each_with(
            BATCH,
            move || value.clone(),
            async move |value: Value| {
                by_value
                    .execute_tool("toolu_01", black_box("search_files"), value)
                    .await
            },
        ),
        conversions: ["", ""],
    }
}

/// Panic.
#[tool]
async fn explode() -> String {
    panic!("as it was told to")
}

/// Returns the answer to a call.
pub fn ask(name: &str, text: &str) -> String {
    let mut registry = registry(0);
    registry.register::<explode>().expect("a tool of another name");
    let answer = registry.call(ToolCall::new("toolu_01", name, text));
    let answer = runtime().block_on(answer);
    format!("{:?}, warnings: {:?}", answer.result, answer.warnings)
}

/// Returns the effect of a second tool with an equal name.
pub fn register_twice() -> String {
    let error = registry(0).register::<search_files>().err();
    error.map_or_else(String::new, |it| it.to_string())
}
