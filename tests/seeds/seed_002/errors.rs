//! Difference 5: errors stop a call, warnings do not.

use serde_json::{Value, json};
use tool_runtime::ToolCall;

use super::{echoed, registry, search, searched};

#[tokio::test]
async fn difference_5_type_mismatch() {
    let outcome = search(r#"{ "pattern": {} }"#)
        .await
        .assert_refused(["unsupported_string_literal at /pattern"]);
    assert!(outcome.result.is_error);
}

#[tokio::test]
async fn difference_5_missing() {
    search("{}")
        .await
        .assert_refused(["missing_required at /pattern"]);
}

#[tokio::test]
async fn difference_5_extra() {
    search(r#"{ "pattern": "a", "extraParam": 1 }"#)
        .await
        .assert_json(searched("a", true, 100))
        .assert_warnings(["unknown_parameter at /extraParam"]);
}

#[tokio::test]
async fn difference_5_misspelt() {
    let outcome = search(r#"{ "patern": "a" }"#)
        .await
        .assert_refused(["missing_required at /pattern"]);
    let outcome = outcome.assert_warnings(["unknown_parameter at /patern"]);
    assert!(outcome.result.is_error);
}

#[test]
fn difference_5_request() {
    let registry = registry();
    let input = json!({ "pattern": "a", "maxResults": "5", "extraParam": 1 });
    let request = registry.request(ToolCall::new("toolu_1", "search_files", input));
    assert_eq!(request.tool_use_id, "toolu_1");
    assert_eq!(request.name, "search_files");
    assert_eq!(
        Value::Object(request.arguments),
        json!({ "pattern": "a", "maxResults": 5, "extraParam": 1 }),
    );
    let mut warnings: Vec<_> = request
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect();
    warnings.sort_unstable();
    assert_eq!(
        warnings,
        ["string_literal_converted_to_integer", "unknown_parameter"]
    );
    assert!(request.errors.is_empty());

    let refused = registry.request(ToolCall::new(
        "toolu_2",
        "search_files",
        json!({ "maxResults": "many" }),
    ));
    let errors: Vec<_> = refused.errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(
        errors,
        ["missing_required", "unsupported_integer_literal"],
        "in the order of the parameters"
    );
    assert_eq!(
        refused.arguments["maxResults"], "many",
        "what was refused stands as it was sent"
    );
}

#[tokio::test]
async fn difference_5_enum_out_of_range() {
    let mode = json!({ "a": { "type": "string", "enum": ["read", "write", "append"] } });
    let outcome = echoed(mode, r#"{"a":"invalid_mode"}"#)
        .await
        .assert_refused(["enum_out_of_range at /a"]);
    let text = outcome.result.text().unwrap();
    assert!(text.contains("enum_out_of_range:invalid_mode"), "{text}");
    for value in ["read", "write", "append"] {
        assert!(text.contains(value), "the values are named: {text}");
    }
}

#[tokio::test]
async fn difference_5_json_parse_error() {
    let outcome = search("\u{1}{ not JSON at all")
        .await
        .assert_refused(["json_parse_error"]);
    assert!(outcome.result.text().unwrap().contains("json_parse_error"));
}
