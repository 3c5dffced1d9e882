//! Tool `TodoWrite`: accepted lists, results, and messages about invalid lists.

use serde_json::{Value, json};
use tool_runtime::testing::run_in;

use super::{assert_rejected, listing, read, registry, todo, todo_with, todo_without, write};

/// R-TODO-3
#[tokio::test]
async fn todos_have_three_required_fields() {
    let registry = registry();
    let all = ["pending", "in_progress", "completed"].map(|status| todo_with("status", status));
    write(&registry, json!(all))
        .await
        .assert_text(r#"{"success":true,"count":3}"#)
        .assert_no_warnings();
    let back: Value = serde_json::from_str(&read(&registry).await).unwrap();
    assert_eq!(back, json!({ "todos": all }));
    for field in ["content", "status", "activeForm"] {
        let outcome = write(&registry, json!([todo_without(field)])).await;
        outcome.assert_refused([&*format!("missing_required at /todos/0/{field}")]);
    }
}

/// R-TODO-5
#[tokio::test]
async fn returns_the_number_of_todos() {
    let result = registry()
        .execute_tool("toolu_1", "TodoWrite", json!({ "todos": [todo("a"), todo("b")] }))
        .await;
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"{\"success\":true,\"count\":2}"}"#,
    );
}

/// R-TODO-4
#[tokio::test]
async fn replaces_the_complete_list() {
    let registry = registry();
    write(&registry, json!([todo("a"), todo("b"), todo("c")])).await;
    write(&registry, json!([todo("b"), todo("new")]))
        .await
        .assert_text(r#"{"success":true,"count":2}"#)
        .assert_no_warnings();
    assert_eq!(read(&registry).await, listing(&["b", "new"]));
}

/// R-TODO-6
#[tokio::test]
async fn empty_array_clears_the_list() {
    let registry = registry();
    write(&registry, json!([todo("a")])).await;
    write(&registry, json!([]))
        .await
        .assert_text(r#"{"success":true,"count":0}"#)
        .assert_no_warnings();
    assert_eq!(read(&registry).await, listing(&[]));
}

/// R-TODO-10, R-TODO-15
#[tokio::test]
async fn missing_todos_are_an_error() {
    for input in ["{}", "", "null", r#"{"items":[]}"#, r#"{"todo":[{}]}"#] {
        run_in(&registry(), "TodoWrite", input)
            .await
            .assert_error("'todos' array is required");
    }
}

/// R-TODO-11, R-TODO-15
#[tokio::test]
async fn todos_must_be_an_array() {
    for todos in [
        json!("x"),
        json!({}),
        json!(7),
        json!(true),
        Value::Null,
        todo("a"),
        json!({ "content": "" }),
        // Nothing is decoded here.
        json!(""),
        json!("[]"),
        json!(json!([todo("a")]).to_string()),
    ] {
        assert_rejected(todos, "'todos' must be an array").await;
    }
}

/// R-TODO-12
#[tokio::test]
async fn blank_content_is_an_error() {
    for content in ["", " ", "\t\n", "\u{3000}"] {
        let todos = json!([todo("fine"), todo_with("content", content)]);
        assert_rejected(todos, "Todo at index 1: content is required and cannot be empty").await;
    }
    assert_rejected(
        json!([todo_without("content")]),
        "Todo at index 0: content is required and cannot be empty",
    )
    .await;
}

/// R-TODO-13
#[tokio::test]
async fn unknown_status_is_an_error() {
    for status in ["done", "", "in progress", " pending"] {
        let message = format!(
            "Todo at index 2: invalid status '{status}'. Must be one of: pending, in_progress, completed"
        );
        assert_rejected(
            json!([todo("a"), todo("b"), todo_with("status", status)]),
            &message,
        )
        .await;
    }
}

/// R-TODO-14
#[tokio::test]
async fn blank_active_form_is_an_error() {
    for active_form in ["", "   "] {
        let todos = json!([todo_with("activeForm", active_form)]);
        assert_rejected(
            todos,
            "Todo at index 0: activeForm is required and cannot be empty",
        )
        .await;
    }
    assert_rejected(
        json!([todo_without("activeForm")]),
        "Todo at index 0: activeForm is required and cannot be empty",
    )
    .await;
}

/// R-TODO-7
#[tokio::test]
async fn single_todo_is_valid() {
    let input = r#"{ "todos": [{ "content": "x", "status": "pending", "activeForm": "y" }] }"#;
    run_in(&registry(), "TodoWrite", input)
        .await
        .assert_text(r#"{"success":true,"count":1}"#)
        .assert_no_warnings();
}

/// R-TODO-7
#[tokio::test]
async fn one_character_is_not_blank() {
    for character in ["x", "任", "\u{1F980}"] {
        let mut todo = todo(character);
        todo["activeForm"] = character.into();
        write(&registry(), json!([todo]))
            .await
            .assert_text(r#"{"success":true,"count":1}"#);
    }
}

/// R-TODO-8
#[tokio::test]
async fn invalid_list_changes_nothing() {
    assert_rejected(json!("none"), "'todos' must be an array").await;
    let message = "Todo at index 0: content is required and cannot be empty";
    assert_rejected(json!([todo_with("content", ""), todo("new")]), message).await;
    // All are valid except the last one.
    let mut todos = vec![todo("new"); 20];
    todos.push(todo_with("status", "later"));
    let message = "Todo at index 20: invalid status 'later'. Must be one of: pending, in_progress, completed";
    assert_rejected(json!(todos), message).await;
}
