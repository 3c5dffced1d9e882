//! Passing of arguments by name: missing and unknown arguments.

use serde_json::{Value, json};
use tool_runtime::ToolCall;

use super::{registry, search, searched};

/// R-ARG-7, R-ARG-8
#[test]
fn value_of_an_unknown_parameter_is_kept() {
    let input = json!({ "pattern": "*.cs", "extraParam": [1, { "kept": null }] });
    let request = registry().prepare(ToolCall::new("toolu_1", "search_files", input.clone()));
    assert_eq!(Value::Object(request.arguments), input);
    let [warning] = request.warnings.as_slice() else {
        panic!("{:?}", request.warnings);
    };
    assert!(
        warning.to_string().starts_with("unknown_parameter:extraParam"),
        "{warning}"
    );
    assert!(request.errors.is_empty());
}

/// R-ARG-6
#[tokio::test]
async fn missing_required_parameter_is_an_error() {
    let outcome = search("{}")
        .await
        .assert_refused(["missing_required at /pattern"]);
    assert_eq!(outcome.errors[0].subject(), Some("pattern"));
    let text = outcome.result.text().unwrap();
    assert!(text.contains("missing_required:pattern at /pattern"), "{text}");
}

/// R-ARG-4
#[tokio::test]
async fn omitted_optional_parameter_has_its_default() {
    search(r#"{ "pattern": "a" }"#)
        .await
        .assert_json(searched("a", true, 100))
        .assert_no_warnings();
    search(r#"{ "pattern": "**/*.cs", "maxResults": 50 }"#)
        .await
        .assert_json(searched("**/*.cs", true, 50))
        .assert_no_warnings();
}

/// R-ARG-5
#[tokio::test]
async fn sent_value_replaces_the_default() {
    search(r#"{ "pattern": "a", "caseSensitive": false, "maxResults": 1 }"#)
        .await
        .assert_json(searched("a", false, 1))
        .assert_no_warnings();
}

/// R-ARG-2
#[tokio::test]
async fn order_of_arguments_does_not_matter() {
    for input in [
        r#"{ "maxResults": 10, "pattern": "*.cs", "caseSensitive": false }"#,
        r#"{ "caseSensitive": false, "pattern": "*.cs", "maxResults": 10 }"#,
        r#"{ "pattern": "*.cs", "caseSensitive": false, "maxResults": 10 }"#,
    ] {
        search(input)
            .await
            .assert_json(searched("*.cs", false, 10))
            .assert_no_warnings();
    }
}
