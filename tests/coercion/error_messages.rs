//! What the model reads of a rejected call.

use serde_json::{Value, json};
use tests::dynamic_tool;
use tool_runtime::{Policy, ToolCall, ToolRegistry};

use crate::typed;

/// The text of the answer to a call of a typed tool.
async fn answer(registry: &ToolRegistry, name: &str, input: &str) -> String {
    let result = registry.execute_tool("id", name, input).await;
    result.text().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn error_names_code_subject_and_path() {
    let registry = typed::registry();
    let cases = [
        ("search_files", "{}", "missing_required:pattern", "/pattern"),
        ("mode", r#"{"x": "delete"}"#, "enum_out_of_range:delete", "/x"),
        (
            "object_list",
            r#"{"x": [{"a": 1}, {}]}"#,
            "missing_required:a",
            "/x/1/a",
        ),
        ("ranged", r#"{"x": 11}"#, "constraint_violated", "/x"),
        ("integer", r#"{"x": "many"}"#, "unsupported_integer_literal", "/x"),
    ];
    for (tool, input, code, place) in cases {
        let text = answer(&registry, tool, input).await;
        assert!(text.contains(code) && text.contains(place), "{tool}: {text}");
    }
}

#[tokio::test]
async fn error_states_the_allowed_values() {
    let registry = typed::registry();
    let text = answer(&registry, "mode", r#"{"x": "delete"}"#).await;
    for value in ["read", "write", "append"] {
        assert!(text.contains(value), "{text}");
    }
    let text = answer(&registry, "ranged", r#"{"x": 1234}"#).await;
    assert!(
        text.contains("10") && text.contains("1234"),
        "the limit and the value: {text}"
    );
    let text = answer(&registry, "ranged", r#"{"x": 99999999999999999999}"#).await;
    assert!(text.contains("to 10"), "the limit, not what 64 bits hold: {text}");
    let text = answer(&registry, "number", r#"{"x": 1e400}"#).await;
    assert!(text.contains("64 bits"), "it is a number: {text}");
    let text = answer(&registry, "integer_u8", r#"{"x": 256}"#).await;
    assert!(
        text.contains("255") && text.contains("256"),
        "the limit and the value: {text}"
    );
}

#[test]
fn error_of_a_union_states_the_limit() {
    let either = json!({ "anyOf": [{ "type": "integer", "maximum": 10 }, { "type": "integer", "minimum": 90 }, { "type": "string" }] });
    let registry = dynamic_tool::registry(&json!({ "type": "object", "properties": { "x": either } }));
    let request = dynamic_tool::prepare(&registry, json!({ "x": 11 }), Policy::Lenient);
    let errors: Vec<_> = request.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "no_alternative_fits at /x: invalid value 11; expected an integer up to 10, or an integer from 90, or a string",
            "constraint_violated at /x: invalid value 11; expected an integer up to 10"
        ]
    );
}

#[tokio::test]
async fn blank_subject_is_omitted() {
    let registry = typed::registry();
    let text = answer(&registry, "mode", r#"{"x": ""}"#).await;
    assert!(
        text.contains("enum_out_of_range at /x: invalid value \"\""),
        "{text}"
    );
}

/// What a list or a later part of an `allOf` checks was coerced before.
#[test]
fn messages_quote_values_as_coerced_so_far() {
    let sent = |schema: &Value, sent: &str| {
        let schema = json!({ "type": "object", "properties": { "x": schema } });
        let registry = dynamic_tool::registry(&schema);
        let request = dynamic_tool::prepare(&registry, format!("{{\"x\": {sent}}}"), Policy::Lenient);
        let error = request.errors.first().expect("an error").clone();
        (
            error.message.to_string(),
            error.sent().unwrap_or_default().to_owned(),
        )
    };
    let list = json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2 });
    for value in ["\"5\"", "[\"5\"]"] {
        let message = "invalid value [5]; expected at least 2 items, got 1";
        assert_eq!(sent(&list, value), (message.to_owned(), "[5]".to_owned()));
    }
    let parts = json!({ "allOf": [{ "type": "boolean" }, { "type": "integer" }] });
    let message = "invalid value true; expected an integer";
    assert_eq!(sent(&parts, "1"), (message.to_owned(), "true".to_owned()));
    let number = json!({ "type": "integer", "maximum": 4 });
    let message = "invalid value \"5\"; expected an integer up to 4";
    assert_eq!(sent(&number, "\"5\""), (message.to_owned(), "5".to_owned()));
}

/// The integer of `"5"` matches both alternatives, too.
#[test]
fn ambiguous_value_does_not_suggest_its_coerced_form() {
    let schema = json!({ "type": "object", "properties": {
        "x": { "oneOf": [{ "type": "integer", "minimum": 0 }, { "type": "integer", "maximum": 10 }] },
    } });
    let registry = dynamic_tool::registry(&schema);
    let request = dynamic_tool::prepare(&registry, r#"{"x": "5"}"#, Policy::Lenient);
    assert_eq!(
        request.errors[0].message,
        "ambiguous value \"5\": its coerced value would be read differently; expected a value that is valid \
         without coercion"
    );
}

/// Defaults are applied by the function, and the keys of maps have none.
#[test]
fn warnings_of_missing_values_promise_no_default() {
    let schema = json!({ "type": "object", "properties": {
        "x": { "type": "integer", "default": 1 },
        "m": { "type": "object", "propertyNames": { "enum": ["a"] }, "additionalProperties": { "type": "integer" } },
    } });
    let registry = dynamic_tool::registry(&schema);
    let request = dynamic_tool::prepare(&registry, r#"{"x": null, "m": {"a": null}}"#, Policy::Lenient);
    let messages: Vec<_> = request
        .warnings
        .iter()
        .map(|issue| issue.message.as_ref())
        .collect();
    assert_eq!(
        messages,
        ["null was read as a missing key; leave the key out instead"; 2]
    );
}

#[tokio::test]
async fn echoed_values_are_truncated_to_64_characters() {
    let registry = typed::registry();
    for (tool, sent) in [
        ("mode", "ä".repeat(65)),
        ("integer", "ä".repeat(65)),
        ("object", "ä".repeat(65)),
    ] {
        let text = answer(&registry, tool, &json!({ "x": sent }).to_string()).await;
        assert!(!text.contains(&sent), "{text}");
    }
    let unknown = "k".repeat(1_000);
    let call = ToolCall::new("id", "nothing", json!({ unknown: 1 }));
    let outcome = registry.call(call).await;
    assert_eq!(outcome.warnings.len(), 1);
    let warning = outcome.warnings[0].to_string();
    assert!(
        warning.starts_with(&format!("unknown_parameter:{}…", "k".repeat(64))),
        "{warning}"
    );
}

#[tokio::test]
async fn all_errors_are_reported_together() {
    let text = answer(&typed::registry(), "three", r#"{"c": "many", "a": "many"}"#).await;
    let places = ["/a", "/b", "/c"].map(|place| text.find(place));
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{text}");
}
