//! What a `tool_use` passes, and how it is parsed.

use serde_json::{Value, json};
use tool_runtime::ToolCall;

use super::{echo, registry, search, searched};

#[tokio::test]
async fn passing_empty_object() {
    let optional = json!({ "b": { "type": "string", "description": "Any." } });
    for input in ["", "  ", "null", "{}"] {
        let request = echo(optional.clone()).request(ToolCall::new("toolu_1", "echo", input));
        assert_eq!(Value::Object(request.arguments), json!({}), "{input:?}");
        let warned: Vec<_> = request
            .warnings
            .iter()
            .map(|warning| warning.code.as_str())
            .collect();
        assert_eq!(
            warned,
            if input == "{}" {
                vec![]
            } else {
                vec!["empty_arguments"]
            },
            "{input:?}"
        );
    }
}

#[tokio::test]
async fn passing_omitted_optional() {
    let input = r#"{ "pattern": "**/*.cs", "maxResults": 50 }"#;
    search(input)
        .await
        .assert_json(searched("**/*.cs", true, 50))
        .assert_silent();
}

#[tokio::test]
async fn passing_undefined_parameter() {
    search(r#"{ "pattern": "*.cs", "recursive": true }"#)
        .await
        .assert_json(searched("*.cs", true, 100))
        .assert_warnings(["unknown_parameter at /recursive"]);
}

#[tokio::test]
async fn passing_name_case() {
    // An implementation may be insensitive: this one is, and says so; the exact name wins.
    search(r#"{ "Pattern": "a", "max_results": 7 }"#)
        .await
        .assert_json(searched("a", true, 7))
        .assert_warnings([
            "parameter_name_normalized at /pattern",
            "parameter_name_normalized at /maxResults",
        ]);
    search(r#"{ "PATTERN": "other", "pattern": "exact" }"#)
        .await
        .assert_json(searched("exact", true, 100))
        .assert_warnings(["unknown_parameter at /PATTERN"]);
}

#[test]
fn parsing_unknown_parameter() {
    let input = json!({ "pattern": "*.cs", "extraParam": [1, { "kept": null }] });
    let request = registry().request(ToolCall::new("toolu_1", "search_files", input.clone()));
    assert_eq!(Value::Object(request.arguments), input, "the value is kept");
    let [warning] = request.warnings.as_slice() else {
        panic!("{:?}", request.warnings);
    };
    assert!(
        warning.to_string().starts_with("unknown_parameter:extraParam"),
        "{warning}"
    );
    assert!(request.errors.is_empty());
}

#[tokio::test]
async fn parsing_missing_required() {
    let outcome = search("{}")
        .await
        .assert_refused(["missing_required at /pattern"]);
    assert_eq!(outcome.errors[0].subject(), Some("pattern"));
    let text = outcome.result.text().unwrap();
    assert!(text.contains("missing_required:pattern at /pattern"), "{text}");
}
