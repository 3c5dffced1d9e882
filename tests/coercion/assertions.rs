//! Keywords that are enforced after coercion. Assertions never influence a coercion, and each assertion has a message with the expected
//! value.

use serde_json::{Value, json};
use tests::dynamic_tool::{self, POLICIES};
use tool_runtime::{Policy, ToolCallRequest, tool};

fn prepare(schema: &Value, sent: &Value, policy: Policy) -> ToolCallRequest {
    dynamic_tool::prepare(&dynamic_tool::registry(schema), sent.to_string(), policy)
}

/// Returns the schema of an object with the optional property `x`.
fn only(schema: &Value) -> Value {
    json!({ "type": "object", "properties": { "x": schema } })
}

/// Returns the errors and then the warnings, in the text for the model.
fn lines(request: &ToolCallRequest) -> Vec<String> {
    let issues = request.errors.iter().chain(&request.warnings);
    issues.map(ToString::to_string).collect()
}

/// Returns the errors of arguments that are otherwise valid. The errors must be equal under every policy.
#[track_caller]
fn errors(schema: &Value, sent: &Value) -> Vec<String> {
    let [lenient, others @ ..] = POLICIES.map(|policy| lines(&prepare(schema, sent, policy)));
    for other in others {
        assert_eq!(other, lenient, "{sent}: the policies differ");
    }
    lenient
}

#[track_caller]
fn assert_valid(schema: &Value, sent: &Value) {
    assert_eq!(errors(schema, sent), Vec::<String>::new(), "{sent}");
}

/// Returns the schema of a payment.
fn payment() -> Value {
    json!({
        "type": "object",
        "properties": { "method": { "enum": ["card", "cash"] }, "card": { "type": "string" } },
        "if": { "properties": { "method": { "const": "card" } }, "required": ["method"] },
        "then": { "required": ["card"], "properties": { "holder": { "type": "string", "minLength": 2 } } },
        "else": { "properties": { "card": false } },
    })
}

#[test]
fn conditions_are_enforced_and_explained() {
    let schema = payment();
    assert_valid(&schema, &json!({ "method": "card", "card": "12" }));
    assert_valid(&schema, &json!({ "method": "cash" }));
    assert_valid(&schema, &json!({}));
    assert_eq!(
        errors(&schema, &json!({ "method": "card" })),
        [
            "missing_required:card at /card: missing required parameter; expected a string (since `method` is \"card\")"
        ]
    );
    assert_eq!(
        errors(&schema, &json!({ "method": "cash", "card": "12" })),
        ["constraint_violated at /card: unexpected `card`; leave it out (since `method` is \"cash\")"]
    );
    assert_eq!(
        errors(&schema, &json!({ "card": "12" })),
        ["constraint_violated at /card: unexpected `card`; leave it out (since `method` was not sent)"]
    );
    assert_eq!(
        errors(&schema, &json!({ "method": "card", "card": "1", "holder": "X" })),
        [
            "constraint_violated at /holder: invalid value \"X\"; expected at least 2 characters, got 1 (since `method` is \"card\")"
        ]
    );
    let quoted = json!({ "method": "card", "card": "1", "holder": { "a": "b (since c)" } });
    let error = errors(&schema, &quoted).remove(0);
    assert!(error.ends_with(" (since `method` is \"card\")"), "{error}");
    assert_eq!(
        errors(&schema, &json!({ "method": "card", "card": "1", "holder": 7 })),
        [
            "unsupported_string_literal at /holder: invalid value 7; expected a string (since `method` is \"card\")"
        ]
    );
}

/// A key that a branch declares is unknown if the branch does not apply.
#[test]
fn keys_of_a_branch_that_applies_are_known() {
    let schema = payment();
    assert_valid(
        &schema,
        &json!({ "method": "card", "card": "1", "holder": "Ada" }),
    );
    let request = prepare(
        &schema,
        &json!({ "method": "cash", "holder": "Ada" }),
        Policy::Lenient,
    );
    assert_eq!(
        lines(&request),
        ["unknown_parameter:holder at /holder: unknown parameter; expected one of `method`, `card`"]
    );
}

#[test]
fn conditions_test_coerced_values() {
    let request = prepare(&payment(), &json!({ "method": "CARD" }), Policy::Lenient);
    assert_eq!(request.errors.len(), 1, "{:?}", request.errors);
    assert!(
        request.errors[0]
            .to_string()
            .contains("(since `method` is \"card\")")
    );
    // A rejected value does not select a branch.
    let request = prepare(
        &payment(),
        &json!({ "method": "check", "card": "1" }),
        Policy::Lenient,
    );
    assert_eq!(
        lines(&request),
        [
            "enum_out_of_range:check at /method: invalid value \"check\"; expected one of \"card\", \"cash\", or leave it out"
        ]
    );
}

#[test]
fn errors_of_not_state_the_expected_value() {
    let rows: [(Value, Value, &str); 10] = [
        (
            json!({ "not": { "const": "root" } }),
            json!("root"),
            "invalid value \"root\"; expected any value except \"root\", or leave it out",
        ),
        (
            json!({ "not": { "enum": [1, 2] } }),
            json!(2.0),
            "invalid value 2.0; expected any value except 1, 2, or leave it out",
        ),
        (
            json!({ "type": "string", "not": { "pattern": "^-" } }),
            json!("-rf"),
            "invalid value \"-rf\"; expected a string that does not match `^-`, or leave it out",
        ),
        (
            json!({ "type": "integer", "not": { "multipleOf": 2 } }),
            json!(4),
            "invalid value 4; expected a value that is not a number that is a multiple of 2, or leave it out",
        ),
        (
            json!({ "not": { "type": "string" } }),
            json!("a"),
            "invalid value \"a\"; expected a value that is not a string, or leave it out",
        ),
        (
            json!({ "not": { "required": ["a"] } }),
            json!({ "a": 1 }),
            "unexpected `a`; leave it out",
        ),
        (
            json!({ "not": { "required": ["a", "b"] } }),
            json!({ "a": 1, "b": 1 }),
            "`a` and `b` exclude each other; leave one of them out",
        ),
        (
            json!({ "not": { "required": ["a", "b", "c"] } }),
            json!({ "a": 1, "b": 1, "c": 1 }),
            "`a`, `b`, `c` are not allowed together; leave one of them out",
        ),
        (
            json!({ "not": { "properties": { "a": { "const": 1 }, "b": { "const": "x" } }, "required": ["a", "b"] } }),
            json!({ "a": 1, "b": "x" }),
            "not allowed together: `a` is 1 and `b` is \"x\"; change one of them or leave it out",
        ),
        (
            json!({ "not": { "properties": { "a": { "const": 1 } } } }),
            json!({ "a": 1 }),
            "not allowed here: `a` is 1; change it or leave it out",
        ),
    ];
    for (schema, value, message) in rows {
        let expected = format!("constraint_violated at /x: {message}");
        assert_eq!(
            errors(&only(&schema), &json!({ "x": value })),
            [expected],
            "{schema}"
        );
    }
    assert_valid(
        &only(&json!({ "not": { "required": ["a", "b"] } })),
        &json!({ "x": { "a": 1 } }),
    );
}

#[test]
fn dependencies_name_the_key_that_needs_others() {
    let since = "(since `a` was sent)";
    for keyword in ["dependentRequired", "dependencies"] {
        let schema = json!({ "type": "object", "properties": { "a": {}, "b": { "type": "integer" } }, keyword: { "a": ["b"] } });
        let expected =
            format!("missing_required:b at /b: missing required parameter; expected an integer {since}");
        assert_eq!(errors(&schema, &json!({ "a": 1 })), [expected]);
        assert_valid(&schema, &json!({ "a": 1, "b": 2 }));
        assert_valid(&schema, &json!({ "b": 2 }));
    }
    for keyword in ["dependentSchemas", "dependencies"] {
        let dependent =
            json!({ "properties": { "b": { "type": "integer", "maximum": 4 } }, "required": ["b"] });
        let schema = json!({ "type": "object", "properties": { "a": {} }, keyword: { "a": dependent } });
        let expected = format!(
            "missing_required:b at /b: missing required parameter; expected an integer of at most 4 {since}"
        );
        assert_eq!(errors(&schema, &json!({ "a": 1 })), [expected]);
        let expected =
            format!("constraint_violated at /b: invalid value 5; expected an integer of at most 4 {since}");
        assert_eq!(errors(&schema, &json!({ "a": 1, "b": 5 })), [expected]);
        assert_valid(&schema, &json!({ "a": 1, "b": 4 }));
    }
}

#[test]
fn contains_counts_the_items_that_match() {
    let schema = only(&json!({
        "type": "array", "items": { "type": "integer" },
        "contains": { "type": "integer", "minimum": 5 }, "minContains": 2, "maxContains": 3,
    }));
    let of = |items: Value| errors(&schema, &json!({ "x": items }));
    assert_eq!(
        of(json!([5, 1])),
        [
            "constraint_violated at /x: invalid value [5,1]; expected at least 2 items that are each an integer of at least 5, got 1; send a valid value or leave it out"
        ]
    );
    assert_eq!(
        of(json!([5, 6, 7, 8])),
        [
            "constraint_violated at /x: invalid value [5,6,7,8]; expected at most 3 items that are each an integer of at least 5, got 4; send a valid value or leave it out"
        ]
    );
    assert_valid(&schema, &json!({ "x": [5, 6] }));
    // Items and single values are coerced first.
    let request = prepare(&schema, &json!({ "x": ["5", "6"] }), Policy::Lenient);
    assert_eq!((request.errors.len(), request.warnings.len()), (0, 2));
    let request = prepare(&schema, &json!({ "x": 5 }), Policy::Lenient);
    assert_eq!(request.errors[0].path, "/x");
}

#[test]
fn property_names_are_validated_as_strings() {
    let of = |names: Value, key: &str| {
        let schema = only(&json!({ "propertyNames": names, "additionalProperties": { "type": "integer" } }));
        errors(&schema, &json!({ "x": { key: 1 } }))
    };
    let not = json!({ "not": { "pattern": "^_" } });
    assert_eq!(
        of(not.clone(), "_a"),
        ["invalid_map_key:_a at /x/_a: invalid map key `_a`; expected a string that does not match `^_`"]
    );
    assert_eq!(of(not, "a"), Vec::<String>::new());
    // In a branch, these keywords do not influence a coercion.
    let schema = only(&json!({ "if": {}, "then": { "propertyNames": { "maxLength": 2 } } }));
    assert_eq!(
        errors(&schema, &json!({ "x": { "abc": 1 } })),
        ["invalid_map_key:abc at /x/abc: invalid map key `abc`; expected at most 2 characters, got 3"]
    );
}

/// Rule 8: a warning, and an error under Strict.
#[test]
fn unevaluated_properties_are_unknown_ones() {
    let parts = json!({ "allOf": [{ "type": "object", "properties": { "a": { "type": "integer" } } }], "properties": { "b": {} }, "unevaluatedProperties": false });
    let closed =
        json!({ "if": {}, "then": { "properties": { "a": {}, "b": {} }, "additionalProperties": false } });
    for (schema, order) in [(parts, "`b`, `a`"), (closed, "`a`, `b`")] {
        let sent = json!({ "x": { "a": 1, "b": 2, "c": 3 } });
        assert_valid(&only(&schema), &json!({ "x": { "a": 1, "b": 2 } }));
        let expected = format!("unknown_property:c at /x/c: unknown property; expected one of {order}");
        for policy in POLICIES {
            let request = prepare(&only(&schema), &sent, policy);
            assert_eq!(lines(&request), [expected.as_str()], "{policy:?}");
            assert_eq!(
                request.errors.len(),
                usize::from(policy == Policy::Strict),
                "{policy:?}"
            );
            assert_eq!(request.arguments["x"]["c"], 3);
        }
    }
    let schema = only(&json!({ "properties": { "b": {} }, "unevaluatedProperties": { "type": "integer" } }));
    assert_eq!(
        errors(&schema, &json!({ "x": { "c": "1" } })),
        ["unsupported_integer_literal at /x/c: invalid value \"1\"; expected an integer"]
    );
}

#[test]
fn rejects_unevaluated_items() {
    let schema = only(&json!({ "prefixItems": [{ "type": "integer" }], "unevaluatedItems": false }));
    assert_eq!(
        errors(&schema, &json!({ "x": [1, 2] })),
        ["constraint_violated at /x/1: unexpected value 2; leave the item out"]
    );
    assert_valid(&schema, &json!({ "x": [1] }));
}

/// A number stays a number, although a string would be allowed.
#[test]
fn assertions_do_not_change_coercion() {
    let either = json!({ "anyOf": [{ "type": "integer", "not": { "const": 5 } }, { "type": "string" }] });
    assert_eq!(
        errors(&only(&either), &json!({ "x": 5 })),
        ["constraint_violated at /x: invalid value 5; expected any value except 5, or leave it out"]
    );
    assert_valid(&only(&either), &json!({ "x": "5" }));
    let request = prepare(
        &only(&json!({ "type": "integer", "not": { "const": 5 } })),
        &json!({ "x": "5" }),
        Policy::Lenient,
    );
    assert_eq!(request.arguments["x"], 5);
    assert_eq!(request.errors[0].path, "/x");
    // A value is not coerced for a branch.
    let schema = json!({ "type": "object", "properties": { "a": {} }, "then": { "properties": { "a": { "type": "integer" } } }, "if": {} });
    let request = prepare(&schema, &json!({ "a": "1" }), Policy::Lenient);
    assert_eq!((&request.arguments["a"], request.errors.len()), (&json!("1"), 1));
}

/// Rule 2: a valid value is accepted unchanged, even if only an assertion distinguishes the alternatives.
#[test]
fn assertions_distinguish_alternatives() {
    let schema = only(&json!({ "oneOf": [
        { "required": ["a"] },
        { "not": { "required": ["a"] }, "properties": { "b": { "type": "integer" } } },
    ] }));
    assert_valid(&schema, &json!({ "x": { "a": 1 } }));
    assert_valid(&schema, &json!({ "x": { "b": 1 } }));
    let request = prepare(&schema, &json!({ "x": { "b": "1" } }), Policy::Lenient);
    assert_eq!(
        (request.arguments["x"]["b"].clone(), request.errors.len()),
        (json!(1), 0)
    );
}

/// A value matches an alternative only if its keys satisfy the assertions of `propertyNames`.
#[test]
fn property_names_distinguish_alternatives() {
    let map = |names: Value| json!({ "type": "object", "propertyNames": names, "additionalProperties": { "type": "integer" } });
    let private = json!({ "pattern": "^_" });
    let not_private = json!({ "not": private });
    for public in [
        not_private.clone(),
        json!({ "if": private, "then": false }),
        json!({ "allOf": [{ "minLength": 1 }, not_private] }),
        json!({ "anyOf": [not_private] }),
    ] {
        let alternatives = [map(private.clone()), map(public)];
        let list = |items: &Value| json!({ "type": "array", "items": items });
        let [one, other] = &alternatives;
        for (schema, wrap) in [
            (json!({ "oneOf": alternatives }), false),
            (json!({ "oneOf": [list(one), list(other)] }), true),
        ] {
            let schema = only(&schema);
            let x = |value: Value| json!({ "x": if wrap { json!([value]) } else { value } });
            assert_valid(&schema, &x(json!({ "_a": 1, "_b": 2 })));
            assert_valid(&schema, &x(json!({ "a": 1 })));
            assert!(!errors(&schema, &x(json!({ "a": 1, "_b": 1 }))).is_empty());
            let request = prepare(&schema, &x(json!({ "a": "1" })), Policy::Lenient);
            assert!(request.errors.is_empty(), "{:?}", request.errors);
        }
    }
}

#[test]
fn errors_of_all_kinds_are_reported_together() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer", "not": { "const": 1 } }, "c": {}, "d": {} },
        "not": { "required": ["c", "d"] },
        "dependentRequired": { "c": ["e"] },
    });
    let request = prepare(
        &schema,
        &json!({ "a": "x", "b": "1", "c": 1, "d": 1 }),
        Policy::Lenient,
    );
    let paths: Vec<_> = request.errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["", "/a", "/b", "/e"]);
}

/// Unsupported references and patterns accept any value, and so do constraints that depend on them.
#[test]
fn accepts_values_for_assertions_that_are_not_enforced() {
    for schema in [
        json!({ "not": { "pattern": "^(?!a)" } }),
        json!({ "if": { "pattern": "^(?!a)" }, "then": false, "else": false }),
        json!({ "not": { "$dynamicRef": "#x" } }),
        json!({ "$dynamicRef": "#x", "unevaluatedProperties": false }),
    ] {
        for value in [json!("a"), json!("b"), json!({ "k": 1 })] {
            assert_valid(&only(&schema), &json!({ "x": value }));
        }
    }
}

#[test]
fn registration_rejects_invalid_keywords() {
    for (schema, path) in [
        (json!({ "not": 1 }), "/properties/x/not"),
        (json!({ "if": [] }), "/properties/x/if"),
        (
            json!({ "minContains": -1, "contains": {} }),
            "/properties/x/minContains",
        ),
        (
            json!({ "dependentRequired": { "a": "b" } }),
            "/properties/x/dependentRequired/a",
        ),
        (
            json!({ "dependentSchemas": { "a": ["b"] } }),
            "/properties/x/dependentSchemas/a",
        ),
        (
            json!({ "dependencies": { "a": [1] } }),
            "/properties/x/dependencies/a",
        ),
        (json!({ "then": { "type": "strnig" } }), "/properties/x/then/type"),
        (
            json!({ "not": { "$ref": "#/nowhere" } }),
            "/properties/x/not/$ref",
        ),
        (json!({ "not": { "$ref": "#/properties/x" } }), "/properties/x"),
    ] {
        let error = dynamic_tool::try_registry(&only(&schema)).unwrap_err();
        assert!(error.contains(&format!("`{path}`")), "{schema}: {error}");
    }
}

/// Destination of a parcel.
#[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(extend("not" = { "required": ["locker", "street"] }))]
struct Address {
    /// A locker.
    locker: Option<u32>,
    /// A street.
    street: Option<String>,
}

/// A list of weights, one of which is large.
#[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(extend("contains" = { "minimum": 5 }))]
struct Weights(Vec<u32>);

/// Send a parcel.
#[tool]
async fn send_parcel(
    /// Destination.
    address: Address,
    /// The weights of what is in it.
    weights: Weights,
) -> String {
    format!("{address:?} {weights:?}")
}

/// Constraints on the types of a function are enforced like the constraints of a schema.
#[test]
fn typed_tools_enforce_assertions() {
    let mut registry = tool_runtime::ToolRegistry::new();
    registry.register::<send_parcel>().unwrap();
    let of = |sent: Value| {
        let call = tool_runtime::ToolCall::new("id", "send_parcel", sent);
        let outcome = tests::runtime::block_on(registry.call(call));
        outcome.errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        of(json!({ "address": { "locker": "7" }, "weights": "5" })),
        Vec::<String>::new()
    );
    assert_eq!(
        of(json!({ "address": { "locker": 7, "street": "High Street" }, "weights": [1] })),
        [
            "constraint_violated at /address: `locker` and `street` exclude each other; leave one of them out",
            "constraint_violated at /weights: invalid value [1]; expected at least 1 item that is a number of at least 5, got 0",
        ]
    );
}
