//! `TodoRead`.

use serde_json::json;
use tool_runtime::testing::run_in;

use super::{listing, read, registry, todo, write};

/// R-TODO-20
#[tokio::test]
async fn takes_no_arguments() {
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

/// R-TODO-21
#[tokio::test]
async fn returns_todos_as_json_text() {
    let registry = registry();
    write(&registry, json!([todo("a")])).await;
    let result = registry.execute_tool("toolu_1", "TodoRead", "{}").await;
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"{\"todos\":[{\"content\":\"a\",\"status\":\"pending\",\"activeForm\":\"doing it\"}]}"}"#,
    );
}

/// R-TODO-22
#[tokio::test]
async fn returns_all_todos_in_order() {
    let registry = registry();
    let contents: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    let contents: Vec<_> = contents.iter().map(String::as_str).collect();
    let todos: Vec<_> = contents.iter().map(|content| todo(content)).collect();
    write(&registry, json!(todos)).await;
    run_in(&registry, "TodoRead", "{}")
        .await
        .assert_text(&listing(&contents))
        .assert_no_warnings();
}

/// R-TODO-23
#[tokio::test]
async fn empty_list_is_not_an_error() {
    let never_written = registry();
    let cleared = registry();
    write(&cleared, json!([todo("a")])).await;
    write(&cleared, json!([])).await;
    for registry in [never_written, cleared] {
        run_in(&registry, "TodoRead", "{}")
            .await
            .assert_text(r#"{"todos":[]}"#)
            .assert_no_warnings();
    }
}

/// R-TODO-24
#[tokio::test]
async fn reading_keeps_the_list() {
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
