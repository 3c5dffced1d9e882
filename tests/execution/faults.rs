//! A fault stays in its call: the model gets an answer with the right id, and the host learns the kind.

use tool_runtime::result::Failure;
use tool_runtime::{ToolCall, ToolOutcome};

use crate::tools::registry;

async fn call(name: &str) -> ToolOutcome {
    let outcome = registry().call(ToolCall::new("toolu_1", name, "{}")).await;
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
    outcome
}

#[tokio::test]
async fn a_panic_is_an_error_without_internals() {
    for name in ["panic", "panic_with_payload", "panic_at_once", "panic_in_drop"] {
        let outcome = call(name).await;
        assert_eq!(outcome.failure, Some(Failure::Panicked), "{name}");
        assert!(outcome.result.is_error, "{name}");
        assert_eq!(
            outcome.result.text(),
            Some(
                format!("the tool `{name}` failed with an internal error; other calls are not affected")
                    .as_str()
            ),
        );
    }
}

#[tokio::test]
async fn an_error_is_the_tools_own_text() {
    let outcome = call("fail").await;
    assert_eq!(outcome.failure, Some(Failure::Failed));
    assert_eq!(outcome.result.text(), Some("no such city; try `Oslo`"));
}

#[tokio::test]
async fn an_unknown_tool_is_named() {
    let outcome = call("nope").await;
    assert_eq!(outcome.failure, Some(Failure::NotFound));
    assert_eq!(outcome.result.text(), Some("Tool 'nope' not found"));
}

#[tokio::test]
async fn a_name_too_long_for_any_tool_is_cut() {
    let outcome = call(&"x".repeat(1 << 20)).await;
    let expected = format!("Tool '{}…' not found", "x".repeat(64));
    assert_eq!(outcome.result.text(), Some(expected.as_str()));
}

#[tokio::test]
async fn ten_megabytes_come_back_whole() {
    assert_eq!(call("large").await.result.text().map(str::len), Some(10 << 20));
}

#[tokio::test]
async fn the_registry_goes_on_after_a_panic() {
    let registry = registry();
    registry.execute_tool("1", "panic", "{}").await;
    assert_eq!(
        registry.execute_tool("2", "answer", "{}").await.text(),
        Some("42")
    );
}

#[tokio::test]
async fn a_result_that_nests_without_end_is_an_error_and_overflows_nothing() {
    let mut registry = tool_runtime::ToolRegistry::new();
    registry
        .register_dynamic(crate::tools::definition("deep"), async |_, _| {
            (0..100_000).fold(serde_json::Value::Null, |inner, _| {
                serde_json::Value::Array(vec![inner])
            })
        })
        .unwrap();
    let result = registry.execute_tool("toolu_1", "deep", "{}").await;
    assert!(result.is_error);
    assert_eq!(
        result.text(),
        Some("the tool's result is nested too deeply to be serialized as JSON")
    );
}
