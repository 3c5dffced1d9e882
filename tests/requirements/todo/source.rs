//! Rules for the source of the todo tools.

use serde_json::json;

use super::{read, registry, todo, write};

const SOURCE: &str = include_str!("../../../tool-builtins/src/todo.rs");

/// R-TODO-29
#[test]
fn source_has_fewer_than_500_lines() {
    let lines = SOURCE.bytes().filter(|byte| *byte == b'\n').count(); // like `wc -l`
    assert!(lines < 500, "{lines} lines");
}

/// R-TODO-30
#[test]
fn source_explains_six_concepts_in_order() {
    let concepts = [
        "Registration",
        "tool_use_id",
        "tool_result",
        "Schema definition",
        "Async execution",
        "Parameter validation",
    ];
    let mut rest = SOURCE;
    for (number, concept) in (1..).zip(concepts) {
        let comment = format!("// {number}. {concept}. ");
        let found = rest
            .find(&comment)
            .unwrap_or_else(|| panic!("`{comment}` is missing or out of order"));
        rest = &rest[found..];
    }
}

/// R-TODO-28
#[tokio::test]
async fn todos_are_kept_in_memory_only() {
    for outside in ["std::fs", "tokio::fs", "std::net", "std::env", "static "] {
        assert!(!SOURCE.contains(outside), "todo.rs uses `{outside}`");
    }
    let first = registry();
    write(&first, json!([todo("a")])).await;
    assert_eq!(
        read(&registry()).await,
        r#"{"todos":[]}"#,
        "each registry has its own list"
    );
}
