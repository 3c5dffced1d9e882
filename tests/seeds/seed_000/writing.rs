//! F-001: TodoWrite.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tool_builtins::todo::{Status, Todo, TodoStore, todo_read, todo_write};
use tool_runtime::State;
use tool_runtime::testing::run_in;

use super::{listing, read, refused, registry, todo, todo_with, todo_without, write};

#[tokio::test]
async fn f_001_input_fields() {
    let registry = registry();
    let all = ["pending", "in_progress", "completed"].map(|status| todo_with("status", status));
    write(&registry, json!(all))
        .await
        .assert_text(r#"{"success":true,"count":3}"#)
        .assert_silent();
    let back: Value = serde_json::from_str(&read(&registry).await).unwrap();
    assert_eq!(back, json!({ "todos": all }));
    for field in ["content", "status", "activeForm"] {
        let outcome = write(&registry, json!([todo_without(field)])).await;
        outcome.assert_refused([&*format!("missing_required at /todos/0/{field}")]);
    }
}

#[tokio::test]
async fn f_001_output_format() {
    let result = registry()
        .execute_tool("toolu_1", "TodoWrite", json!({ "todos": [todo("a"), todo("b")] }))
        .await;
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"{\"success\":true,\"count\":2}"}"#,
    );
}

#[tokio::test]
async fn f_001_rule_replaces_all() {
    let registry = registry();
    write(&registry, json!([todo("a"), todo("b"), todo("c")])).await;
    write(&registry, json!([todo("b")])).await;
    assert_eq!(read(&registry).await, listing(&["b"]));
}

#[tokio::test]
async fn f_001_rule_empty_clears() {
    let registry = registry();
    write(&registry, json!([todo("a")])).await;
    write(&registry, json!([])).await.assert_silent();
    assert_eq!(read(&registry).await, listing(&[]));
}

#[tokio::test]
async fn f_001_rule_refused_changes_nothing() {
    refused(
        json!([todo_with("content", "")]),
        "Todo at index 0: content is required and cannot be empty",
    )
    .await;
}

#[tokio::test]
async fn f_001_error_todos_missing() {
    for input in ["{}", "", "null", r#"{"items":[]}"#] {
        run_in(&registry(), "TodoWrite", input)
            .await
            .assert_error("'todos' array is required");
    }
}

#[tokio::test]
async fn f_001_error_todos_no_array() {
    for todos in [json!("x"), json!({}), json!(7), json!(true), todo("a")] {
        refused(todos, "'todos' must be an array").await;
    }
}

#[tokio::test]
async fn f_001_error_content_empty() {
    for content in ["", " ", "\t\n", "\u{3000}"] {
        let todos = json!([todo("fine"), todo_with("content", content)]);
        refused(todos, "Todo at index 1: content is required and cannot be empty").await;
    }
    refused(
        json!([todo_without("content")]),
        "Todo at index 0: content is required and cannot be empty",
    )
    .await;
}

#[tokio::test]
async fn f_001_error_status_invalid() {
    for status in ["done", "", "in progress", " pending"] {
        let message = format!(
            "Todo at index 2: invalid status '{status}'. Must be one of: pending, in_progress, completed"
        );
        refused(
            json!([todo("a"), todo("b"), todo_with("status", status)]),
            &message,
        )
        .await;
    }
}

#[tokio::test]
async fn f_001_error_active_form_empty() {
    for active_form in ["", "   "] {
        let todos = json!([todo_with("activeForm", active_form)]);
        refused(
            todos,
            "Todo at index 0: activeForm is required and cannot be empty",
        )
        .await;
    }
    refused(
        json!([todo_without("activeForm")]),
        "Todo at index 0: activeForm is required and cannot be empty",
    )
    .await;
}

#[tokio::test]
async fn f_001_boundary_empty_array() {
    write(&registry(), json!([]))
        .await
        .assert_text(r#"{"success":true,"count":0}"#);
}

#[tokio::test]
async fn f_001_boundary_single_todo() {
    let input = r#"{ "todos": [{ "content": "x", "status": "pending", "activeForm": "y" }] }"#;
    run_in(&registry(), "TodoWrite", input)
        .await
        .assert_text(r#"{"success":true,"count":1}"#)
        .assert_silent();
}

#[tokio::test]
async fn f_001_boundary_one_character() {
    for character in ["x", "任", "\u{1F980}"] {
        let mut todo = todo(character);
        todo["activeForm"] = character.into();
        write(&registry(), json!([todo]))
            .await
            .assert_text(r#"{"success":true,"count":1}"#);
    }
}

#[test]
fn f_001_state_atomic() {
    fn list(content: &str, length: usize) -> Vec<Todo> {
        let todo = Todo {
            content: content.to_owned(),
            status: Status::Pending,
            active_form: content.to_owned(),
        };
        vec![todo; length]
    }

    let store = State::new(TodoStore::default());
    let done = AtomicBool::new(false);
    let lists = [list("a", 50), list("b", 7)];
    store.replace(lists[0].clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    std::thread::scope(|scope| {
        for list in &lists {
            let (store, done) = (store.clone(), &done);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                while !done.load(Ordering::Relaxed) {
                    runtime.block_on(todo_write(list.clone(), store.clone()));
                }
            });
        }
        for _ in 0..2000 {
            let seen = runtime.block_on(todo_read(store.clone())).todos;
            if !lists.contains(&seen) {
                done.store(true, Ordering::Relaxed);
                panic!("a mix of two lists, or none: {seen:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[tokio::test]
async fn f_001_state_unchanged_when_refused() {
    // All are right but the last.
    let mut todos = vec![todo("new"); 20];
    todos.push(todo_with("status", "later"));
    let message = "Todo at index 20: invalid status 'later'. Must be one of: pending, in_progress, completed";
    refused(json!(todos), message).await;
}
