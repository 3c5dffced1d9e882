//! Failures without a text, and empty text blocks, which the API rejects.

use serde_json::{Value, json, to_value};
use tool_runtime::format::mcp;
use tool_runtime::layer::ToolService;
use tool_runtime::message::Block;
use tool_runtime::result::Failure;
use tool_runtime::{
    Context, ToolCall, ToolError, ToolOutcome, ToolOutput, ToolRegistry, ToolResult, tool, tool_set,
};
use tower::{ServiceExt, service_fn};
use tower_layer::layer_fn;

use crate::execution::tools::definition;

/// Run a command that fails and prints nothing.
#[tool]
async fn text() -> Result<(), String> {
    Err(String::new())
}

/// Run a command that fails and prints a line break.
#[tool]
async fn white_space() -> Result<(), String> {
    Err(" \n".to_owned())
}

/// Run a command that fails and prints nothing.
#[tool]
async fn bail() -> anyhow::Result<()> {
    anyhow::bail!("")
}

/// Run a command that fails and prints nothing.
#[tool(blocking)]
fn output() -> ToolOutput {
    ToolOutput::error("")
}

/// Run a command that fails and prints nothing.
#[tool]
async fn no_blocks() -> ToolOutput {
    ToolOutput::error_blocks([])
}

/// Run a command that fails and prints nothing.
#[tool]
async fn empty_blocks() -> ToolOutput {
    ToolOutput::error_blocks([Block::text(""), Block::text(" ")])
}

async fn call(registry: &ToolRegistry, tool: &str) -> ToolOutcome {
    registry.call(ToolCall::new("toolu_1", tool, "{}")).await
}

#[tokio::test]
async fn failure_without_text_names_the_tool() {
    let mut registry = ToolRegistry::new();
    registry
        .register_all(tool_set![
            text,
            white_space,
            bail,
            output,
            no_blocks,
            empty_blocks
        ])
        .unwrap();
    let handler = async |_: Value, _: Context| Err::<String, _>("");
    registry.register_dynamic(definition("dynamic"), handler).unwrap();
    let mut outer = ToolRegistry::new();
    outer.nest("outer", registry.clone()).unwrap();
    for tool in [
        "text",
        "white_space",
        "bail",
        "output",
        "no_blocks",
        "empty_blocks",
        "dynamic",
    ] {
        for (registry, tool) in [(&registry, tool.to_owned()), (&outer, format!("outer__{tool}"))] {
            let outcome = call(registry, &tool).await;
            let text = format!("the tool `{tool}` failed without a message");
            assert_eq!(outcome.result.text(), Some(text.as_str()));
            assert_eq!(
                (outcome.result.is_error, outcome.failure),
                (true, Some(Failure::Failed))
            );
        }
    }
}

/// Reserve a seat.
#[tool]
async fn busy() -> Result<(), ToolError> {
    Err(ToolError::retry(""))
}

#[tokio::test]
async fn transient_failure_without_text_has_a_default_text() {
    let mut registry = ToolRegistry::new();
    registry.register::<busy>().unwrap();
    let text = "the tool failed without a message\n\nThis may succeed when it is tried again.";
    assert_eq!(call(&registry, "busy").await.result.text(), Some(text));
}

fn no_words(_: &[tool_runtime::Issue]) -> String {
    String::new()
}

/// Reserve a seat.
#[tool(errors = no_words)]
async fn reserve(
    /// The day.
    day: u8,
) {
    let _ = day;
}

#[tokio::test]
async fn refusal_without_text_lists_the_errors() {
    let mut registry = ToolRegistry::new();
    registry.register::<reserve>().unwrap();
    let outcome = call(&registry, "reserve").await;
    let text = outcome.result.text().unwrap();
    assert!(text.starts_with("`reserve` was not called because of invalid arguments:\n- missing_required"));
}

#[tokio::test]
async fn answers_of_layers_have_a_text() {
    let answering = |answer: fn() -> Result<ToolOutcome, &'static str>| {
        let mut registry = ToolRegistry::new().layer(layer_fn(move |_: ToolService| {
            service_fn(move |_: ToolCall| async move { answer() })
        }));
        registry.register::<text>().unwrap();
        registry
    };
    let failed = answering(|| {
        let mut outcome = ToolOutcome::new(ToolResult::new("", ToolOutput::text("")));
        outcome.result.is_error = true;
        Ok(outcome)
    });
    assert_eq!(
        call(&failed, "text").await.result.text(),
        Some("the tool `text` failed without a message")
    );
    let refused = answering(|| Err(""));
    assert_eq!(
        call(&refused, "text").await.result.text(),
        Some("the call failed outside of the tool; other calls are not affected")
    );
    let passed_on = ToolRegistry::new().layer(layer_fn(|inner: ToolService| {
        service_fn(move |call: ToolCall| inner.clone().oneshot(call))
    }));
    assert!(call(&passed_on, "text").await.result.is_error);
}

#[test]
fn results_made_by_hand_have_a_text() {
    let result = ToolResult::new("toolu_1", ToolOutput::error(""));
    let sent = to_value(&result).unwrap();
    assert_eq!(sent["content"], "the tool failed without a message");
}

#[test]
fn empty_text_blocks_are_not_sent() {
    let image = || Block::image("image/png", "AAAA");
    let sent = |blocks: &[Block]| {
        let result = ToolResult::new("toolu_1", ToolOutput::blocks(blocks.iter().cloned()));
        to_value(&result).unwrap()["content"].clone()
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    assert_eq!(sent(&[Block::text("")]), json!([]));
    assert_eq!(sent(&[Block::text("\n")]), json!([]));
    assert_eq!(
        sent(&[Block::text(""), image(), Block::text("a")]),
        json!([image(), text("a")])
    );
    // Accepted, and may be a part of the text.
    assert_eq!(
        sent(&[Block::text("a"), Block::text(" ")]),
        json!([text("a"), text(" ")])
    );
    // A success without a text is accepted as a string.
    let empty = ToolResult::new("toolu_1", ToolOutput::text(""));
    assert_eq!(to_value(&empty).unwrap()["content"], "");
    assert_eq!(mcp::result(&empty).unwrap()["content"], json!([]));
}
