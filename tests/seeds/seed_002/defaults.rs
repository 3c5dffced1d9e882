//! Differences 2 and 3: defaults, and how arguments are passed.

use super::{echoed, registry, search, searched};
use serde_json::json;

#[tokio::test]
async fn difference_2_default_used() {
    search(r#"{ "pattern": "a" }"#)
        .await
        .assert_json(searched("a", true, 100))
        .assert_silent();
}

#[tokio::test]
async fn difference_2_sent_value_wins() {
    search(r#"{ "pattern": "a", "caseSensitive": false, "maxResults": 1 }"#)
        .await
        .assert_json(searched("a", false, 1))
        .assert_silent();
}

#[tokio::test]
async fn difference_2_required_has_none() {
    search(r#"{ "maxResults": 1 }"#)
        .await
        .assert_refused(["missing_required at /pattern"]);
}

#[test]
fn difference_2_default_not_sent() {
    let definitions = serde_json::to_string(&registry().tool_definitions()).unwrap();
    assert!(!definitions.contains("default"), "{definitions}");
}

#[tokio::test]
async fn difference_3_order_free() {
    for input in [
        r#"{ "maxResults": 10, "pattern": "*.cs", "caseSensitive": false }"#,
        r#"{ "caseSensitive": false, "pattern": "*.cs", "maxResults": 10 }"#,
        r#"{ "pattern": "*.cs", "caseSensitive": false, "maxResults": 10 }"#,
    ] {
        search(input)
            .await
            .assert_json(searched("*.cs", false, 10))
            .assert_silent();
    }
}

#[tokio::test]
async fn difference_3_list_explicit() {
    let list = json!({ "a": { "type": "array", "items": { "type": "string" } } });
    echoed(list.clone(), r#"{"a":["x","y"]}"#)
        .await
        .assert_json(json!({ "a": ["x", "y"] }))
        .assert_silent();
    echoed(list, r#"["x","y"]"#)
        .await
        .assert_refused(["arguments_not_object"]);
}
