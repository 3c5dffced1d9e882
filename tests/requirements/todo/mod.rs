//! `TodoWrite` and `TodoRead`.

mod definitions;
mod writing;
mod validation;
mod reading;
mod source;

use serde_json::{Value, json};
use tool_builtins::todo::{todo_read, todo_write};
use tool_runtime::ToolRegistry;
use tool_runtime::testing::{CallAssert, run_in};

/// Builds a registry with both tools and an empty list.
pub fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry
        .register::<todo_write>()
        .unwrap()
        .register::<todo_read>()
        .unwrap();
    registry
}

async fn write(registry: &ToolRegistry, todos: Value) -> CallAssert {
    run_in(registry, "TodoWrite", json!({ "todos": todos })).await
}

async fn read(registry: &ToolRegistry) -> String {
    run_in(registry, "TodoRead", "{}")
        .await
        .result
        .text()
        .unwrap()
        .to_owned()
}

/// Checks that a list is rejected with this message, and that the previous list is unchanged.
async fn assert_rejected(todos: Value, message: &str) {
    let registry = registry();
    write(&registry, json!([todo("kept")]))
        .await
        .assert_text(r#"{"success":true,"count":1}"#);
    write(&registry, todos).await.assert_error(message);
    assert_eq!(read(&registry).await, listing(&["kept"]));
}

pub fn todo(content: &str) -> Value {
    json!({ "content": content, "status": "pending", "activeForm": "doing it" })
}

/// Builds a todo with another value in one field.
fn todo_with(field: &str, value: impl Into<Value>) -> Value {
    let mut todo = todo("x");
    todo[field] = value.into();
    todo
}

fn todo_without(field: &str) -> Value {
    let mut todo = todo("x");
    todo.as_object_mut().unwrap().remove(field);
    todo
}

/// Returns the content of `TodoRead`'s result for todos of [`todo`].
fn listing(contents: &[&str]) -> String {
    let todos: Vec<_> = contents
        .iter()
        .map(|content| format!(r#"{{"content":"{content}","status":"pending","activeForm":"doing it"}}"#))
        .collect();
    format!(r#"{{"todos":[{}]}}"#, todos.join(","))
}

pub fn definitions() -> [Value; 2] {
    let registry = registry();
    ["TodoWrite", "TodoRead"]
        .map(|name| serde_json::to_value(registry.get_tool(name).unwrap().definition()).unwrap())
}
