//! Errors, which prevent a call, and warnings, which do not.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tool_runtime::{State, ToolCall, ToolRegistry, testing, tool};

use super::{echoed, registry, search};

/// R-ARG-10
#[tokio::test]
async fn misspelt_name_counts_as_missing() {
    let outcome = search(r#"{ "patern": "a" }"#)
        .await
        .assert_refused(["missing_required at /pattern"])
        .assert_warnings(["unknown_parameter at /patern"]);
    assert!(outcome.result.is_error);
}

/// R-ARG-11
#[test]
fn prepared_call_has_arguments_errors_and_warnings() {
    let registry = registry();
    let input = json!({ "pattern": "a", "maxResults": "5", "extraParam": 1 });
    let request = registry.prepare(ToolCall::new("toolu_1", "search_files", input));
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

    let refused = registry.prepare(ToolCall::new(
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
        "a rejected value is shown as it was sent"
    );
}

/// R-COE-15
#[tokio::test]
async fn value_outside_of_an_enum_is_an_error() {
    let mode = json!({ "a": { "type": "string", "enum": ["read", "write", "append"] } });
    let outcome = echoed(mode, r#"{"a":"invalid_mode"}"#)
        .await
        .assert_refused(["enum_out_of_range at /a"]);
    let text = outcome.result.text().unwrap();
    assert!(text.contains("enum_out_of_range:invalid_mode"), "{text}");
    for value in ["read", "write", "append"] {
        assert!(text.contains(value), "the allowed values are named: {text}");
    }
}

/// R-ARG-13
#[tokio::test]
async fn text_that_is_not_json_is_an_error() {
    let outcome = search("\u{1}{ not JSON at all")
        .await
        .assert_refused(["json_parse_error"]);
    assert!(outcome.result.text().unwrap().contains("json_parse_error"));
}

/// R-COE-1
#[tokio::test]
async fn wrong_types_are_errors_at_their_places() {
    search(r#"{ "pattern": ["a"], "caseSensitive": "perhaps", "maxResults": {} }"#)
        .await
        .assert_refused([
            "unsupported_string_literal at /pattern",
            "unsupported_boolean_literal at /caseSensitive",
            "unsupported_integer_literal at /maxResults",
        ]);
}

/// Count a call.
#[tool]
async fn count(
    /// Number to add.
    step: usize,
    calls: State<AtomicUsize>,
) -> usize {
    calls.fetch_add(step, Ordering::SeqCst) + step
}

/// R-ARG-7, R-ARG-12
#[tokio::test]
async fn errors_prevent_the_call_and_warnings_do_not() {
    let mut registry = ToolRegistry::new().with_state(AtomicUsize::new(0));
    registry.register::<count>().unwrap();
    testing::run_in(&registry, "count", r#"{"step":"one"}"#)
        .await
        .assert_refused(["unsupported_integer_literal at /step"]);
    testing::run_in(&registry, "count", r#"{"step":"1","unknown":true}"#)
        .await
        .assert_text("1")
        .assert_warnings([
            "string_literal_converted_to_integer at /step",
            "unknown_parameter at /unknown",
        ]);
}
