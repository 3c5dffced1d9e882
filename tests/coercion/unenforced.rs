//! The keywords that are not enforced: `docs/coercion.md` lists them.

use serde_json::{Value, json};
use tests::dynamic_tool;
use tool_runtime::Policy;

/// A keyword, a schema that has it, and a value that violates it.
fn rows() -> Vec<(&'static str, Value, Value)> {
    let integer = json!({ "type": "integer" });
    vec![
        ("not", json!({ "not": { "const": 1 } }), json!(1)),
        ("if", json!({ "if": integer, "then": { "minimum": 3 } }), json!(1)),
        (
            "then",
            json!({ "if": integer, "then": { "minimum": 3 } }),
            json!(1),
        ),
        (
            "else",
            json!({ "if": integer, "else": { "maxLength": 1 } }),
            json!("ab"),
        ),
        ("contains", json!({ "contains": integer }), json!(["a"])),
        (
            "minContains",
            json!({ "contains": integer, "minContains": 2 }),
            json!([1]),
        ),
        (
            "maxContains",
            json!({ "contains": integer, "maxContains": 1 }),
            json!([1, 2]),
        ),
        (
            "dependentRequired",
            json!({ "properties": { "a": {} }, "dependentRequired": { "a": ["b"] } }),
            json!({ "a": 1 }),
        ),
        (
            "dependentSchemas",
            json!({ "properties": { "a": {} }, "dependentSchemas": { "a": { "minProperties": 2 } } }),
            json!({ "a": 1 }),
        ),
        (
            "dependencies",
            json!({ "properties": { "a": {} }, "dependencies": { "a": ["b"] } }),
            json!({ "a": 1 }),
        ),
        (
            "unevaluatedItems",
            json!({ "prefixItems": [{}], "unevaluatedItems": false }),
            json!([1, 2]),
        ),
        (
            "unevaluatedProperties",
            json!({ "unevaluatedProperties": false }),
            json!({ "a": 1 }),
        ),
        ("$dynamicRef", json!({ "$dynamicRef": "#node" }), json!(1)),
    ]
}

#[test]
fn listed_keywords_are_not_enforced() {
    for (keyword, schema, value) in rows() {
        let schema = json!({ "type": "object", "properties": { "x": schema } });
        let registry = dynamic_tool::registry(&schema);
        let request = dynamic_tool::prepare(&registry, json!({ "x": value }).to_string(), Policy::Strict);
        assert!(request.errors.is_empty(), "{keyword}: {:?}", request.errors);
    }
}

#[test]
fn document_lists_the_keywords_that_are_not_enforced() {
    let document = include_str!("../../docs/coercion.md");
    let (_, list) = document.split_once("Not enforced are ").expect("a list");
    let (list, _) = list.split_once(';').expect("its end");
    let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
    let known: Vec<_> = rows().into_iter().map(|(keyword, ..)| keyword).collect();
    assert_eq!(listed, known);
}
