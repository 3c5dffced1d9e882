//! Strict forms, compared with the published subsets by independent checkers.

use serde_json::{Value, json};
use tool_runtime::ToolDefinition;
use tool_runtime::format::anthropic;
use tool_runtime::format::openai::{chat, responses};

use crate::definitions::sample_tools;
use crate::definitions::subset::{anthropic_violations, violations};

#[test]
fn strict_forms_conform_to_the_published_subset() {
    let mut refused = Vec::new();
    for (name, definition) in sample_tools::definitions() {
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
fn strict_forms_conform_to_the_subset_of_anthropic() {
    let mut refused = Vec::new();
    for (name, definition) in sample_tools::definitions() {
        match anthropic::strict_tool(&definition) {
            Ok(strict) => {
                assert_eq!(strict.tool["strict"], true);
                assert_eq!(
                    anthropic_violations(&strict.tool["input_schema"]),
                    [""; 0],
                    "{name}"
                );
                assert_eq!(
                    strict.tool["input_schema"].get("required"),
                    definition.input_schema.get("required"),
                    "what is optional stays so",
                );
            }
            Err(not_strict) => refused.push((name, not_strict.path)),
        }
    }
    assert_eq!(
        refused,
        [
            ("recursive", "/properties/root".to_owned()),
            ("map", "/properties/labels".to_owned()),
        ],
    );
}

#[test]
fn checker_finds_violations() {
    for (_, definition) in sample_tools::definitions() {
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
fn rejects_roots_outside_the_subset() {
    let cases = [
        (
            json!({ "type": "object", "anyOf": [] }),
            "",
            "the root is `anyOf`",
        ),
        (json!({ "type": "string" }), "", "the root is no object"),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            "",
            "its keys are free",
        ),
        (
            json!({ "type": "object", "patternProperties": { "^a": { "type": "string" } } }),
            "",
            "its keys are free",
        ),
        (
            json!({ "type": "object", "required": ["a"] }),
            "",
            "it requires \"a\" without a schema",
        ),
    ];
    refused(&cases);
}

#[test]
fn rejects_properties_outside_the_subset_with_their_path() {
    let cases = [
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
            of(json!({ "type": "string", "enum": [1, null] })),
            "/properties/a",
            "none of its values is of the type `string`",
        ),
        (
            of(json!({ "type": "string", "const": "a", "enum": ["b", 1] })),
            "/properties/a",
            "`const` and `enum` have no value of the type `string` in common",
        ),
        (
            of(json!({ "type": "object", "properties": { "b/c": {} } })),
            "/properties/a/properties/b~1c",
            "anything is allowed",
        ),
    ];
    refused(&cases);
}

#[test]
fn rejects_unsupported_combinations_with_their_path() {
    let cases = [
        (
            of(json!({ "properties": { "t": { "const": 1 } }, "oneOf": [{ "type": "string" }] })),
            "/properties/a",
            "`properties` beside `oneOf`",
        ),
        (
            of(json!({ "anyOf": [{ "type": "null" }], "oneOf": [{ "type": "null" }] })),
            "/properties/a",
            "`anyOf` beside `oneOf`",
        ),
        (
            json!({ "type": "object", "properties": {}, "required": ["a"] }),
            "",
            "it requires \"a\" without a schema",
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
    refused(&cases);
}

#[track_caller]
fn refused(cases: &[(Value, &str, &str)]) {
    for (schema, path, reason) in cases {
        let refused = chat::strict_tool(&ToolDefinition::new("t", "T.", schema.clone())).unwrap_err();
        assert_eq!(refused.path, *path, "{schema}");
        assert!(
            refused.reason.contains(reason),
            "{}, not {reason}",
            refused.reason
        );
    }
}

#[test]
fn limits_depth() {
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
fn unsupported_keywords_become_descriptions() {
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
    let notes: Vec<String> = strict.notes.iter().map(ToString::to_string).collect();
    let moved = |keyword: &str| format!("`{keyword}` at `/properties/a` moved to the description");
    assert_eq!(
        notes,
        [
            moved("minLength"),
            moved("maxLength"),
            moved("format"),
            moved("pattern"),
            "`contentEncoding` at `/properties/a` dropped".to_owned(),
        ],
        "defaults and examples are no rules"
    );
}

#[test]
fn converts_unions_of_types_and_constants() {
    let property_of = |schema: Value| {
        let tool = chat::strict_tool(&ToolDefinition::new("t", "T.", schema))
            .unwrap()
            .tool;
        assert_eq!(violations(&tool["function"]["parameters"]), [""; 0]);
        tool["function"]["parameters"]["properties"]["a"].clone()
    };
    let property = |schema: Value| property_of(of(schema));
    let required = |schema: Value| {
        let mut schema = of(schema);
        schema["required"] = json!(["a"]);
        property_of(schema)
    };
    assert_eq!(
        required(json!({ "type": ["string", "integer", "null"], "minimum": 1, "description": "D." })),
        json!({
            "description": "D.",
            "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 1 }, { "type": "null" }],
        }),
    );
    assert_eq!(
        required(json!({ "enum": ["a", null] })),
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
        property(json!({ "type": "number", "const": 1, "enum": [0.5, 1.0, 1.5] })),
        json!({ "anyOf": [{ "type": "number", "const": 1, "enum": [1.0] }, { "type": "null" }] }),
    );
    assert_eq!(
        property(json!({ "const": "a" })),
        json!({ "anyOf": [{ "type": "string", "const": "a" }, { "type": "null" }] }),
    );
}

/// Builds a tool's schema with the optional property `a`.
fn of(property: Value) -> Value {
    json!({ "type": "object", "properties": { "a": property } })
}

/// Older generators write `allOf` around a `$ref` with a description.
#[test]
fn all_of_with_one_schema_is_that_schema() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "allOf": [{ "$ref": "#/definitions/A" }], "description": "D." } },
        "required": ["a"],
        "definitions": { "A": { "type": "object", "properties": { "b": { "type": "string" } } } },
    });
    let tool = chat::strict_tool(&ToolDefinition::new("t", "T.", schema))
        .unwrap()
        .tool;
    let schema = &tool["function"]["parameters"];
    assert_eq!(violations(schema), [""; 0]);
    assert_eq!(
        schema["properties"]["a"],
        json!({ "description": "D.", "anyOf": [{ "$ref": "#/$defs/A" }] }),
    );
    assert_eq!(schema["$defs"]["A"]["required"], json!(["b"]));
}

/// Below an `$id`, a pointer begins there; in the strict form it would begin at the root.
#[test]
fn rejects_references_that_depend_on_an_inner_id() {
    let mut below = of(json!({ "$id": "A", "$ref": "#/$defs/b" }));
    below["$defs"] = json!({ "b": { "type": "string" } });
    let mut by_name = of(json!({ "$ref": "B" }));
    by_name["$defs"] = json!({ "b": { "$id": "B", "type": "string" } });
    refused(&[
        (below, "/properties/a/$ref", "remove that `$id`"),
        (by_name, "/properties/a", "only `$defs` can be referred to"),
    ]);
}

/// `nullable: false` has no effect.
#[test]
fn nullable_false_is_left_out_without_a_note() {
    let schema = json!({ "type": "object", "required": ["a", "b"], "properties": {
        "a": { "type": "integer", "nullable": false },
        "b": { "type": "array", "items": { "type": "string", "nullable": false } },
    } });
    let definition = ToolDefinition::new("f", "Does it.", schema);
    let strict = chat::strict_tool(&definition).unwrap();
    assert_eq!(strict.notes, []);
    assert_eq!(
        strict.tool["function"]["parameters"]["properties"],
        json!({ "a": { "type": "integer" }, "b": { "type": "array", "items": { "type": "string" } } })
    );
    assert_eq!(anthropic::strict_tool(&definition).unwrap().notes, []);
}

#[test]
fn nullable_becomes_a_union_with_null() {
    let schema = json!({ "type": "object", "properties": {
        "size": { "type": "integer", "nullable": true, "description": "How large." },
        "kind": { "type": "string", "enum": ["a", "b"], "nullable": true },
    }, "required": ["size", "kind"] });
    let definition = ToolDefinition::new("tool", "Takes what may be null.", schema.clone());
    let strict = chat::strict_tool(&definition).unwrap().tool;
    let parameters = &strict["function"]["parameters"];
    assert_eq!(violations(parameters), [""; 0]);
    for name in ["size", "kind"] {
        let types = parameters["properties"][name].to_string();
        assert!(
            types.contains("\"null\"") && !types.contains("nullable"),
            "{types}"
        );
    }
    let strict = anthropic::strict_tool(&definition).unwrap().tool;
    assert_eq!(anthropic_violations(&strict["input_schema"]), [""; 0]);
    assert!(!strict.to_string().contains("nullable"));
    // The loose forms are sent unchanged.
    assert_eq!(chat::tool(&definition)["function"]["parameters"], schema);
}
