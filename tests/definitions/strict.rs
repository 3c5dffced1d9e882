//! Strict forms against OpenAI's published subset, by a checker that knows nothing of the converter.
//!
//! Source of the rules: <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tool_runtime::ToolDefinition;
use tool_runtime::format::openai::{chat, responses};

use crate::six;

#[test]
fn strict_forms_hold_the_published_subset() {
    let mut refused = Vec::new();
    for (name, definition) in six::definitions() {
        match chat::strict_tool(&definition) {
            Ok(strict) => {
                let function = &strict.tool["function"];
                assert_eq!(function["strict"], true);
                assert_eq!(violations(&function["parameters"]), [""; 0], "{name}");
                let flat = responses::strict_tool(&definition).unwrap();
                assert_eq!(flat.tool["parameters"], function["parameters"]);
                assert_eq!(flat.notes, strict.notes);
            }
            Err(not_strict) => refused.push((name, not_strict.to_string())),
        }
    }
    assert_eq!(
        refused,
        [(
            "map",
            "`set_labels` has no strict form: at `/properties/labels` its keys are free; \
             use a list of key and value"
                .to_owned()
        )]
    );
}

#[test]
fn the_checker_sees_what_is_wrong() {
    for (_, definition) in six::definitions() {
        assert_ne!(
            violations(&definition.input_schema),
            [""; 0],
            "plain forms leave `required` and more open"
        );
    }
    let object = |properties: Value, more: Value| {
        let mut schema = json!({
            "type": "object",
            "required": properties.as_object().unwrap().keys().collect::<Vec<_>>(),
            "properties": properties,
            "additionalProperties": false,
        });
        schema
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        schema
    };
    assert_eq!(
        violations(&object(json!({ "a": { "type": ["string", "null"] } }), json!({}))),
        [""; 0]
    );
    let wrong = [
        object(json!({}), json!({ "anyOf": [] })),
        object(json!({}), json!({ "additionalProperties": true })),
        object(json!({ "a": { "type": "string" } }), json!({ "required": [] })),
        object(json!({ "a": {} }), json!({})),
        object(json!({ "a": { "type": "string", "minLength": 1 } }), json!({})),
        object(json!({ "a": { "type": "string", "format": "uri" } }), json!({})),
        object(json!({ "a": { "oneOf": [{ "type": "string" }] } }), json!({})),
        object(json!({ "a": { "type": "array" } }), json!({})),
        object(json!({ "a": { "$ref": "#/$defs/A" } }), json!({})),
        object(json!({ "a": { "$ref": "#", "description": "x" } }), json!({})),
        json!({ "type": "array", "items": { "type": "string" } }),
    ];
    for schema in wrong {
        assert_ne!(violations(&schema), [""; 0], "{schema}");
    }
}

#[test]
fn what_cannot_be_said_is_refused_with_its_place() {
    let cases = [
        (
            json!({ "type": "object", "anyOf": [] }),
            "",
            "the root is `anyOf`",
        ),
        (json!({ "type": "string" }), "", "the root is no object"),
        (of(json!({})), "/properties/a", "anything is allowed"),
        (of(json!(true)), "/properties/a", "anything is allowed"),
        (
            of(json!({ "type": "object" })),
            "/properties/a",
            "its keys are free",
        ),
        (
            of(json!({ "type": "object", "properties": {}, "additionalProperties": true })),
            "/properties/a",
            "its keys are free",
        ),
        (
            of(json!({ "type": "array", "prefixItems": [{ "type": "string" }] })),
            "/properties/a",
            "it is a tuple",
        ),
        (
            of(json!({ "type": "array" })),
            "/properties/a",
            "its items may be anything",
        ),
        (
            of(json!({ "type": "array", "items": { "allOf": [] } })),
            "/properties/a/items",
            "`allOf` is not supported",
        ),
        (
            of(json!({ "type": "object", "properties": { "b/c": {} } })),
            "/properties/a/properties/b~1c",
            "anything is allowed",
        ),
        (
            of(json!({ "properties": { "t": { "const": 1 } }, "oneOf": [{ "type": "string" }] })),
            "/properties/a",
            "`properties` beside `oneOf`",
        ),
        (
            of(json!({ "$ref": "#/$defs/Missing" })),
            "",
            "`Missing` that is not there",
        ),
        (
            of(json!({ "$ref": "#/properties/a" })),
            "/properties/a",
            "only `$defs` can be referred to",
        ),
        (
            of(json!({ "enum": (0..1001).collect::<Vec<_>>() })),
            "",
            "there are 1002 enum values; the API takes 1000",
        ),
    ];
    for (schema, path, reason) in cases {
        let refused = chat::strict_tool(&ToolDefinition::new("t", "T.", schema.clone())).unwrap_err();
        assert_eq!(refused.path, path, "{schema}");
        assert!(
            refused.reason.contains(reason),
            "{}, not {reason}",
            refused.reason
        );
    }
}

#[test]
fn depth_is_limited_and_no_danger() {
    let nested = |levels: usize| {
        let mut schema = json!({ "type": "string" });
        for _ in 0..levels {
            schema = of(schema);
        }
        chat::strict_tool(&ToolDefinition::new("t", "T.", schema))
    };
    assert!(nested(10).is_ok());
    assert_eq!(
        nested(11).unwrap_err().reason,
        "there are 11 levels of nesting; the API takes 10"
    );
    assert_eq!(
        nested(100).unwrap_err().reason,
        "it is nested deeper than 64 schemas"
    );
}

#[test]
fn what_the_subset_lacks_is_told_in_words() {
    let schema = of(json!({
        "type": ["string", "null"],
        "description": "A text.",
        "minLength": 1,
        "maxLength": 20,
        "format": "uri",
        "pattern": "^(?!x)",
        "default": "a",
        "examples": ["b", "c"],
        "contentEncoding": "base64",
    }));
    let strict = chat::strict_tool(&ToolDefinition::new("t", "T.", schema)).unwrap();
    assert_eq!(
        strict.tool["function"]["parameters"]["properties"]["a"],
        json!({
            "type": ["string", "null"],
            "description": "A text. At least 1 character. At most 20 characters. Format: uri. \
                Matches the regular expression `^(?!x)`. Default: \"a\". For example \"b\" or \"c\".",
        }),
    );
    let last = strict.notes.last().unwrap();
    assert_eq!(last.to_string(), "`contentEncoding` at `/properties/a` dropped");
}

#[test]
fn unions_of_types_and_fixed_values() {
    let property = |schema: Value| {
        let tool = chat::strict_tool(&ToolDefinition::new("t", "T.", of(schema)))
            .unwrap()
            .tool;
        assert_eq!(violations(&tool["function"]["parameters"]), [""; 0]);
        tool["function"]["parameters"]["properties"]["a"].clone()
    };
    assert_eq!(
        property(json!({ "type": ["string", "integer", "null"], "minimum": 1, "description": "D." })),
        json!({
            "description": "D.",
            "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 1 }, { "type": "null" }],
        }),
    );
    assert_eq!(
        property(json!({ "enum": ["a", null] })),
        json!({ "type": ["string", "null"], "enum": ["a", null] })
    );
    assert_eq!(
        property(json!({ "enum": ["a", 1] })),
        json!({ "anyOf": [
            { "type": "string", "enum": ["a"] },
            { "type": "integer", "enum": [1] },
            { "type": "null" },
        ] }),
    );
    assert_eq!(
        property(json!({ "const": "a" })),
        json!({ "anyOf": [{ "type": "string", "const": "a" }, { "type": "null" }] }),
    );
}

/// A tool's schema with the optional property `a`.
fn of(property: Value) -> Value {
    json!({ "type": "object", "properties": { "a": property } })
}

/// What breaks the rules, each with its place.
fn violations(root: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if root["type"] != "object" || root.get("anyOf").is_some() {
        found.push("the root must be an object and no union".to_owned());
    }
    check(root, root, "#", &mut found);
    for (name, definition) in root["$defs"].as_object().into_iter().flatten() {
        check(definition, root, &format!("#/$defs/{name}"), &mut found);
    }
    found
}

fn check(schema: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        return found.push(format!("{place}: not an object"));
    };
    let mut allowed: BTreeSet<&str> = ["description"].into();
    if let Some(reference) = schema.get("$ref") {
        allowed = ["$ref"].into();
        let target = reference
            .as_str()
            .and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        if target.is_none() {
            found.push(format!("{place}: {reference} leads nowhere"));
        }
    } else if let Some(alternatives) = schema.get("anyOf") {
        allowed.insert("anyOf");
        for (index, alternative) in alternatives.as_array().unwrap().iter().enumerate() {
            check(alternative, root, &format!("{place}/anyOf/{index}"), found);
        }
    } else {
        let types = match &schema["type"] {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) if names.len() == 2 && names[1] == "null" => vec![names[0].as_str().unwrap()],
            other => return found.push(format!("{place}: type {other}")),
        };
        allowed.extend(["type", "enum", "const"]);
        for name in types {
            allowed.extend(check_type(name, schema, root, place, found));
        }
    }
    if place == "#" {
        allowed.insert("$defs");
    }
    for keyword in keywords
        .keys()
        .filter(|keyword| !allowed.contains(keyword.as_str()))
    {
        found.push(format!("{place}: `{keyword}` is not supported here"));
    }
}

/// Checks what belongs to a type and says which keywords it may have.
fn check_type(
    name: &str,
    schema: &Value,
    root: &Value,
    place: &str,
    found: &mut Vec<String>,
) -> &'static [&'static str] {
    match name {
        "object" => {
            if schema["additionalProperties"] != false {
                found.push(format!("{place}: `additionalProperties` must be false"));
            }
            let Some(properties) = schema["properties"].as_object() else {
                found.push(format!("{place}: no `properties`"));
                return &[];
            };
            let names: Vec<_> = properties.keys().cloned().map(Value::from).collect();
            if schema["required"] != Value::from(names) {
                found.push(format!("{place}: every property must be required"));
            }
            for (name, property) in properties {
                check(property, root, &format!("{place}/{name}"), found);
            }
            &["properties", "required", "additionalProperties"]
        }
        "array" => {
            check(&schema["items"], root, &format!("{place}/items"), found);
            &["items", "minItems", "maxItems"]
        }
        "string" => {
            const FORMATS: [&str; 9] = [
                "date-time",
                "time",
                "date",
                "duration",
                "email",
                "hostname",
                "ipv4",
                "ipv6",
                "uuid",
            ];
            if let Some(format) = schema.get("format")
                && !FORMATS.iter().any(|known| format == known)
            {
                found.push(format!("{place}: format {format}"));
            }
            &["pattern", "format"]
        }
        "number" | "integer" => &[
            "multipleOf",
            "maximum",
            "exclusiveMaximum",
            "minimum",
            "exclusiveMinimum",
        ],
        "boolean" | "null" => &[],
        other => {
            found.push(format!("{place}: type `{other}`"));
            &[]
        }
    }
}
