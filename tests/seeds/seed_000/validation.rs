//! F-008: what is refused, in which order and words; and where the seed left that open.

use serde_json::{Value, json};
use tool_runtime::issue::Code;
use tool_runtime::testing::run_in;
use tool_runtime::{Policy, ToolCall};

use super::{listing, read, refused, registry, todo, todo_with, todo_without, write};

#[tokio::test]
async fn f_008_order_todos_first() {
    run_in(&registry(), "TodoWrite", r#"{"todo":[{}]}"#)
        .await
        .assert_error("'todos' array is required");
    run_in(&registry(), "TodoWrite", r#"{"todos":{"content":""}}"#)
        .await
        .assert_error("'todos' must be an array");
}

#[tokio::test]
async fn f_008_order_content_status_active_form() {
    let wrong = json!({ "activeForm": "", "status": "later", "content": "" });
    refused(
        json!([wrong]),
        "Todo at index 0: content is required and cannot be empty",
    )
    .await;
    let wrong = json!({ "activeForm": "", "status": "later", "content": "x" });
    let message = "Todo at index 0: invalid status 'later'. Must be one of: pending, in_progress, completed";
    refused(json!([wrong]), message).await;
    let wrong = json!({ "activeForm": "", "status": "completed", "content": "x" });
    refused(
        json!([wrong]),
        "Todo at index 0: activeForm is required and cannot be empty",
    )
    .await;
    // Whatever the kinds of the mistakes are: absent, of a wrong type, blank.
    refused(
        json!([{ "activeForm": 7, "status": null }]),
        "Todo at index 0: content is required and cannot be empty",
    )
    .await;
    let message =
        "Todo at index 0: invalid status 'undefined'. Must be one of: pending, in_progress, completed";
    refused(json!([{ "content": "x" }]), message).await;
}

#[tokio::test]
async fn f_008_order_earlier_index_first() {
    let todos = json!([todo("a"), todo_with("activeForm", ""), todo_with("content", "")]);
    refused(
        todos,
        "Todo at index 1: activeForm is required and cannot be empty",
    )
    .await;
    // By number, not by text: 2 before 10.
    let mut todos = vec![todo("a"); 12];
    todos[10] = todo_with("content", "");
    todos[2] = todo_with("activeForm", "");
    refused(
        json!(todos),
        "Todo at index 2: activeForm is required and cannot be empty",
    )
    .await;
}

#[tokio::test]
async fn f_008_rule_first_error_only() {
    let message = "Todo at index 0: content is required and cannot be empty";
    refused(json!([{}, {}, 7, todo_with("status", 1)]), message).await;
}

#[tokio::test]
async fn f_008_rule_index_in_message() {
    for index in [0, 9, 123] {
        let mut todos = vec![todo("a"); 124];
        todos[index] = todo_with("content", " ");
        refused(
            json!(todos),
            &format!("Todo at index {index}: content is required and cannot be empty"),
        )
        .await;
    }
}

#[tokio::test]
async fn f_008_rule_refused_changes_nothing() {
    refused(
        json!([todo("new"), todo_with("activeForm", "")]),
        "Todo at index 1: activeForm is required and cannot be empty",
    )
    .await;
    refused(json!("none"), "'todos' must be an array").await;
}

#[tokio::test]
async fn design_strict_todos() {
    for todos in [
        json!("x"),
        json!({}),
        Value::Null,
        json!("[]"),
        json!(""),
        json!(json!([todo("a")]).to_string()),
    ] {
        refused(todos, "'todos' must be an array").await;
    }
}

#[tokio::test]
async fn design_strict_items() {
    let message =
        "Todo at index 0: invalid status 'PENDING'. Must be one of: pending, in_progress, completed";
    refused(json!([todo_with("status", "PENDING")]), message).await;
    for item in [
        todo_with("content", 5),
        todo_with("content", true),
        json!("x"),
        json!(7),
        json!([]),
        Value::Null,
    ] {
        refused(
            json!([item]),
            "Todo at index 0: content is required and cannot be empty",
        )
        .await;
    }
    refused(
        json!([todo_with("activeForm", 5)]),
        "Todo at index 0: activeForm is required and cannot be empty",
    )
    .await;
}

#[tokio::test]
async fn design_status_shown() {
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
        refused(json!([todo]), &message).await;
    }
}

#[tokio::test]
async fn design_extra_key() {
    let registry = registry();
    write(&registry, json!([todo("a"), todo_with("id", "7")]))
        .await
        .assert_text(r#"{"success":true,"count":2}"#)
        .assert_warnings(["unknown_property at /todos/1/id"]);
    assert_eq!(read(&registry).await, listing(&["a", "x"]));
    // Where everything is to be strict, it is an error.
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
