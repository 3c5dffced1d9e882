//! Tests of the rules of `coercion.md`, in order, with dynamic schemas.

use serde_json::{Value, json};

use super::{ArgumentReader, coerce};
use crate::arguments::policy::Policy;
use crate::schema::CompiledSchema;
use crate::wire::raw_arguments::RawArguments;

/// Coerces the value of the only property `x`; returns the value, and the codes with their paths below `x`.
fn under(policy: Policy, schema: &Value, sent: &str) -> (Value, Vec<String>) {
    let schema =
        json!({ "type": "object", "properties": { "x": schema }, "required": ["x"], "$defs": defs() });
    let (arguments, issues) = all(policy, &schema, &format!(r#"{{"x":{sent}}}"#));
    let issues = issues.into_iter().map(|issue| issue.replace("/x", ""));
    (arguments.get("x").cloned().unwrap_or_default(), issues.collect())
}

fn lenient(schema: &Value, sent: &str) -> (Value, Vec<String>) {
    under(Policy::Lenient, schema, sent)
}

/// Coerces all arguments; codes with a `!` are errors.
fn all(policy: Policy, schema: &Value, sent: &str) -> (Value, Vec<String>) {
    let compiled = CompiledSchema::compile(schema).unwrap().0;
    let reader = ArgumentReader::new(&compiled, policy);
    let coerced = coerce(reader, &mut RawArguments::from(sent));
    let refused = coerced.issues.iter().any(crate::Issue::is_error);
    let arguments = Value::Object(coerced.arguments);
    if !refused {
        let again = coerce(reader, &mut RawArguments::from(arguments.to_string()));
        assert_eq!(Value::Object(again.arguments), arguments, "coerced twice");
        let silent = |issue: &crate::Issue| issue.code.as_str().starts_with("unknown_");
        assert!(
            again.issues.iter().all(silent),
            "coerced twice: {:?}",
            again.issues
        );
    }
    let issues = coerced.issues.iter().map(|issue| {
        let mark = if issue.is_error() { "!" } else { "" };
        format!("{mark}{} {}", issue.code, issue.path)
    });
    (arguments, issues.collect())
}

fn defs() -> Value {
    json!({
        "Tree": {
            "type": "object",
            "properties": { "value": { "type": "integer" }, "children": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } },
            "required": ["value"],
        },
        "Nest": { "anyOf": [
            { "type": "integer" },
            { "type": "object", "properties": { "a": { "$ref": "#/$defs/Nest" } }, "required": ["a"] },
            { "type": "object", "properties": { "a": { "$ref": "#/$defs/Nest" }, "b": { "type": "boolean" } }, "required": ["a", "b"] },
            { "type": "object", "properties": { "a": { "$ref": "#/$defs/Nest" }, "c": { "type": "boolean" } }, "required": ["a", "c"] },
        ] },
    })
}

macro_rules! expect {
        ($($schema:tt, $sent:literal => $value:tt $(, $issue:literal)*;)+) => {
            $(assert_eq!(
                lenient(&json!($schema), $sent),
                (json!($value), vec![$($issue.to_owned()),*] as Vec<String>),
                "{} to {}", $sent, stringify!($schema)
            );)+
        };
    }

#[test]
fn arguments_are_an_object() {
    let schema = json!({ "type": "object", "properties": { "x": { "type": "integer" } } });
    let whole = |sent| all(Policy::Lenient, &schema, sent);
    for empty in ["", " \n", "null"] {
        assert_eq!(whole(empty), (json!({}), vec!["empty_arguments ".to_owned()]));
    }
    assert_eq!(
        whole(r#""{\"x\":1}""#),
        (json!({ "x": 1 }), vec!["json_string_decoded ".to_owned()])
    );
    for sent in ["[]", "3", "\"text\"", r#""\"{}\"""#, r#""[{}]""#] {
        assert_eq!(
            whole(sent),
            (json!({}), vec!["!arguments_not_object ".to_owned()]),
            "{sent}"
        );
    }
    for sent in ["{x:1}", "{'x':1}"] {
        assert_eq!(
            whole(sent),
            (json!({ "x": 1 }), vec!["json_repaired ".to_owned()]),
            "{sent}"
        );
    }
    for sent in ["{", "{'x':1", "{'x':y}"] {
        assert_eq!(whole(sent).1, ["!json_parse_error "], "{sent}");
    }
    assert_eq!(whole(r#"{"x":["\ud800"]}"#).1, ["!json_parse_error /x/0"]);
    assert_eq!(whole(&"[".repeat(10_000)).1, ["!too_deep "]);
}

#[test]
fn null_is_accepted_treated_as_missing_or_rejected() {
    expect! {
        { "type": ["string", "null"] }, "null" => null;
        { "anyOf": [{ "$ref": "#/$defs/Tree" }, { "type": "null" }] }, "null" => null;
        { "type": "string" }, "null" => null, "!null_not_allowed ";
        { "type": "array", "items": { "type": "string" } }, "null" => null, "!null_not_allowed ";
        { "type": "array", "items": { "type": "string" } }, "[null]" => [null], "!null_not_allowed /0";
        { "type": ["integer", "null"] }, "\" None \"" => null, "empty_string_treated_as_null ";
        { "type": ["string", "null"] }, "\"null\"" => "null";
    }
    let schema = json!({ "type": "object", "properties": {
            "optional": { "type": "integer" },
            "defaulted": { "type": "integer", "default": 3 },
            "list": { "type": "array", "items": { "type": "string" } },
        } });
    assert_eq!(
        all(
            Policy::Lenient,
            &schema,
            r#"{"defaulted":null,"optional":null,"list":null}"#
        ),
        (json!({}), vec!["null_treated_as_missing /defaulted".to_owned()])
    );
    assert_eq!(
        all(
            Policy::Lenient,
            &schema,
            r#"{"defaulted":"","optional":"null","list":""}"#
        ),
        (
            json!({}),
            vec![
                "empty_string_treated_as_null /optional".to_owned(),
                "empty_string_treated_as_null /defaulted".to_owned(),
                "empty_string_treated_as_null /list".to_owned(),
            ]
        )
    );
}

#[test]
fn decodes_json_strings_once() {
    expect! {
        { "type": "array", "items": { "type": "integer" } }, r#""[1,\"2\"]""# => [1, 2], "json_string_decoded ", "string_literal_converted_to_integer /1";
        { "type": "array", "items": { "type": "string" } }, r#""[\"a\"]""# => ["a"], "json_string_decoded ";
        { "type": "array", "items": { "type": "string" } }, r#""[1]""# => ["[1]"], "scalar_coerced_to_list ";
        { "$ref": "#/$defs/Tree" }, r#"" {\"value\":1} ""# => { "value": 1 }, "json_string_decoded ";
        { "$ref": "#/$defs/Tree" }, r#""\"{}\"""# => "\"{}\"", "!unsupported_object_literal ";
        { "type": "object" }, r#""[1]""# => "[1]", "!unsupported_object_literal ";
        { "type": "object", "additionalProperties": { "type": "integer" } }, r#""{\"a\":\"1\"}""# => { "a": 1 }, "json_string_decoded ", "string_literal_converted_to_integer /a";
        { "type": ["object", "string"] }, r#""{}""# => "{}";
    }
}

#[test]
fn scalars_are_coerced_to_lists() {
    expect! {
        { "type": "array", "items": { "type": "string" } }, "\"a\"" => ["a"], "scalar_coerced_to_list ";
        { "type": "array", "items": { "type": "integer" } }, "\"7\"" => [7], "scalar_coerced_to_list ", "string_literal_converted_to_integer /0";
        { "type": "array", "items": { "type": "integer" } }, "\"many\"" => "many", "!unsupported_array_literal ";
        { "type": "array", "items": { "$ref": "#/$defs/Tree" } }, r#"{"value":1}"# => [{ "value": 1 }], "scalar_coerced_to_list ";
        { "type": "array" }, "3" => [3], "scalar_coerced_to_list ";
        { "type": "array", "items": { "type": "array", "items": { "type": "integer" } } }, "[1,2]" => [1, 2], "!ambiguous_list ";
        { "type": "array", "items": { "type": "array", "items": { "type": "integer" } } }, "[[1],2]" => [[1], 2], "!unsupported_array_literal /1";
        { "type": "array", "prefixItems": [{ "type": "integer" }], "minItems": 1, "maxItems": 1 }, "3" => 3, "!unsupported_array_literal ";
        { "type": "array", "items": { "type": "string" }, "minItems": 2 }, "\"a\"" => ["a"], "scalar_coerced_to_list ", "!constraint_violated ";
        { "additionalProperties": { "type": "array", "items": { "type": "integer" } }, "type": "object" }, r#"{"k":1}"# => { "k": [1] }, "scalar_coerced_to_list /k";
    }
}

#[test]
fn unions_choose_the_matching_alternative() {
    expect! {
        { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] }, "\"5\"" => 5, "string_literal_converted_to_integer ";
        { "type": ["integer", "boolean"] }, "\"true\"" => true, "string_literal_converted_to_boolean ";
        { "anyOf": [{ "type": "boolean" }, { "type": "string" }] }, "1" => 1, "!ambiguous_value ";
        { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }, "5" => "5", "number_coerced_to_string ";
        { "anyOf": [{ "type": "integer" }, { "type": "number" }] }, "\"5\"" => 5, "string_literal_converted_to_integer ";
        { "oneOf": [{ "type": "integer" }, { "type": "number" }] }, "5" => 5, "!ambiguous_value ";
        { "oneOf": [{ "type": "integer" }, { "type": "number" }] }, "5.5" => 5.5;
        { "oneOf": [{ "type": "integer" }, { "type": "string" }] }, "3.0" => 3, "number_coerced_to_integer ";
        { "anyOf": [{ "type": "integer" }, { "type": "string" }] }, "3.0" => 3, "number_coerced_to_integer ";
        { "anyOf": [{ "type": "integer" }, { "type": "string" }] }, "1e2" => 100, "number_coerced_to_integer ";
        { "anyOf": [{ "type": "integer" }, { "type": "number" }] }, "3.0" => 3.0;
        { "anyOf": [{ "type": "number" }, { "type": "integer" }] }, "\"3.0\"" => 3.0, "string_literal_converted_to_number ";
        { "anyOf": [{ "type": "integer" }, { "type": "boolean" }, { "type": "string" }] }, "1.0" => 1, "number_coerced_to_integer ";
        { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] } }, "[3.0, \"a\"]" => [3, "a"], "number_coerced_to_integer /0";
        { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/Tree" }] }, r#"{"value": 2.0}"# => { "value": 2 }, "number_coerced_to_integer /value";
        { "anyOf": [{ "type": "string" }, { "type": "object", "additionalProperties": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } }] },
            r#"{"k": 3.0}"# => { "k": 3 }, "number_coerced_to_integer /k";
        { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] }, "\"many\"" => "many", "!no_alternative_fits ", "!unsupported_integer_literal ";
        { "anyOf": [
            { "type": "object", "properties": { "a": { "type": "integer" } } },
            { "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } } },
        ] }, r#"{"a":1,"b":"2"}"# => { "a": 1, "b": "2" }, "unknown_property /b";
        { "anyOf": [{ "enum": ["all"] }, { "$ref": "#/$defs/Tree" }] }, r#""{\"value\":1}""# => { "value": 1 }, "json_string_decoded ";
        { "anyOf": [{ "type": "string", "maxLength": 1 }, { "$ref": "#/$defs/Tree" }] }, r#"{"valu":1}"# => { "valu": 1 }, "!no_alternative_fits ", "!missing_required /value";
    }
}

#[test]
fn tags_choose_the_alternative() {
    let internal = json!({ "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "circle", "type": "string" }, "radius": { "type": "number" } }, "required": ["kind", "radius"] },
            { "type": "object", "properties": { "kind": { "const": "square", "type": "string" }, "side": { "type": "number" } }, "required": ["kind", "side"] },
        ] });
    let issues = |sent| lenient(&internal, sent).1;
    assert_eq!(issues(r#"{"kind":"square","side":1}"#), [] as [&str; 0]);
    assert_eq!(
        issues(r#"{"side":"1","kind":"SQUARE"}"#),
        [
            "enum_case_normalized /kind",
            "string_literal_converted_to_number /side"
        ]
    );
    assert_eq!(
        issues(r#"{"Kind":"square","side":1}"#),
        ["parameter_name_normalized /kind"]
    );
    assert_eq!(issues(r#"{"side":1}"#), ["!missing_required /kind"]);
    assert_eq!(issues(r#"{"kind":"line"}"#), ["!enum_out_of_range /kind"]);
    assert_eq!(
        issues(r#"{"kind":"circle","side":1}"#),
        ["!missing_required /radius", "unknown_property /side"]
    );
    assert_eq!(
        issues(r#""{\"kind\":\"square\",\"side\":1}""#),
        ["json_string_decoded "]
    );

    let external = json!({ "oneOf": [
            { "const": "none", "type": "string" },
            { "type": "object", "properties": { "some": { "type": "integer" } }, "required": ["some"], "additionalProperties": false },
            { "type": "object", "properties": { "more": { "type": "string" } }, "required": ["more"], "additionalProperties": false },
        ] });
    let issues = |sent| lenient(&external, sent).1;
    assert_eq!(issues(r#""none""#), [] as [&str; 0]);
    assert_eq!(
        issues(r#"{"some":"1"}"#),
        ["string_literal_converted_to_integer /some"]
    );
    assert_eq!(issues(r#"{"other":1}"#), ["!no_alternative_fits "]);
    assert_eq!(issues(r#"{"some":1,"more":""}"#), ["!ambiguous_value "]);
}

#[test]
fn parameter_names_are_normalized() {
    let schema = json!({ "type": "object", "properties": { "max_results": { "type": "integer" }, "pattern": { "type": "string" } }, "required": ["pattern"] });
    let issues = |sent| all(Policy::Lenient, &schema, sent);
    assert_eq!(
        issues(r#"{"maxResults":1,"PATTERN":"a"}"#),
        (
            json!({ "max_results": 1, "pattern": "a" }),
            vec![
                "parameter_name_normalized /max_results".to_owned(),
                "parameter_name_normalized /pattern".to_owned()
            ]
        )
    );
    assert_eq!(
        issues(r#"{"pattern":"a","Pattern":"b"}"#).1,
        ["unknown_parameter /Pattern"]
    );
    assert_eq!(
        issues(r#"{"pattern":"a","maxResults":1,"max-results":2}"#).1,
        ["unknown_parameter /maxResults", "unknown_parameter /max-results"]
    );
    // A required name is kept, declared or not.
    let schema = json!({ "type": "object", "properties": { "X": { "type": "integer" } }, "required": ["x"] });
    let kept = all(Policy::Lenient, &schema, r#"{"x":"2"}"#);
    assert_eq!(
        kept,
        (json!({ "x": "2" }), vec!["unknown_parameter /x".to_owned()])
    );
    assert_eq!(
        issues(r#"{"pattern":"a","pattern":"b"}"#),
        (
            json!({ "pattern": "b" }),
            vec!["duplicate_key /pattern".to_owned()]
        )
    );
    assert_eq!(
        issues(r#"{"extra":{"k":1,"k":2}}"#).1,
        [
            "!missing_required /pattern",
            "duplicate_key /extra/k",
            "unknown_parameter /extra"
        ]
    );
    expect! {
        { "$ref": "#/$defs/Tree" }, r#"{"Value":1,"children":[{"VALUE":2,"z":0}]}"# => { "value": 1, "children": [{ "value": 2, "z": 0 }] },
            "parameter_name_normalized /value", "parameter_name_normalized /children/0/value", "unknown_property /children/0/z";
        { "type": "object", "additionalProperties": { "type": "integer" } }, r#"{"A":1,"a":2}"# => { "A": 1, "a": 2 };
        { "type": "object" }, r#"{"A":1}"# => { "A": 1 };
    }
    let closed = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    assert_eq!(
        under(Policy::Lenient, &closed, r#"{"a":1}"#),
        (json!({ "a": 1 }), vec!["unknown_property /a".to_owned()])
    );
    assert_eq!(
        under(Policy::Strict, &closed, r#"{"a":1}"#).1,
        ["!unknown_property /a"]
    );
}

#[test]
fn enums_ignore_case_and_white_space() {
    expect! {
        { "enum": ["read", "write"] }, "\" READ\"" => "read", "enum_case_normalized ";
        { "enum": ["read", "Read"] }, "\"READ\"" => "READ", "!enum_out_of_range ";
        { "enum": ["in_progress", "done"] }, "\"In Progress\"" => "in_progress", "enum_case_normalized ";
        { "enum": ["in_progress", "inProgress"] }, "\"in-progress\"" => "in-progress", "!enum_out_of_range ";
        { "enum": ["gpt-4-1", "gpt-41"] }, "\"GPT 4 1\"" => "gpt-4-1", "enum_case_normalized ";
        { "enum": ["gpt-41"] }, "\"gpt-4-1\"" => "gpt-4-1", "!enum_out_of_range ";
        { "enum": ["read"], "$tool_runtime::case_sensitive": true }, "\"Read\"" => "Read", "!enum_out_of_range ";
        { "enum": [1, 2, 3] }, "\"2\"" => 2, "string_literal_converted_to_integer ";
        { "enum": [1, 2, 3] }, "4" => 4, "!enum_out_of_range ";
        { "enum": ["1", "2"] }, "1" => "1", "number_coerced_to_string ";
        { "const": true }, "false" => false, "!enum_out_of_range ";
        { "enum": ["a", 1] }, "\"1\"" => 1, "string_literal_converted_to_integer ";
        { "type": ["string", "null"], "enum": ["a", null] }, "null" => null;
    }
}

#[test]
fn limits_hold_for_coerced_values() {
    expect! {
        { "type": "integer", "minimum": 1, "maximum": 10 }, "\"11\"" => 11, "string_literal_converted_to_integer ", "!constraint_violated ";
        { "type": "integer", "exclusiveMinimum": 3 }, "3" => 3, "!constraint_violated ";
        { "type": "number", "multipleOf": 0.1 }, "0.3" => 0.3;
        { "type": "string", "minLength": 2 }, "\"é\"" => "é", "!constraint_violated ";
        { "type": "string", "maxLength": 2 }, "\"éé\"" => "éé";
        { "type": "string", "pattern": "^a+$" }, "\"b\"" => "b", "!constraint_violated ";
        { "type": "string", "$tool_runtime::not_blank": true }, "\"  \"" => "  ", "!constraint_violated ";
        { "type": "array", "uniqueItems": true, "minItems": 2 }, "[1,1.0]" => [1], "duplicate_items_removed ", "!constraint_violated ";
        { "type": "array", "items": { "type": "integer" }, "maxItems": 1 }, "[1,2]" => [1, 2], "!constraint_violated ";
        { "type": "array", "prefixItems": [{ "type": "integer" }], "uniqueItems": true }, r#"[1, 1, "a"]"# => [1, 1, "a"], "!constraint_violated ";
        { "type": "object", "minProperties": 1 }, "{}" => {}, "!constraint_violated ";
        { "anyOf": [{ "type": "array", "uniqueItems": true }, { "type": "array", "items": { "type": "string" } }] }, "[1, 1]" => ["1", "1"],
            "number_coerced_to_string /0", "number_coerced_to_string /1";
        { "type": "integer", "$tool_runtime::integer": "u8" }, "256" => 256, "!integer_out_of_range ";
        { "type": "integer" }, "1e999999999" => "1e999999999", "!integer_out_of_range ";
        { "allOf": [{ "type": "string", "pattern": "a" }, { "pattern": "b" }] }, "\"a\"" => "a", "!constraint_violated ";
        {}, "[1e400]" => ["1e400"], "!unsupported_number_literal /0";
    }
}

#[test]
fn stricter_policies_reject_more() {
    let integer = json!({ "type": "integer" });
    assert_eq!(
        under(Policy::Lossless, &integer, "3.5").1,
        ["!unsupported_integer_literal "]
    );
    assert_eq!(under(Policy::Strict, &integer, "3.0"), (json!(3.0), vec![]));
    assert_eq!(
        under(Policy::Strict, &integer, "\"3\"").1,
        ["!unsupported_integer_literal "]
    );
    let strict = json!({ "type": "array", "$tool_runtime::strict": true, "items": { "type": "integer" } });
    assert_eq!(lenient(&strict, "1").1, ["!unsupported_array_literal "]);
    assert_eq!(lenient(&strict, "[\"1\"]").1, ["!unsupported_integer_literal /0"]);
    assert_eq!(lenient(&strict, "null").1, ["!null_not_allowed "]);
}

#[test]
#[cfg_attr(miri, ignore = "looks at the clock")]
fn unions_in_unions_take_linear_time() {
    let sent = (0..60).fold("\"1\"".to_owned(), |inner, _| {
        format!(r#"{{"a":{inner},"c":"true"}}"#)
    });
    let start = std::time::Instant::now();
    let (_, issues) = lenient(&json!({ "$ref": "#/$defs/Nest" }), &sent);
    assert_eq!(
        issues.iter().filter(|issue| issue.starts_with('!')).count(),
        0,
        "{:?}",
        issues.first()
    );
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// For `{"n": "1", …}` only the first alternative can be coerced; its result matches the second better.
#[test]
fn values_whose_coercion_is_unstable_are_ambiguous() {
    let closed = json!({ "properties": { "n": { "type": "integer" } }, "additionalProperties": false });
    let numbers = json!({ "type": "object", "allOf": [closed, closed] });
    let flags = json!({ "type": "object", "additionalProperties": { "enum": [true, "red", 2.5] } });
    let either = json!({ "anyOf": [numbers, flags] });
    let codes = |sent| lenient(&either, sent).1;
    assert_eq!(codes(r#"{ "n": "1", "b": 1, "c": 1 }"#), ["!ambiguous_value "]);
    let flags = ["/n", "/b", "/c"].map(|place| format!("number_coerced_to_boolean {place}"));
    assert_eq!(codes(r#"{ "n": 1, "b": 1, "c": 1 }"#), flags);
    assert_eq!(
        codes(r#"{ "n": "1" }"#),
        ["string_literal_converted_to_integer /n"]
    );
}
