//! Keywords that are not enforced, as listed in `docs/coercion.md`.

use serde_json::{Value, json};
use tests::dynamic_tool;
use tool_runtime::Policy;

/// Returns keywords, each with a schema, and a value that violates the keyword.
fn rows() -> Vec<(&'static str, Value, Value)> {
    vec![("$dynamicRef", json!({ "$dynamicRef": "#node" }), json!(1))]
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
    let (_, list) = document.split_once("Not enforced is ").expect("a list");
    let (list, _) = list.split_once(';').expect("its end");
    let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
    let known: Vec<_> = rows().into_iter().map(|(keyword, ..)| keyword).collect();
    assert_eq!(listed, known);
}
