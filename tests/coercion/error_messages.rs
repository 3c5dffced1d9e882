//! Messages about rejected calls, for the model.

use serde_json::{Value, json};
use tests::dynamic_tool;
use tool_runtime::{Policy, ToolCall, ToolRegistry};

use crate::coercion::typed;

/// Returns the text of the result of a call of a typed tool.
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
            "no_alternative_fits at /x: invalid value 11; expected an integer of at most 10, or an integer of at least 90, or a string, or leave it out",
            "constraint_violated at /x: invalid value 11; expected an integer of at most 10, or leave it out"
        ]
    );
}

/// Returns the error of a value for a property with this name and schema.
fn error_for(name: &str, property: &Value, sent: &Value) -> String {
    let schema = json!({ "type": "object", "properties": { name: property }, "required": [name] });
    let registry = dynamic_tool::registry(&schema);
    let request = dynamic_tool::prepare(&registry, json!({ name: sent }), Policy::Lenient);
    let errors: Vec<_> = request
        .errors
        .iter()
        .map(|error| error.message.as_ref())
        .collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.concat()
}

#[test]
fn error_about_a_composite_for_a_string_states_the_form_to_send() {
    let string = json!({ "type": "string" });
    let quoted = "; send a string in quotes";
    let as_text = "; send it as JSON text in quotes";
    for (name, property, sent, kind, ending) in [
        (
            "oldString",
            string.clone(),
            json!({ "a": 1 }),
            "an object",
            quoted,
        ),
        ("new_text", string.clone(), json!(["a"]), "an array", quoted),
        ("json", string.clone(), json!({ "a": 1 }), "an object", as_text),
        (
            "bodyJson",
            string.clone(),
            json!({ "a": 1 }),
            "an object",
            as_text,
        ),
        (
            "paths",
            json!({ "type": "string", "description": "JSON array of path strings" }),
            json!(["a", "b"]),
            "an array",
            as_text,
        ),
        (
            "body",
            json!({ "anyOf": [string.clone(), { "type": "null" }], "description": "The body, as JSON." }),
            json!({}),
            "an object",
            as_text,
        ),
        (
            "bodies",
            json!({ "type": "array", "items": string, "description": "JSON texts" }),
            json!([{ "a": 1 }]),
            "an object",
            as_text,
        ),
    ] {
        let error = error_for(name, &property, &sent);
        let middle = format!("got {kind}{ending}");
        assert!(
            error.starts_with("invalid value ") && error.ends_with(&middle),
            "{name}: {error}"
        );
        assert!(error.contains("; expected a string"), "{name}: {error}");
    }
    let jsonl = json!({ "type": "string", "description": "A path; adjsonable names are allowed." });
    assert!(
        error_for("path", &jsonl, &json!({})).ends_with(quoted),
        "JSON is a word"
    );
    let other = json!({ "type": "string", "description": "JSON", "enum": ["a", "b"] });
    let listed = r#"invalid value {}; expected one of "a", "b""#;
    assert_eq!(error_for("x", &other, &json!({})), listed);
}

#[test]
fn errors_of_nullable_values_name_null() {
    let integer = json!({ "type": ["integer", "null"] });
    let limited = json!({ "anyOf": [{ "type": "integer", "maximum": 9 }, { "type": "null" }] });
    let date = json!({ "type": ["string", "null"], "format": "date", "maxLength": 10 });
    let union = json!({ "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "type": "boolean" } }, { "type": "null" }] });
    for (property, sent, ending) in [
        (&integer, json!("many"), "expected an integer or null"),
        (&integer, json!([1, 2]), "expected an integer or null"),
        (&limited, json!(10), "expected an integer of at most 9 or null"),
        (
            &limited,
            json!("many"),
            "expected an integer of at most 9 or null",
        ),
        (
            &date,
            json!("tomorrow at noon"),
            "expected null or at most 10 characters, got 16",
        ),
        (
            &json!({ "type": ["string", "null"], "pattern": "^a" }),
            json!("b"),
            "expected a string that matches `^a` or null",
        ),
        (
            &json!({ "type": ["array", "null"], "items": { "type": "integer" } }),
            json!("many"),
            "expected an array like [<an integer>, …], or null",
        ),
        (
            &json!({ "type": ["object", "null"], "properties": { "a": integer }, "required": ["a"] }),
            json!("b"),
            r#"expected an object like {"a": <an integer or null>} or null"#,
        ),
        (
            &json!({ "type": ["array", "null"], "items": {}, "minItems": 1 }),
            json!([]),
            "expected null or at least 1 item, got 0",
        ),
        (
            &json!({ "anyOf": [{ "type": "array", "items": {}, "maxItems": 1 }, { "type": "null" }] }),
            json!([1, 2]),
            "expected null or at most 1 item, got 2",
        ),
        (
            &json!({ "type": ["array", "null"], "prefixItems": [{ "type": "integer" }], "items": false, "minItems": 1 }),
            json!([]),
            "expected null or an array like [<an integer>] with at least 1 item, got 0",
        ),
        (
            &json!({ "type": ["array", "null"], "items": {}, "contains": { "type": "integer" } }),
            json!([]),
            "expected null or at least 1 item that is an integer, got 0",
        ),
        (
            &json!({ "type": ["object", "null"], "additionalProperties": true, "minProperties": 1 }),
            json!({}),
            "expected null or at least 1 property, got 0",
        ),
        (
            &json!({ "enum": ["a", null] }),
            json!("b"),
            r#"expected one of "a", null"#,
        ),
    ] {
        let error = error_for("x", property, &sent);
        assert!(error.ends_with(ending), "{error}");
    }
    let missing = |property: &Value| {
        let schema = json!({ "type": "object", "properties": { "x": property }, "required": ["x"] });
        let registry = dynamic_tool::registry(&schema);
        let request = dynamic_tool::prepare(&registry, json!({}), Policy::Lenient);
        request.errors[0].message.to_string()
    };
    for (property, wanted) in [
        (&integer, "an integer or null"),
        (&limited, "an integer of at most 9 or null"),
        (&date, "a date, for example 2025-01-31, or null"),
        (
            &union,
            "an integer, or an array like [<true or false>, …], or null",
        ),
        (&json!({ "type": "null" }), "null"),
        (&json!({ "type": "integer" }), "an integer"),
        (&json!({}), "any value"),
    ] {
        assert_eq!(
            missing(property),
            format!("missing required parameter; expected {wanted}")
        );
    }
}

/// zod writes both keywords, with unsupported patterns.
#[test]
fn format_is_named_before_pattern() {
    let days = r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))";
    let date = json!({ "type": "string", "format": "date", "pattern": format!("^{days}$") });
    let instant = format!(r"^{days}T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z))$");
    let instant = json!({ "type": "string", "format": "date-time", "pattern": instant });
    let words = "a date and time with its offset, for example 2025-01-31T13:45:00Z";
    for (property, sent, expected) in [
        (&date, "tomorrow", "a date, for example 2025-01-31".to_owned()),
        (&date, "2025-02-30", "a date, for example 2025-01-31".to_owned()),
        (&instant, "2025-11-09", words.to_owned()),
        (
            &json!({ "type": "string", "format": "date", "pattern": "^20" }),
            "1999-01-31",
            "a date, for example 2025-01-31, that matches `^20`".to_owned(),
        ),
        (
            &json!({ "type": "string", "format": "date", "pattern": "-01$" }),
            "tomorrow",
            "a date that matches `-01$`".to_owned(),
        ),
        (
            &json!({ "type": "string", "format": "unknown", "pattern": "-01$" }),
            "tomorrow",
            "a string that matches `-01$`".to_owned(),
        ),
    ] {
        let error = error_for("x", property, &json!(sent));
        assert_eq!(
            error,
            format!("invalid value {}; expected {expected}", json!(sent))
        );
    }
    let offset = error_for("x", &instant, &json!("2025-01-31T13:45:00+01:00"));
    assert!(
        offset.contains(&format!("expected {words}, that matches `^(?:")),
        "{offset}"
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

/// Lists and later parts of an `allOf` check values that are already coerced.
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
        let message =
            "invalid value [5]; expected at least 2 items, got 1; send a valid value or leave it out";
        assert_eq!(sent(&list, value), (message.to_owned(), "[5]".to_owned()));
    }
    let parts = json!({ "allOf": [{ "type": "boolean" }, { "type": "integer" }] });
    let message = "invalid value true; expected an integer, or leave it out";
    assert_eq!(sent(&parts, "1"), (message.to_owned(), "true".to_owned()));
    let number = json!({ "type": "integer", "maximum": 4 });
    let message = "invalid value \"5\"; expected an integer of at most 4, or leave it out";
    assert_eq!(sent(&number, "\"5\""), (message.to_owned(), "5".to_owned()));
}

/// The integer in `"5"` matches both alternatives, too.
#[test]
fn ambiguous_value_does_not_suggest_its_coerced_form() {
    let schema = json!({ "type": "object", "properties": {
        "x": { "oneOf": [{ "type": "integer", "minimum": 0 }, { "type": "integer", "maximum": 10 }] },
    } });
    let registry = dynamic_tool::registry(&schema);
    let request = dynamic_tool::prepare(&registry, r#"{"x": "5"}"#, Policy::Lenient);
    assert_eq!(
        request.errors[0].message,
        "ambiguous value \"5\": coercion has more than one possible result; expected a value that is valid \
         without coercion, or leave it out"
    );
}

/// The function applies the defaults, and keys of maps have none.
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
