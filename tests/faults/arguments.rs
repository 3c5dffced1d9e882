//! Calls that cannot be made: the function never runs.

use serde_json::{Value, json};
use tool_runtime::{RawArguments, ToolCall, ToolRegistry, tool};

use crate::rows::{Row, row};

/// Make coffee.
#[tool(name = "brew")]
async fn brew(
    /// How many cups.
    #[arg(range = 1..=4)]
    cups: u8,
) -> u8 {
    cups
}

async fn sent(row: &Row, name: &str, input: impl Into<RawArguments>) {
    let mut registry = ToolRegistry::new();
    registry.register::<brew>().unwrap();
    row.is_told_by(&registry.call(ToolCall::new(row.id(), name, input)).await);
}

#[tokio::test]
async fn unknown_tool() {
    sent(&row("arguments::unknown_tool"), "steep", "{}").await;
}

#[tokio::test]
async fn a_name_without_end() {
    sent(&row("arguments::a_name_without_end"), &"x".repeat(1 << 20), "{}").await;
}

#[tokio::test]
async fn missing() {
    sent(&row("arguments::missing"), "brew", "{}").await;
}

#[tokio::test]
async fn out_of_range() {
    sent(&row("arguments::out_of_range"), "brew", r#"{ "cups": 5 }"#).await;
}

#[tokio::test]
async fn cut_off() {
    sent(&row("arguments::cut_off"), "brew", r#"{ "cups": "#).await;
}

#[tokio::test]
async fn no_text() {
    sent(&row("arguments::no_text"), "brew", &b"{ \"cups\": \xff }"[..]).await;
}

#[tokio::test]
async fn text_as_deep_as_a_stack() {
    let row = row("arguments::text_as_deep_as_a_stack");
    let open = "[".repeat(LEVELS);
    let close = "]".repeat(LEVELS);
    sent(&row, "brew", format!(r#"{{ "cups": {open}{close} }}"#)).await;
}

#[tokio::test]
async fn a_value_as_deep_as_a_stack() {
    let row = row("arguments::a_value_as_deep_as_a_stack");
    let deep = (0..LEVELS).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    // Not `json!`, which would copy it, level by level.
    let mut input = json!({});
    input["cups"] = deep;
    sent(&row, "brew", input).await;
}

/// Deeper than any stack of these tests, were each level a frame.
const LEVELS: usize = 200_000;
