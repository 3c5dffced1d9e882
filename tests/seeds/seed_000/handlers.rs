//! F-006, F-007: asynchronous handlers, and the registry that runs them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tool_builtins::todo::{TodoStore, todo_read, todo_write};
use tool_runtime::testing::run_in;
use tool_runtime::{RegistryError, State, ToolDefinition, ToolOutput, ToolRegistry};

use super::{definitions, registry, todo};

#[tokio::test]
async fn f_006_rule_no_id_in_handler() {
    // The function has neither a parameter nor a context with the id: called by hand it does not need one.
    let store = State::new(TodoStore::default());
    assert_eq!(todo_write(Vec::new(), store.clone()).await.count, 0);
    assert!(todo_read(store).await.todos.is_empty());
    for definition in definitions() {
        assert!(!definition.to_string().contains("tool_use_id"));
    }
}

#[tokio::test]
async fn f_006_rule_registry_fills_id() {
    let registry = registry();
    for id in ["toolu_1", "toolu_2"] {
        let result = registry.execute_tool(id, "TodoRead", "{}").await;
        assert_eq!(
            (result.tool_use_id.as_str(), result.text()),
            (id, Some(r#"{"todos":[]}"#))
        );
    }
}

#[tokio::test]
async fn f_006_rule_output_passes_through() {
    let mut registry = ToolRegistry::new();
    let definition =
        |name| ToolDefinition::new(name, "Answers.", json!({ "type": "object", "properties": {} }));
    registry
        .register_dynamic(definition("works"), async |_, _| {
            ToolOutput::text("as \"it\" is\n")
        })
        .unwrap()
        .register_dynamic(definition("fails"), async |_, _| ToolOutput::error("as it is"))
        .unwrap();
    let works = registry.execute_tool("toolu_1", "works", "{}").await;
    assert_eq!((works.text(), works.is_error), (Some("as \"it\" is\n"), false));
    let fails = registry.execute_tool("toolu_1", "fails", "{}").await;
    assert_eq!((fails.text(), fails.is_error), (Some("as it is"), true));
}

#[tokio::test]
async fn f_006_rule_asynchronous() {
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("waits", "Waits.", json!({ "type": "object", "properties": {} }));
    let (both, waiting) = (Arc::new(tokio::sync::Barrier::new(2)), Duration::from_secs(10));
    registry
        .register_dynamic(definition, move |_, _| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                "met"
            }
        })
        .unwrap();
    // On one thread, each waits for the other: only what is asynchronous gets past that.
    let calls = async {
        tokio::join!(
            registry.execute_tool("a", "waits", "{}"),
            registry.execute_tool("b", "waits", "{}")
        )
    };
    let (a, b) = tokio::time::timeout(waiting, calls).await.unwrap();
    assert_eq!((a.text(), b.text()), (Some("met"), Some("met")));
}

#[test]
fn f_007_api_register() {
    let mut registry = registry();
    assert!(matches!(
        registry.register::<todo_write>(),
        Err(RegistryError::Duplicate { .. })
    ));
    let without_store = ToolRegistry::new()
        .register::<todo_write>()
        .map(|_| ())
        .unwrap_err();
    assert!(without_store.to_string().contains("TodoStore"), "{without_store}");
}

#[test]
fn f_007_api_get_tool() {
    let registry = registry();
    assert_eq!(
        registry.get_tool("TodoWrite").unwrap().definition().name,
        "TodoWrite"
    );
    assert!(registry.get_tool("todowrite").is_none());
}

#[test]
fn f_007_api_definitions() {
    let registry = registry();
    let names: Vec<_> = registry
        .tool_definitions()
        .iter()
        .map(|definition| definition.name.clone())
        .collect();
    assert_eq!(names, ["TodoWrite", "TodoRead"]);
}

#[tokio::test]
async fn f_007_api_execute() {
    let registry = registry();
    let from_value = registry
        .execute_tool("toolu_1", "TodoWrite", json!({ "todos": [todo("a")] }))
        .await;
    let text = json!({ "todos": [todo("a")] }).to_string();
    let from_text = registry.execute_tool("toolu_1", "TodoWrite", text).await;
    assert_eq!(from_value, from_text);
}

#[tokio::test]
async fn f_007_rule_not_found() {
    run_in(&registry(), "search", "{}")
        .await
        .assert_error("Tool 'search' not found");
}
