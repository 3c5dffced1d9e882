//! Registry: registration, lookup, and execution of handlers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tool_builtins::todo::{TodoList, todo_read, todo_write};
use tool_runtime::{SessionState, ToolDefinition, ToolOutput, ToolRegistry};

use crate::requirements::todo::{definitions, registry, todo};

/// R-REG-5
#[tokio::test]
async fn handlers_do_not_see_the_tool_use_id() {
    // The functions have no parameter for the id, so direct calls need none.
    let list = SessionState::<TodoList>::default();
    assert_eq!(todo_write(Vec::new(), list.clone()).await.count, 0);
    assert!(todo_read(list).await.todos.is_empty());
    for definition in definitions() {
        assert!(!definition.to_string().contains("tool_use_id"));
    }
}

/// R-RES-6
#[tokio::test]
async fn output_of_a_handler_is_passed_on_unchanged() {
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

/// R-REG-4
#[tokio::test]
async fn handlers_are_asynchronous() {
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("waits", "Waits.", json!({ "type": "object", "properties": {} }));
    let (both, waiting) = (Arc::new(tokio::sync::Barrier::new(2)), Duration::from_secs(60));
    registry
        .register_dynamic(definition, move |_, _| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                "met"
            }
        })
        .unwrap();
    // On one thread, each call waits for the other, which works only with asynchronous handlers.
    let calls = async {
        tokio::join!(
            registry.execute_tool("a", "waits", "{}"),
            registry.execute_tool("b", "waits", "{}")
        )
    };
    let (a, b) = tokio::time::timeout(waiting, calls).await.unwrap();
    assert_eq!((a.text(), b.text()), (Some("met"), Some("met")));
}

/// R-REG-1
#[test]
fn get_tool_finds_registered_tools_by_name() {
    let registry = registry();
    for name in ["TodoWrite", "TodoRead"] {
        assert_eq!(registry.get_tool(name).unwrap().definition().name, name);
    }
    assert!(registry.get_tool("todowrite").is_none());
}

/// R-REG-2
#[test]
fn tool_definitions_are_in_order_of_registration() {
    let registry = registry();
    let names: Vec<_> = registry
        .tool_definitions()
        .iter()
        .map(|definition| definition.name.clone())
        .collect();
    assert_eq!(names, ["TodoWrite", "TodoRead"]);
}

/// R-REG-3
#[tokio::test]
async fn execute_tool_takes_text_or_a_value() {
    let registry = registry();
    let from_value = registry
        .execute_tool("toolu_1", "TodoWrite", json!({ "todos": [todo("a")] }))
        .await;
    let text = json!({ "todos": [todo("a")] }).to_string();
    let from_text = registry.execute_tool("toolu_1", "TodoWrite", text).await;
    assert_eq!(from_value, from_text);
}
