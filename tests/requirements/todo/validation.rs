//! The order of `TodoWrite`'s checks, and its strict rules.

use serde_json::{Value, json};
use tool_runtime::issue::Code;
use tool_runtime::{Policy, ToolCall};

use super::{assert_rejected, listing, read, registry, todo, todo_with, todo_without, write};

/// R-TODO-16
#[tokio::test]
async fn checks_content_then_status_then_active_form() {
    let wrong = json!({ "activeForm": "", "status": "later", "content": "" });
    assert_rejected(
        json!([wrong]),
        "Todo at index 0: content is required and cannot be empty",
    )
    .await;
    let wrong = json!({ "activeForm": "", "status": "later", "content": "x" });
    let message = "Todo at index 0: invalid status 'later'. Must be one of: pending, in_progress, completed";
    assert_rejected(json!([wrong]), message).await;
    let wrong = json!({ "activeForm": "", "status": "completed", "content": "x" });
    assert_rejected(
        json!([wrong]),
        "Todo at index 0: activeForm is required and cannot be empty",
    )
    .await;
    // For every kind of mistake: missing, of a wrong type, blank.
    assert_rejected(
        json!([{ "activeForm": 7, "status": null }]),
        "Todo at index 0: content is required and cannot be empty",
    )
    .await;
    let message =
        "Todo at index 0: invalid status 'undefined'. Must be one of: pending, in_progress, completed";
    assert_rejected(json!([{ "content": "x" }]), message).await;
}

/// R-TODO-17
#[tokio::test]
async fn checks_items_in_order_of_index() {
    let todos = json!([todo("a"), todo_with("activeForm", ""), todo_with("content", "")]);
    assert_rejected(
        todos,
        "Todo at index 1: activeForm is required and cannot be empty",
    )
    .await;
    // In numeric order, with 2 before 10.
    let mut todos = vec![todo("a"); 12];
    todos[10] = todo_with("content", "");
    todos[2] = todo_with("activeForm", "");
    assert_rejected(
        json!(todos),
        "Todo at index 2: activeForm is required and cannot be empty",
    )
    .await;
}

/// R-TODO-18
#[tokio::test]
async fn reports_the_first_error_only() {
    let message = "Todo at index 0: content is required and cannot be empty";
    assert_rejected(json!([{}, {}, 7, todo_with("status", 1)]), message).await;
}

/// R-TODO-19
#[tokio::test]
async fn messages_name_the_index() {
    for index in [0, 9, 123] {
        let mut todos = vec![todo("a"); 124];
        todos[index] = todo_with("content", " ");
        assert_rejected(
            json!(todos),
            &format!("Todo at index {index}: content is required and cannot be empty"),
        )
        .await;
    }
}

/// R-TODO-25
#[tokio::test]
async fn items_are_not_coerced() {
    let message =
        "Todo at index 0: invalid status 'PENDING'. Must be one of: pending, in_progress, completed";
    assert_rejected(json!([todo_with("status", "PENDING")]), message).await;
    for item in [
        todo_with("content", 5),
        todo_with("content", true),
        json!("x"),
        json!(7),
        json!([]),
        Value::Null,
    ] {
        assert_rejected(
            json!([item]),
            "Todo at index 0: content is required and cannot be empty",
        )
        .await;
    }
    assert_rejected(
        json!([todo_with("activeForm", 5)]),
        "Todo at index 0: activeForm is required and cannot be empty",
    )
    .await;
}

/// R-TODO-26
#[tokio::test]
async fn invalid_status_is_shown_as_it_was_sent() {
    let shown = [
        (todo_without("status"), "undefined"),
        (todo_with("status", Value::Null), "null"),
        (todo_with("status", 5), "5"),
        (todo_with("status", true), "true"),
        (todo_with("status", json!({ "is": "done" })), r#"{"is":"done"}"#),
        (todo_with("status", json!(["pending"])), r#"["pending"]"#),
    ];
    for (todo, shown) in shown {
        let message = format!(
            "Todo at index 0: invalid status '{shown}'. Must be one of: pending, in_progress, completed"
        );
        assert_rejected(json!([todo]), &message).await;
    }
}

/// R-TODO-27
#[tokio::test]
async fn unknown_keys_are_dropped_with_a_warning() {
    let registry = registry();
    write(&registry, json!([todo("a"), todo_with("id", "7")]))
        .await
        .assert_text(r#"{"success":true,"count":2}"#)
        .assert_warnings(["unknown_property at /todos/1/id"]);
    assert_eq!(read(&registry).await, listing(&["a", "x"]));
    // Under `Policy::Strict`, this is an error.
    let call = ToolCall::new("toolu_1", "TodoWrite", json!({ "todos": [todo_with("id", "7")] }));
    let outcome = registry.call(call.with_policy(Policy::Strict)).await;
    let errors: Vec<_> = outcome
        .errors
        .iter()
        .map(|error| (error.code, &*error.path))
        .collect();
    assert_eq!(errors, [(Code::UnknownProperty, "/todos/0/id")]);
    assert_eq!(read(&registry).await, listing(&["a", "x"]));
}
