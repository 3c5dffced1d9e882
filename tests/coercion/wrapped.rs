//! Arguments in an object with the tool's name as the key, and tools with a parameter of that name.

use serde_json::{Value, json};
use tests::dynamic_tool::{self, NAME, POLICIES};
use tool_runtime::{Policy, ToolCall, ToolRegistry};

/// Returns the coerced arguments, or the errors with their paths, and the warnings.
fn read(schema: &Value, sent: &Value, policy: Policy) -> (Result<Value, Vec<String>>, Vec<String>) {
    let registry = dynamic_tool::registry(schema);
    let mut results =
        [sent.clone().into(), sent.to_string().into()].map(|input: tool_runtime::RawArguments<'_>| {
            let request = dynamic_tool::prepare(&registry, input, policy);
            let listed = |issues: &[tool_runtime::Issue]| -> Vec<_> {
                issues
                    .iter()
                    .map(|it| format!("{}@{}", it.code, it.path))
                    .collect()
            };
            let errors = listed(&request.errors);
            let arguments = if errors.is_empty() {
                Ok(Value::Object(request.arguments))
            } else {
                Err(errors)
            };
            (arguments, listed(&request.warnings))
        });
    assert_eq!(results[0], results[1], "a value and its text differ");
    std::mem::replace(&mut results[0], (Ok(Value::Null), Vec::new()))
}

fn city() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } } })
}

#[test]
fn unwraps_an_envelope_with_the_name_of_the_tool() {
    for sent in [
        json!({ "name": NAME, "arguments": { "city": "Paris" } }),
        json!({ "parameters": { "city": "Paris" }, "name": NAME }),
        json!({ "name": NAME.to_uppercase(), "arguments": "{\"city\": \"Paris\"}" }),
    ] {
        for policy in [Policy::Lenient, Policy::Lossless] {
            let (arguments, warnings) = read(&city(), &sent, policy);
            assert_eq!(arguments, Ok(json!({ "city": "Paris" })), "{policy:?} {sent}");
            assert_eq!(warnings[0], "arguments_unwrapped@", "{sent}");
        }
        let (arguments, _) = read(&city(), &sent, Policy::Strict);
        let errors = arguments.unwrap_err();
        let [error] = errors.as_slice() else {
            panic!("{errors:?}")
        };
        assert!(error.starts_with("unknown_parameter@/"), "{error}");
    }
    let empty = json!({ "name": NAME, "arguments": {} });
    assert_eq!(read(&city(), &empty, Policy::Lenient).0, Ok(json!({})));
}

#[test]
fn rejects_an_envelope_with_the_name_of_another_tool() {
    for sent in [
        json!({ "name": "other", "arguments": { "city": "Paris" } }),
        json!({ "name": "other", "arguments": { "path": "a" } }),
        json!({ "name": "other", "arguments": {} }),
        json!({ "function": { "name": "other", "arguments": "{}" } }),
    ] {
        for policy in POLICIES {
            let errors = read(&city(), &sent, policy).0.unwrap_err();
            let expected = if sent.get("function").is_some() {
                "/function/name"
            } else {
                "/name"
            };
            assert_eq!(
                errors,
                [format!("tool_name_mismatch@{expected}")],
                "{policy:?} {sent}"
            );
        }
    }
}

#[test]
fn accepts_any_name_where_the_tool_has_none() {
    let registry = dynamic_tool::registry(&city()).without_name_check();
    let sent = json!({ "name": "other", "arguments": { "city": "Paris" } });
    let request = dynamic_tool::prepare(&registry, sent, Policy::Lenient);
    assert_eq!(Value::Object(request.arguments), json!({ "city": "Paris" }));
    assert!(request.errors.is_empty());
}

#[test]
fn envelope_is_ambiguous_for_a_tool_with_a_name() {
    let user = json!({ "type": "object", "properties": { "name": { "type": "string" }, "email": { "type": "string" } } });
    for (sent, is_ambiguous) in [
        (
            json!({ "name": "Bo", "arguments": { "email": "b@example.org" } }),
            true,
        ),
        (json!({ "name": NAME, "arguments": { "name": "Bo" } }), true),
        (
            json!({ "name": "Bo", "arguments": "{\"email\": \"b@example.org\"}" }),
            true,
        ),
        (json!({ "name": "Bo", "arguments": { "other": 1 } }), false),
        (json!({ "name": "Bo", "arguments": {} }), false),
        (
            json!({ "name": "Bo", "email": "b@example.org", "arguments": { "email": "b@example.org" } }),
            false,
        ),
    ] {
        for policy in POLICIES {
            let (arguments, warnings) = read(&user, &sent, policy);
            if is_ambiguous {
                assert_eq!(
                    arguments,
                    Err(vec!["ambiguous_value@/arguments".to_owned()]),
                    "{sent}"
                );
            } else {
                assert_eq!(
                    (arguments.as_ref(), warnings.len()),
                    (Ok(&sent), 1),
                    "{sent}: {warnings:?}"
                );
            }
        }
    }
    let alone = json!({ "arguments": { "name": "Bo" } });
    assert_eq!(
        read(&user, &alone, Policy::Lenient).0,
        Ok(json!({ "name": "Bo" }))
    );
    // Without the object, these would be ambiguous.
    let twice = json!({ "arguments": { "name": "Bo", "arguments": { "email": "b@example.org" } } });
    let errors = read(&user, &twice, Policy::Lenient).0.unwrap_err();
    assert_eq!(errors, ["ambiguous_value@/arguments/arguments"]);
}

#[test]
fn declared_and_allowed_keys_are_no_envelopes() {
    for schema in [
        json!({ "type": "object", "properties": { "arguments": { "type": "object" }, "city": { "type": "string" } } }),
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "additionalProperties": true }),
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "additionalProperties": { "type": "object" } }),
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "patternProperties": { "^arg": {} } }),
    ] {
        let sent = json!({ "arguments": { "city": "Paris" } });
        for policy in POLICIES {
            assert_eq!(
                read(&schema, &sent, policy),
                (Ok(sent.clone()), Vec::new()),
                "{schema}"
            );
        }
    }
    let respelled = json!({ "type": "object", "properties": { "Input": { "type": "object" } } });
    let sent = json!({ "input": { "Input": {} } });
    let (arguments, warnings) = read(&respelled, &sent, Policy::Lenient);
    assert_eq!(arguments, Ok(json!({ "Input": { "Input": {} } })));
    assert_eq!(warnings, ["parameter_name_normalized@/Input"]);
}

#[test]
fn unwraps_for_unions_and_conjunctions() {
    let part = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    for keyword in ["anyOf", "allOf"] {
        let schema = json!({ "type": "object", keyword: [part("city"), part("zip")] });
        let sent = json!({ "arguments": { "zip": "75001" } });
        let (arguments, warnings) = read(&schema, &sent, Policy::Lenient);
        assert_eq!(arguments, Ok(json!({ "zip": "75001" })), "{keyword}");
        assert_eq!(warnings[0], "arguments_unwrapped@");
        let errors = read(&schema, &json!({ "data": { "zip": "75001" } }), Policy::Lenient).0;
        assert_eq!(
            errors,
            Err(vec!["unknown_parameter@/data".to_owned()]),
            "{keyword}"
        );
    }
}

#[test]
fn decoded_envelopes_have_a_limit_of_levels() {
    let deep = format!("{{\"city\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let errors = read(&city(), &json!({ "arguments": deep }), Policy::Lenient).0;
    assert_eq!(errors, Err(vec!["too_deep@".to_owned()]));
}

#[tokio::test]
async fn name_of_a_nested_tool_has_the_prefix() {
    let mut outer = ToolRegistry::new();
    outer.nest("weather", dynamic_tool::registry(&city())).unwrap();
    let qualified = outer.tool_definitions()[0].name.clone();
    for (name, is_error) in [(qualified.as_str(), false), ("other", true)] {
        let sent = json!({ "name": name, "arguments": { "city": "Paris" } });
        let outcome = outer.call(ToolCall::new("id", &qualified, sent)).await;
        assert_eq!(outcome.result.is_error, is_error, "{:?}", outcome.result.text());
    }
}
