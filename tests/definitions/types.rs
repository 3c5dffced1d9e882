//! Types other than enums.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::{NonZeroI64, NonZeroU8};

use serde_json::{Value, json};
use tool_runtime::__private::Parameter;
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::Deserialize;
use tool_runtime::{NotBlank, Patch, ToolCall, ToolRegistry, tool};

use crate::definitions::declared::{Takes, assert_shown, definition, is_required, registered};

#[test]
fn numbers_have_limits_and_no_format() {
    let integer = json!({ "type": "integer", "description": "The value." });
    assert_shown::<i32>(integer.clone());
    assert_shown::<i64>(integer.clone());
    assert_shown::<isize>(integer.clone());
    assert_shown::<i128>(integer);
    let unsigned = json!({ "type": "integer", "description": "The value.", "minimum": 0 });
    assert_shown::<u32>(unsigned.clone());
    assert_shown::<u64>(unsigned.clone());
    assert_shown::<usize>(unsigned.clone());
    assert_shown::<u128>(unsigned);
    assert_shown::<i8>(
        json!({ "type": "integer", "description": "The value.", "minimum": -128, "maximum": 127 }),
    );
    assert_shown::<u8>(
        json!({ "type": "integer", "description": "The value.", "minimum": 0, "maximum": 255 }),
    );
    assert_shown::<i16>(
        json!({ "type": "integer", "description": "The value.", "minimum": -32768, "maximum": 32767 }),
    );
    assert_shown::<u16>(
        json!({ "type": "integer", "description": "The value.", "minimum": 0, "maximum": 65535 }),
    );
    assert_shown::<NonZeroU8>(
        json!({ "type": "integer", "description": "The value.", "minimum": 1, "maximum": 255 }),
    );
    assert_shown::<NonZeroI64>(json!({ "type": "integer", "description": "The value. Must not be 0." }));
    let number = json!({ "type": "number", "description": "The value." });
    assert_shown::<f32>(number.clone());
    assert_shown::<f64>(number);
}

#[test]
fn strings_and_other_scalars() {
    let text = json!({ "type": "string", "description": "The value." });
    assert_shown::<String>(text.clone());
    assert_shown::<Box<str>>(text.clone());
    assert_shown::<Cow<'static, str>>(text.clone());
    assert_shown::<std::path::PathBuf>(text);
    assert_shown::<char>(
        json!({ "type": "string", "description": "The value.", "minLength": 1, "maxLength": 1 }),
    );
    assert_shown::<bool>(json!({ "type": "boolean", "description": "The value." }));
    assert_shown::<()>(json!({ "type": "null", "description": "The value." }));
    assert!(is_required::<()>());
}

#[test]
fn types_of_other_crates() {
    let text = |format: &str| json!({ "type": "string", "description": "The value.", "format": format });
    assert_shown::<uuid::Uuid>(text("uuid"));
    assert_shown::<url::Url>(text("uri"));
    assert_shown::<chrono::DateTime<chrono::Utc>>(text("date-time"));
    assert_shown::<chrono::NaiveDate>(text("date"));
    assert_shown::<Option<uuid::Uuid>>(text("uuid"));
    assert_shown::<Vec<chrono::NaiveDate>>(json!({
        "type": "array", "description": "The value.", "items": { "type": "string", "format": "date" },
    }));
}

#[test]
fn lists_sets_and_tuples() {
    let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    assert_shown::<Vec<u8>>(json!({ "type": "array", "description": "The value.", "items": byte }));
    assert_shown::<HashSet<String>>(
        json!({ "type": "array", "description": "The value.", "uniqueItems": true, "items": { "type": "string" } }),
    );
    assert_shown::<BTreeSet<u8>>(
        json!({ "type": "array", "description": "The value.", "uniqueItems": true, "items": byte }),
    );
    assert_shown::<(u8, String)>(json!({
        "type": "array", "description": "The value.",
        "prefixItems": [byte, { "type": "string" }], "minItems": 2, "maxItems": 2,
    }));
    assert_shown::<[u8; 3]>(
        json!({ "type": "array", "description": "The value.", "items": byte, "minItems": 3, "maxItems": 3 }),
    );
    // OpenAI rejects an array without `items`.
    assert_shown::<Vec<Value>>(json!({ "type": "array", "description": "The value.", "items": {} }));
}

#[test]
fn maps() {
    assert_shown::<HashMap<String, i32>>(
        json!({ "type": "object", "description": "The value.", "additionalProperties": { "type": "integer" } }),
    );
    assert_shown::<BTreeMap<String, Value>>(
        json!({ "type": "object", "description": "The value.", "additionalProperties": true }),
    );
    assert_shown::<HashMap<i64, String>>(json!({
        "type": "object", "description": "The value.", "additionalProperties": false,
        "patternProperties": { r"^-?\d+$": { "type": "string" } },
    }));
    assert_shown::<HashMap<u32, Option<bool>>>(json!({
        "type": "object", "description": "The value.", "additionalProperties": false,
        "patternProperties": { r"^\d+$": { "type": ["boolean", "null"] } },
    }));
}

#[test]
fn any_value_has_only_a_description() {
    assert_shown::<Value>(json!({ "description": "The value." }));
    assert!(is_required::<Value>());
    assert_shown::<Option<Value>>(json!({ "description": "The value." }));
    assert!(!is_required::<Option<Value>>());
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Options {
    /// One.
    plain: Option<u8>,
    /// Two.
    twice: Option<Option<u8>>,
    /// Three.
    inside: Vec<Option<u8>>,
    /// Four.
    boxed: Option<Box<Place>>,
    /// Five.
    #[serde(default)]
    defaulted: Option<String>,
    /// Six.
    #[serde(default)]
    count: u32,
}

/// A place.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Place {
    /// Name.
    #[schemars(with = "tool_runtime::NotBlank")]
    name: String,
}

#[test]
fn options_have_the_schema_of_their_content() {
    let byte = json!({ "type": "integer", "description": "The value.", "minimum": 0, "maximum": 255 });
    assert_shown::<Option<u8>>(byte.clone());
    assert_shown::<Option<Option<u8>>>(byte);
    assert!(!is_required::<Option<Option<u8>>>());
    assert_shown::<Vec<Option<u8>>>(json!({
        "type": "array", "description": "The value.",
        "items": { "type": ["integer", "null"], "minimum": 0, "maximum": 255 },
    }));
    let place = json!({
        "type": "object", "description": "Four.",
        "properties": { "name": { "type": "string", "description": "Name. Must not be blank." } },
        "required": ["name"],
        "additionalProperties": false,
    });
    assert_shown::<Options>(json!({
        "type": "object",
        "description": "The value.",
        "properties": {
            "plain": { "type": "integer", "description": "One.", "minimum": 0, "maximum": 255 },
            "twice": { "type": "integer", "description": "Two.", "minimum": 0, "maximum": 255 },
            "inside": {
                "type": "array", "description": "Three.",
                "items": { "type": ["integer", "null"], "minimum": 0, "maximum": 255 },
            },
            "boxed": place,
            "defaulted": { "type": "string", "description": "Five." },
            "count": { "type": "integer", "description": "Six.", "minimum": 0 },
        },
        "required": ["inside"],
    }));
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Flat {
    /// A.
    a: String,
    #[serde(flatten)]
    place: FlatPlace,
    #[serde(flatten)]
    rest: HashMap<String, i32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct FlatPlace {
    /// B.
    b: Option<bool>,
}

/// A text.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(extend("x-strict" = true))]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Extended {
    /// One.
    #[schemars(extend("x-not-blank" = true, "x-patch" = true, "x-meanings" = [["a", "A."]]))]
    text: String,
    /// Two.
    #[schemars(extend("x-integer" = "u8", "x-default" = true, "x-validation" = [0], "x-case-sensitive" = "?"))]
    number: i64,
}

#[test]
fn extension_keywords_of_types_are_shown_and_not_obeyed() {
    assert_shown::<Extended>(json!({
        "type": "object",
        "description": "The value.",
        "properties": {
            "text": {
                "type": "string", "description": "One.",
                "x-not-blank": true, "x-patch": true, "x-meanings": [["a", "A."]],
            },
            "number": {
                "type": "integer", "description": "Two.",
                "x-integer": "u8", "x-default": true, "x-validation": [0], "x-case-sensitive": "?",
            },
        },
        "required": ["text", "number"],
        "x-strict": true,
    }));
    let text = judge::<Extended>(&json!({ "it": { "text": " ", "number": "300" } }));
    assert_eq!(text, "string_literal_converted_to_integer at /it/number");
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Marked {
    /// One.
    #[serde(default)]
    patch: Patch<String>,
    /// Two.
    #[serde(default)]
    #[schemars(with = "Option<NotBlank>")]
    text: Option<String>,
    /// Three.
    #[schemars(with = "Vec<NotBlank>")]
    texts: Vec<String>,
}

#[test]
fn schemas_for_other_purposes_have_no_marks() {
    assert_eq!(
        schemars::schema_for!(Patch<String>).as_value(),
        &json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Patch_of_string",
            "type": ["string", "null"],
        })
    );
    assert_eq!(
        schemars::schema_for!(Marked).as_value()["properties"],
        json!({
            "patch": { "type": ["string", "null"], "description": "One." },
            "text": { "type": ["string", "null"], "description": "Two.", "pattern": r"\S", "default": null },
            "texts": { "type": "array", "description": "Three.", "items": { "type": "string", "pattern": r"\S" } },
        })
    );
}

#[test]
fn strings_of_structs_can_be_not_blank() {
    assert_shown::<Marked>(json!({
        "type": "object",
        "description": "The value.",
        "properties": {
            "patch": { "type": ["string", "null"], "description": "One." },
            "text": { "type": "string", "description": "Two. Must not be blank." },
            "texts": {
                "type": "array", "description": "Three.",
                "items": { "type": "string", "description": "Must not be blank." },
            },
        },
        "required": ["texts"],
    }));
    assert_eq!(
        judge::<Marked>(&json!({ "it": { "texts": ["a"], "text": "b" } })),
        ""
    );
    assert_eq!(
        judge::<Marked>(&json!({ "it": { "texts": ["a", " "], "text": "\n" } })),
        "constraint_violated at /it/texts/1, empty_string_treated_as_null at /it/text"
    );
}

/// The issues of a call, sorted: each its code and path.
fn judge<T: Parameter>(arguments: &Value) -> String {
    let mut registry = ToolRegistry::new();
    registry.register::<Takes<T>>().unwrap();
    let request = registry.prepare(ToolCall::new("id", "takes", arguments.clone()));
    let mut issues: Vec<String> = request
        .errors
        .iter()
        .chain(&request.warnings)
        .map(|issue| format!("{} at {}", issue.code.as_str(), issue.path))
        .collect();
    issues.sort();
    issues.join(", ")
}

#[test]
fn flattened_structs_and_maps() {
    assert_shown::<Flat>(json!({
        "type": "object",
        "description": "The value.",
        "properties": {
            "a": { "type": "string", "description": "A." },
            "b": { "type": "boolean", "description": "B." },
        },
        "required": ["a"],
        "additionalProperties": { "type": "integer" },
    }));
}

/// A node.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Node {
    /// Contents of the node.
    value: i64,
    /// Child nodes.
    children: Vec<Node>,
    /// Next node.
    next: Option<Box<Node>>,
}

#[test]
fn recursive_type_is_one_definition() {
    let node = json!({
        "type": "object",
        "description": "A node.",
        "properties": {
            "value": { "type": "integer", "description": "Contents of the node." },
            "children": {
                "type": "array", "description": "Child nodes.", "items": { "$ref": "#/$defs/Node" },
            },
            "next": { "$ref": "#/$defs/Node", "description": "Next node." },
        },
        "required": ["value", "children"],
    });
    let schema = definition::<Option<Node>>().input_schema;
    let expected = json!({
        "type": "object",
        "properties": { "it": { "$ref": "#/$defs/Node", "description": "The value." } },
        "$defs": { "Node": node },
    });
    assert_eq!(schema.to_string(), expected.to_string());
    assert_eq!(
        schema.to_string(),
        definition::<Option<Node>>().input_schema.to_string()
    );
    let nullable = definition::<Vec<Option<Node>>>().input_schema;
    assert_eq!(
        nullable["properties"]["it"]["items"]["anyOf"],
        json!([{ "$ref": "#/$defs/Node" }, { "type": "null" }])
    );
}

/// A shelf.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Shelf {
    /// Objects on the shelf.
    boxes: Vec<Crate>,
}

/// A box.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Crate {
    /// Contents.
    shelf: Option<Box<Shelf>>,
}

#[test]
fn mutually_recursive_types_are_one_definition_each() {
    let schema = definition::<(Shelf, Crate)>().input_schema;
    let text = schema.to_string();
    assert_eq!(text.matches("\"boxes\":").count(), 1, "{text}");
    assert_eq!(text.matches("\"shelf\":").count(), 1, "{text}");
    references_lead_somewhere(&schema, &schema);
}

mod other {
    use super::{Deserialize, JsonSchema, schemars};

    /// Another node.
    #[derive(Deserialize, JsonSchema)]
    #[serde(crate = "tool_runtime::serde")]
    #[expect(dead_code, reason = "only the schema is looked at")]
    pub(super) struct Node {
        /// Inside.
        inner: Option<Box<Node>>,
        /// One of the others.
        foreign: Option<Box<super::Node>>,
    }
}

/// Take nodes of both kinds.
#[tool]
async fn both(
    /// The first.
    first: Node,
    /// The second.
    second: other::Node,
    /// The third.
    third: Vec<Node>,
) {
    let _ = (first, second, third);
}

#[test]
fn definitions_of_the_same_name_are_numbered() {
    let schema = registered::<both>().input_schema;
    let names: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["Node", "Node2"]);
    let at = |pointer: &str| schema.pointer(pointer).unwrap().clone();
    assert_eq!(at("/properties/first/$ref"), "#/$defs/Node");
    assert_eq!(at("/properties/second/$ref"), "#/$defs/Node2");
    assert_eq!(at("/$defs/Node2/properties/inner/$ref"), "#/$defs/Node2");
    assert_eq!(at("/$defs/Node2/description"), "Another node.");
    assert_eq!(schema.to_string(), registered::<both>().input_schema.to_string());
    references_lead_somewhere(&schema, &schema);
}

fn references_lead_somewhere(schema: &Value, root: &Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                assert!(
                    root.pointer(reference.strip_prefix('#').unwrap()).is_some(),
                    "{reference}"
                );
            }
            fields
                .values()
                .for_each(|inner| references_lead_somewhere(inner, root));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|inner| references_lead_somewhere(inner, root)),
        _ => {}
    }
}

/// Wait.
#[tool_runtime::tool]
async fn wait(_token: tool_runtime::CancellationToken) {}

#[test]
fn no_parameters() {
    assert_eq!(
        serde_json::to_string(&registered::<wait>().input_schema).unwrap(),
        r#"{"type":"object","properties":{}}"#,
    );
}
