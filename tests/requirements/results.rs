//! `tool_result`, and the id that it carries.

use serde_json::json;
use tool_runtime::ToolDefinition;

use crate::requirements::todo::registry;

/// R-RES-1
#[tokio::test]
async fn results_have_the_fields_of_the_api() {
    let registry = registry();
    for (input, keys) in [
        (r#"{"todos":[]}"#, &["type", "tool_use_id", "content"][..]),
        ("{}", &["type", "tool_use_id", "content", "is_error"]),
    ] {
        let result = registry.execute_tool("toolu_1", "TodoWrite", input).await;
        let result = serde_json::to_value(result).unwrap();
        assert_eq!(result.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
        assert_eq!(result["type"], "tool_result");
    }
}

/// R-RES-2
#[tokio::test]
async fn content_is_a_string() {
    let registry = registry();
    for (tool, input) in [
        ("TodoWrite", r#"{"todos":[]}"#),
        ("TodoWrite", "{}"),
        ("TodoRead", "{}"),
        ("No", "{}"),
    ] {
        let result = registry.execute_tool("toolu_1", tool, input).await;
        assert!(
            serde_json::to_value(result).unwrap()["content"].is_string(),
            "{tool} {input}"
        );
    }
}

/// R-RES-3
#[tokio::test]
async fn is_error_is_absent_on_success() {
    let registry = registry();
    let success = registry.execute_tool("toolu_1", "TodoRead", "{}").await;
    assert_eq!(serde_json::to_value(success).unwrap().get("is_error"), None);
    let failure = registry.execute_tool("toolu_1", "TodoWrite", "{}").await;
    assert_eq!(serde_json::to_value(failure).unwrap()["is_error"], true);
}

/// R-RES-4
#[tokio::test]
async fn result_has_the_id_of_the_call() {
    let registry = registry();
    for id in ["toolu_01A09q90qw90lq917835lq9", "", "日本", "a\"b"] {
        assert_eq!(registry.execute_tool(id, "TodoRead", "{}").await.tool_use_id, id);
    }
}

/// R-RES-4
#[tokio::test]
async fn concurrent_calls_keep_their_ids() {
    let registry = registry();
    let calls = (0..50).map(|number| {
        let registry = registry.clone();
        let id = format!("toolu_{number}");
        tokio::spawn(async move { (id.clone(), registry.execute_tool(id, "TodoRead", "{}").await) })
    });
    for call in calls.collect::<Vec<_>>() {
        let (id, result) = call.await.unwrap();
        assert_eq!(result.tool_use_id, id);
    }
}

/// R-RES-5
#[tokio::test]
async fn failed_calls_keep_their_ids() {
    let mut registry = registry();
    let definition =
        |name| ToolDefinition::new(name, "Fails.", json!({ "type": "object", "properties": {} }));
    registry
        .register_dynamic(definition("fails"), async |_, _| Err::<String, _>("no"))
        .unwrap()
        .register_dynamic(definition("panics"), async |_, _| -> String { panic!("inside") })
        .unwrap();
    let failures = [
        ("TodoDelete", "{}"),
        ("TodoWrite", "{}"),
        ("TodoWrite", "[1"),
        ("fails", "{}"),
        ("panics", "{}"),
    ];
    for (tool, input) in failures {
        let result = registry.execute_tool("toolu_7", tool, input).await;
        assert!(result.is_error, "{tool} {input}");
        assert_eq!(result.tool_use_id, "toolu_7", "{tool} {input}");
    }
}
