//! Difference 4: what is bent to fit, and what is not.

use serde_json::{Value, json};

use super::{echoed, search, searched};

/// `maxResults` as sent becomes this number, with these warnings.
async fn results<const N: usize>(sent: &str, expected: i64, warnings: [&str; N]) {
    search(format!(r#"{{ "pattern": "a", "maxResults": {sent} }}"#))
        .await
        .assert_json(searched("a", true, expected))
        .assert_warnings(warnings);
}

#[tokio::test]
async fn difference_4_integer_kept() {
    for (sent, expected) in [("1", 1), ("100", 100), ("10000", 10_000)] {
        results(sent, expected, []).await;
    }
    let integer = json!({ "a": { "type": "integer" } });
    for sent in [
        i64::MIN.to_string(),
        i64::MAX.to_string(),
        "9007199254740993".to_owned(),
    ] {
        echoed(integer.clone(), format!(r#"{{"a":{sent}}}"#))
            .await
            .assert_text(&format!(r#"{{"a":{sent}}}"#))
            .assert_silent();
    }
}

#[tokio::test]
async fn difference_4_fraction_truncated() {
    for (sent, expected) in [("3.14", 3), ("3.99", 3), ("1.5e1", 15)] {
        let warning = if sent == "1.5e1" {
            "number_coerced_to_integer at /maxResults"
        } else {
            "fractional_number_truncated_to_integer at /maxResults"
        };
        results(sent, expected, [warning]).await;
    }
    echoed(json!({ "a": { "type": "integer" } }), r#"{"a":-3.99}"#)
        .await
        .assert_json(json!({ "a": -3 }))
        .assert_warnings(["fractional_number_truncated_to_integer at /a"]);
}

#[tokio::test]
async fn difference_4_whole_float() {
    for sent in ["3.0", "3.000", "3e0"] {
        results(sent, 3, ["number_coerced_to_integer at /maxResults"]).await;
    }
}

#[tokio::test]
async fn difference_4_string_integer() {
    for sent in [r#""123""#, r#"" 123 ""#, r#""+123""#] {
        results(sent, 123, ["string_literal_converted_to_integer at /maxResults"]).await;
    }
}

#[tokio::test]
async fn difference_4_unsupported_integer() {
    for sent in [r#""3.14""#, r#""many""#, r#""0x1F""#, "true", "[]"] {
        search(format!(r#"{{ "pattern": "a", "maxResults": {sent} }}"#))
            .await
            .assert_refused(["unsupported_integer_literal at /maxResults"]);
    }
}

#[tokio::test]
async fn difference_4_boolean_from_number() {
    for (sent, expected) in [("1", true), ("0", false)] {
        search(format!(r#"{{ "pattern": "a", "caseSensitive": {sent} }}"#))
            .await
            .assert_json(searched("a", expected, 100))
            .assert_warnings(["number_coerced_to_boolean at /caseSensitive"]);
    }
    search(r#"{ "pattern": "a", "caseSensitive": 2 }"#)
        .await
        .assert_refused(["unsupported_boolean_literal at /caseSensitive"]);
}

#[tokio::test]
async fn difference_4_list_from_scalar() {
    let list = json!({ "a": { "type": "array", "items": { "type": "integer" } } });
    echoed(list, r#"{"a":7}"#)
        .await
        .assert_json(json!({ "a": [7] }))
        .assert_warnings(["scalar_coerced_to_list at /a"]);
}

#[tokio::test]
async fn difference_4_null_for_required() {
    search(json!({ "pattern": Value::Null }))
        .await
        .assert_refused(["null_not_allowed at /pattern"]);
    search(json!({ "pattern": "a", "maxResults": Value::Null }))
        .await
        .assert_json(searched("a", true, 100))
        .assert_warnings(["null_treated_as_missing at /maxResults"]);
}
