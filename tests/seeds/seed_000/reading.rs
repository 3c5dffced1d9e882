//! F-002: TodoRead.

use serde_json::json;
use tool_runtime::testing::run_in;

use super::{listing, read, registry, todo, write};

#[tokio::test]
async fn f_002_input_none() {
    let registry = registry();
    for input in ["{}", "", "null"] {
        assert!(
            !registry.execute_tool("toolu_1", "TodoRead", input).await.is_error,
            "{input:?}"
        );
    }
    let definition = serde_json::to_value(registry.get_tool("TodoRead").unwrap().definition()).unwrap();
    assert_eq!(definition["input_schema"]["properties"], json!({}));
}

#[tokio::test]
async fn f_002_output_format() {
    let registry = registry();
    write(&registry, json!([todo("a")])).await;
    let result = registry.execute_tool("toolu_1", "TodoRead", "{}").await;
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"{\"todos\":[{\"content\":\"a\",\"status\":\"pending\",\"activeForm\":\"doing it\"}]}"}"#,
    );
}

#[tokio::test]
async fn f_002_rule_returns_all() {
    let registry = registry();
    let contents: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    let contents: Vec<_> = contents.iter().map(String::as_str).collect();
    let todos: Vec<_> = contents.iter().map(|content| todo(content)).collect();
    write(&registry, json!(todos)).await;
    assert_eq!(read(&registry).await, listing(&contents));
}

#[tokio::test]
async fn f_002_rule_empty_list() {
    assert_eq!(read(&registry()).await, r#"{"todos":[]}"#);
}

#[tokio::test]
async fn f_002_error_no_todos() {
    let result = registry().execute_tool("toolu_1", "TodoRead", "{}").await;
    assert!(!result.is_error);
}

#[tokio::test]
async fn f_002_boundary_no_todos() {
    let registry = registry();
    write(&registry, json!([todo("a")])).await;
    write(&registry, json!([])).await;
    run_in(&registry, "TodoRead", "{}")
        .await
        .assert_text(r#"{"todos":[]}"#);
}

#[tokio::test]
async fn f_002_state_read_only() {
    let registry = registry();
    write(&registry, json!([todo("a")])).await;
    let first = read(&registry).await;
    for _ in 0..3 {
        assert_eq!(read(&registry).await, first);
    }
    assert_eq!(
        registry
            .get_tool("TodoRead")
            .unwrap()
            .definition()
            .hints
            .read_only,
        Some(true)
    );
}
