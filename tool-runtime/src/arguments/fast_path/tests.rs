//! Inputs that the fast path and the tree could read differently. The fast path and the tree must return equal values,
//! without issues, under every policy.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::arguments::policy::Policy;
use crate::arguments::{ArgumentReader, coerce_object, fast_path};
use crate::schema::CompiledSchema;
use crate::wire::raw_arguments::RawArguments;

fn compiled(schema: &Value) -> CompiledSchema {
    match CompiledSchema::compile(schema) {
        Ok((compiled, _)) => compiled,
        Err(error) => panic!("{error}: {schema}"),
    }
}

/// Returns the inputs for which the paths differ.
fn differences(schema: &Value, texts: &[String]) -> Vec<String> {
    let compiled = compiled(schema);
    let mut found = Vec::new();
    for text in texts {
        let value = serde_json::from_str::<Value>(text).ok();
        for input in [Some(RawArguments::from(text)), value.as_ref().map(Into::into)]
            .into_iter()
            .flatten()
        {
            found.extend(difference(&compiled, &input).map(|it| format!("{text} in {schema}: {it}")));
        }
    }
    found
}

fn assert_none(differences: &[String]) {
    let first = &differences[..differences.len().min(40)];
    assert!(
        first.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        first.join("\n")
    );
}

fn difference(compiled: &CompiledSchema, input: &RawArguments<'_>) -> Option<String> {
    // Compared by text: `-0.0` is not `0`.
    let fast = Value::Object(fast_path::map(compiled, &mut input.borrowed())?).to_string();
    if let RawArguments::Value(_) = input {
        let moved = fast_path::map(compiled, &mut input.clone().into_owned());
        assert_eq!(
            moved.map(|it| Value::Object(it).to_string()).as_ref(),
            Some(&fast)
        );
    }
    for policy in [Policy::Lenient, Policy::Lossless, Policy::Strict] {
        for keeps_unknown in [true, false] {
            let tree = coerce_object(&ArgumentReader::new(compiled, policy), input, keeps_unknown);
            let object = Value::Object(tree.object.map(|it| it.to_map()).unwrap_or_default()).to_string();
            if !tree.issues.is_empty() || object != fast {
                return Some(format!(
                    "{policy:?}: not {fast}, but {object} and {:?}",
                    tree.issues
                ));
            }
        }
    }
    None
}

/// Wraps a schema as the only property of several kinds of objects.
fn context(schema: &Value) -> [Value; 5] {
    [
        json!({ "type": "object", "properties": { "it": schema }, "required": ["it"] }),
        json!({ "type": "object", "additionalProperties": schema }),
        json!({ "type": "object", "properties": { "it": schema, "more": {} }, "additionalProperties": true }),
        json!({ "type": "object", "properties": { "it": { "anyOf": [schema, { "type": "boolean" }] } } }),
        json!({ "type": "object", "properties": { "it": { "oneOf": [schema, { "type": "null" }, { "type": ["null", "boolean"] }] } } }),
    ]
}

/// Possible values, including texts that are not JSON.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "null", "true", "false", "tru", "nulll", "0", "-0", "-0.0", "0.0", "1", "-1", "1.0", "01", "-", "+1", ".5",
    "5.", "1e2", "1E+2", "1e400", "-1e400", "1e-400", "1e", "2", "2.0", "3", "5", "5.0", "0.1",
    "0.30000000000000004", "NaN", "Infinity", "9007199254740993", "9007199254740993.0", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616", "170141183460469231731687303715884105727",
    "170141183460469231731687303715884105728", "340282366920938463463374607431768211455",
    "340282366920938463463374607431768211456", "3.4028235e38", "3.4028235677973366e38", "3.5e38",
    "4503599627370496.5", "4503599627370497", "10000000000000000000000.0", "9.999999999999999999999999", "10",
    "10.000000000000000000000001", r#""""#, r#"" ""#, r#""a""#, r#""bb""#, r#""A""#, r#""\u0061""#,
    r#""\u0000""#, r#""\ud800""#, r#""\udc00\ud800""#, r#""\ud83d\ude00""#, r#""\u00zz""#, r#""\q""#, r#""\""#,
    "\"\u{1}\"", "\"\n\"", "\"\u{7f}\"", "\"\u{feff}\"", r#""é""#, r#""1""#, r#""null""#, r#""true""#,
    r#""[1]""#, r#""{}""#, r#""a b""#, r#""\t""#, "\"\u{2003}\"", r#""\/""#, "[]", "[1]", "[1,]", "[,1]",
    "[1 2]", "[1,2]", "[1,1]", "[1,1.0]", "[null]", r#"["a"]"#, r#"["a",1]"#, r#"[1,"a",true]"#, "[[]]",
    "[[1]]", "[", "{}", "{", "{}}", r#"{"a":1}"#, r#"{"a":1,}"#, r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#,
    r#"{"\u0061":1}"#, r#"{"A":1}"#, r#"{"":1}"#, r#"{"":1,"":2}"#, r#"{"a":"x","b":1}"#, r#"{"b":1,"a":"x"}"#,
    r#"{"b":1,"a":"x","a":"y"}"#, r#"{"a":"y","c":[]}"#, r#"{"a":"y"}"#, r#"{"a":{"k":1,"k":2}}"#,
    r#"{"a":[{"k":1,"k":2}]}"#, r#"{"x":[{"k":1,"k":2}]}"#, r#"{"a":null}"#, r#"{"a":"X","b":1}"#,
    r#"{"a":"\u0078","b":1}"#, r#"{"$serde_json::private::RawValue":"5"}"#,
    r#"{"$serde_json::private::Number":"5"}"#, r#"{"a":{"$serde_json::private::RawValue":"5"}}"#, r#"{"x":1}"#,
    r#"{"y":"s"}"#, r#"{"x":1,"y":"s"}"#, r#"{"x":1,"x":2}"#, r#"{"x":null}"#, r#"{"u":null}"#, r#""u""#,
    r#""x""#, r#"{"a-b":1}"#, r#"{"a b":1,"a\"b":2}"#, r#"{"a\"b":2}"#, r#"{"a\"b":2,"a\"b":3}"#, "{\"é\":1}",
    r#"{"\u00e9":1}"#, r#"{"a":1e400}"#, r#"{"a":-0}"#, r#"{"a":123456789012345678901234567890}"#,
    r#"{"a":1}{"a":2}"#, r#"{"a":1} x"#, r#"{"a" : 1 , "b" : [ 1 , 2 ] }"#, "{\"a\"\u{a0}:1}", "/**/1", "1//",
    "\u{feff}1",
];

fn schemas() -> Vec<Value> {
    [scalars(), lists_and_objects(), unions()].concat()
}

fn scalars() -> Vec<Value> {
    vec![
        json!({}),
        json!(true),
        json!({ "type": "string" }),
        json!({ "type": "string", "minLength": 2 }),
        json!({ "type": "string", "maxLength": 1 }),
        json!({ "type": "string", "pattern": "^a" }),
        json!({ "type": "string", "minLength": 2, "$tool_runtime::not_blank": true }),
        json!({ "enum": ["a", "bb"] }),
        json!({ "enum": ["a", "bb"], "minLength": 2 }),
        json!({ "type": "string", "enum": ["a", "bb"], "pattern": "b" }),
        json!({ "type": "string", "enum": ["a", "bb"], "maxLength": 1 }),
        json!({ "enum": ["a", 1, null, "bb"] }),
        json!({ "const": "a" }),
        json!({ "const": "a", "minLength": 3 }),
        json!({ "enum": [1, 2.0, true] }),
        json!({ "const": null }),
        json!({ "type": "integer" }),
        json!({ "type": "integer", "minimum": 1, "maximum": 10 }),
        json!({ "type": "integer", "exclusiveMinimum": 1 }),
        json!({ "type": "integer", "multipleOf": 2 }),
        json!({ "type": "integer", "minimum": 0.5 }),
        json!({ "type": "integer", "maximum": 1e30 }),
        json!({ "type": "integer", "$tool_runtime::integer": "u8" }),
        json!({ "type": "integer", "$tool_runtime::integer": "i128" }),
        json!({ "type": "integer", "$tool_runtime::integer": "u128" }),
        json!({ "type": "number" }),
        json!({ "type": "number", "minimum": 1, "maximum": 10 }),
        json!({ "type": "number", "exclusiveMaximum": 10 }),
        json!({ "type": "number", "multipleOf": 0.1 }),
        json!({ "type": "number", "$tool_runtime::integer": "u8" }),
        json!({ "type": "number", "minimum": 0.3, "maximum": 1e308 }),
        json!({ "type": "boolean" }),
        json!({ "type": "null" }),
        json!({ "type": ["string", "integer"] }),
        json!({ "type": ["string", "null"] }),
        json!({ "type": ["integer", "array"], "items": { "type": "string" } }),
        json!({ "type": ["array", "object"] }),
    ]
}

fn lists_and_objects() -> Vec<Value> {
    vec![
        json!({ "type": "array" }),
        json!({ "type": "array", "items": { "type": "integer" } }),
        json!({ "type": "array", "items": {}, "minItems": 1, "maxItems": 1 }),
        json!({ "type": "array", "uniqueItems": true }),
        json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "type": "array", "prefixItems": [{ "type": "integer" }], "items": false }),
        json!({ "type": "array", "items": false }),
        json!({ "type": "array", "prefixItems": [{ "type": "integer" }], "items": { "type": "string" } }),
        json!({ "type": "object" }),
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "object", "additionalProperties": false }),
        json!({ "type": "object", "additionalProperties": true }),
        json!({ "type": "object", "additionalProperties": {} }),
        json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
        json!({ "type": "object", "minProperties": 1, "maxProperties": 1 }),
        json!({ "type": "object", "required": ["a"] }),
        json!({ "type": "object", "propertyNames": { "maxLength": 1 }, "patternProperties": { "^a": { "type": "integer" } } }),
        json!({ "type": "object", "properties": { "a": {} } }),
        json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": true }),
        json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "properties": { "a": {}, "b": {} }, "additionalProperties": false, "required": ["b"] }),
        json!({ "type": "object", "properties": { "": {} } }),
        json!({ "type": "object", "properties": { "a\"b": {}, "é": {}, "a b": {} } }),
        json!({ "type": "object", "properties": { "a_b": { "type": "integer" } } }),
        json!({ "type": "object", "properties": { "$serde_json::private::RawValue": {}, "$serde_json::private::Number": { "type": "string" } } }),
        json!({ "type": "object", "properties": { "a": { "type": "object", "properties": { "$serde_json::private::RawValue": {} } } } }),
        json!({ "type": "object", "properties": wide(65) }),
        json!({ "type": "object", "properties": wide(64) }),
        json!({ "type": "object", "properties": wide(17), "required": ["a"], "minProperties": 1, "maxProperties": 1 }),
        json!({ "type": "object", "properties": { "a": { "type": "integer", "default": 3 } } }),
    ]
}

fn unions() -> Vec<Value> {
    vec![
        json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "number" }, { "type": "null" }] }),
        json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }),
        json!({ "oneOf": [{ "type": "integer" }, { "type": "number", "maximum": 3 }] }),
        json!({ "oneOf": [{ "type": "null" }, { "type": ["null", "string"] }] }),
        json!({ "oneOf": [{ "type": "null" }, {}] }),
        json!({ "oneOf": [{ "type": "null" }, { "type": "null" }, { "type": "string" }, { "type": "integer" }] }),
        json!({ "anyOf": [{ "type": "object", "properties": { "a": {} } }, { "type": "object", "properties": { "a": {}, "b": {} } }] }),
        json!({ "oneOf": [{ "type": "object", "properties": { "a": {} } }, { "type": "object", "properties": { "a": {}, "b": {} } }] }),
        json!({ "oneOf": [{ "type": "object" }, { "type": "object", "properties": { "a": { "type": "string" } } }] }),
        json!({ "oneOf": [
            { "type": "object", "properties": { "a": { "const": "x" }, "b": { "type": "integer" } }, "required": ["a"] },
            { "type": "object", "properties": { "a": { "const": "y" }, "c": { "type": "array" } }, "required": ["a"] } ] }),
        json!({ "anyOf": [
            { "type": "object", "properties": { "a": { "enum": ["x", "z"] }, "b": { "type": "integer" } }, "required": ["a"] },
            { "type": "object", "properties": { "a": { "const": "y" } }, "required": ["a"] }, { "type": "string" }, { "type": "null" } ] }),
        json!({ "oneOf": [
            { "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] },
            { "type": "object", "properties": { "y": { "type": "string" } }, "required": ["y"] }, { "type": "string", "enum": ["u"] } ] }),
        json!({ "oneOf": [
            { "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"], "additionalProperties": false },
            { "type": "object", "properties": { "y": { "type": "string" } }, "required": ["y"], "additionalProperties": false } ] }),
        json!({ "allOf": [{ "type": "object", "properties": { "a": {} } }, { "type": "object", "properties": { "b": {} } }] }),
        json!({ "type": "object", "$tool_runtime::strict": true, "properties": { "a": {} } }),
        json!({ "type": ["object", "string", "integer"], "properties": { "a": { "anyOf": [{ "type": "object", "properties": { "k": {} } }, { "type": "array" }, { "type": "number" }, { "type": "string" }] } } }),
    ]
}

/// Returns an object schema with `count` properties, the last of them `a`.
fn wide(count: usize) -> Value {
    let name = |place| {
        if place + 1 == count {
            "a".to_owned()
        } else {
            format!("p{place}")
        }
    };
    (0..count)
        .map(|place| (name(place), json!({})))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
#[cfg_attr(miri, ignore = "takes an interpreter minutes")]
fn fast_path_agrees_on_values() {
    let mut found = Vec::new();
    for schema in schemas() {
        for whole in context(&schema) {
            let texts: Vec<_> = VALUES
                .iter()
                .map(|value| format!(r#"{{"it":{value}}}"#))
                .collect();
            found.extend(differences(&whole, &texts));
        }
    }
    assert_none(&found);
}

#[test]
fn fast_path_agrees_on_objects() {
    let mut found = Vec::new();
    for schema in schemas() {
        if schema["type"] == "object" {
            let texts: Vec<_> = VALUES
                .iter()
                .flat_map(|value| {
                    [
                        (*value).to_owned(),
                        format!("\u{feff}{value}"),
                        format!(" {value}\t\n"),
                        format!("{value},"),
                        format!("{value}{value}"),
                    ]
                })
                .collect();
            found.extend(differences(&schema, &texts));
        }
    }
    assert_none(&found);
}

#[test]
fn fast_path_agrees_on_depth() {
    let free = json!({ "type": "object", "properties": { "it": {} } });
    let recursive = json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/it" } }, "$defs": { "it": {
        "anyOf": [{ "type": "array", "items": { "$ref": "#/$defs/it" } }, { "type": "object", "properties": { "it": { "$ref": "#/$defs/it" } } }, { "type": "null" }] } } });
    let texts: Vec<_> = (124..133)
        .flat_map(|levels| {
            [("[", "]"), (r#"{"it":"#, "}")].map(|(open, close)| {
                format!(r#"{{"it":{}null{}}}"#, open.repeat(levels), close.repeat(levels))
            })
        })
        .collect();
    let found = [differences(&free, &texts), differences(&recursive, &texts)].concat();
    assert_none(&found);
}

/// Unions are nested in unions on every level, and the deepest value matches.
#[test]
fn nested_unions_do_not_overflow_the_stack() {
    let mut defs = serde_json::Map::new();
    for n in 0..15 {
        let next = format!("#/$defs/it{}", n + 1);
        defs.insert(
            format!("it{n}"),
            json!({ "anyOf": [{ "type": "array", "minItems": n }, { "$ref": next }] }),
        );
    }
    defs.insert("it15".into(), json!({ "anyOf": [
        { "type": "object", "properties": { "it": { "$ref": "#/$defs/it0" } }, "required": ["it"] }, { "type": "null" }] }));
    let schema =
        json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/it0" } }, "$defs": defs });
    for levels in [2, 20, 125] {
        let text = format!("{}null{}", r#"{"it":"#.repeat(levels), "}".repeat(levels));
        let found = differences(&schema, &[text]);
        assert_none(&found);
    }
}

#[test]
fn missing_tags_take_linear_time() {
    let variant = |tag: &str, value: &str| json!({ "type": "object", "properties": { tag: { "const": value } }, "required": [tag] });
    let it = |more: &str| json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/it" }, more: { "type": "integer" } }, "required": [more] });
    let schema = json!({ "type": "object", "properties": { "it": { "$ref": "#/$defs/it" } }, "$defs": {
        "tagged": { "anyOf": [variant("t", "x"), variant("t", "y")] },
        "it": { "anyOf": [{ "$ref": "#/$defs/tagged" }, it("a"), it("b"), it("c")] } } });
    let compiled = compiled(&schema);
    let pad = vec!["0"; 20_000].join(",");
    let levels = 60;
    let text = format!(
        "{}{{\"pad\":[{pad}]}}{}",
        r#"{"it":"#.repeat(levels),
        "}".repeat(levels)
    );
    let clock = Instant::now();
    assert_eq!(fast_path::map(&compiled, &mut RawArguments::from(&text)), None);
    assert!(clock.elapsed() < Duration::from_secs(20), "{:?}", clock.elapsed());
}

/// Nested unions take linear time, too: three nested unions around a long string.
#[test]
fn nested_unions_take_linear_time() {
    let next = json!({ "$ref": "#/$defs/it" });
    let schema = json!({ "type": "object", "properties": { "it": next }, "$defs": { "it": { "anyOf": [
        { "type": "object", "properties": { "it": next, "a": {} }, "required": ["it", "a"] },
        { "type": "object", "properties": { "it": next }, "required": ["it"] },
        { "type": "string", "pattern": "^[a-z ]*$" },
    ] } } });
    let compiled = compiled(&schema);
    let text = format!(
        "{}\"{}\"{}",
        r#"{"it":"#.repeat(18),
        "a".repeat(100_000),
        "}".repeat(18)
    );
    let value: Value = serde_json::from_str(&text).unwrap();
    let clock = Instant::now();
    assert_eq!(fast_path::map(&compiled, &mut RawArguments::from(&value)), None);
    assert!(clock.elapsed() < Duration::from_secs(20), "{:?}", clock.elapsed());
}
