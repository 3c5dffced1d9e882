//! UC-001 to UC-004.

use serde_json::json;
use tool_runtime::testing::run_in;

use super::{listing, read, registry, todo, write};

#[tokio::test]
async fn uc_001_use_write() {
    let registry = registry();
    write(&registry, json!([todo("old"), todo("older")])).await;
    write(&registry, json!([todo("new")]))
        .await
        .assert_text(r#"{"success":true,"count":1}"#)
        .assert_silent();
    assert_eq!(read(&registry).await, listing(&["new"]));
}

#[tokio::test]
async fn uc_002_use_read() {
    let registry = registry();
    write(&registry, json!([todo("a"), todo("b")])).await;
    run_in(&registry, "TodoRead", "{}")
        .await
        .assert_text(&listing(&["a", "b"]))
        .assert_silent();
}

#[tokio::test]
async fn uc_003_use_clear() {
    let registry = registry();
    write(&registry, json!([todo("a")])).await;
    write(&registry, json!([]))
        .await
        .assert_text(r#"{"success":true,"count":0}"#);
    assert_eq!(read(&registry).await, r#"{"todos":[]}"#);
}

#[tokio::test]
async fn uc_004_use_unknown_tool() {
    let result = registry().execute_tool("toolu_9", "TodoDelete", "{}").await;
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"type":"tool_result","tool_use_id":"toolu_9","content":"Tool 'TodoDelete' not found","is_error":true}"#,
    );
}
