//! [`FlatSchema`]: a schema of arguments without compositions at the root.

use serde_json::{Map, Value, json};

use super::flattener::Flattener;
use super::object::COMPOSITIONS;
use super::references;
use crate::wire::depth;

/// A schema of arguments without compositions at the root.
#[derive(Debug, PartialEq)]
pub(crate) struct FlatSchema {
    pub(crate) schema: Value,
    /// Sentences about the parameters that a call needs; empty if `required` describes them all.
    pub(crate) rules: String,
}

impl FlatSchema {
    /// Returns the flat form; `None` if the root has no composition, so the schema can be shown unchanged.
    pub(crate) fn new(root: &Value) -> Option<Self> {
        let keywords = root.as_object()?;
        if !COMPOSITIONS.iter().any(|name| keywords.contains_key(*name)) || depth::is_too_deep(root) {
            return None;
        }
        let object = Flattener::new(root).flatten(root).unwrap_or_default();
        let mut schema = Map::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), object.properties.into()),
        ]);
        if !object.required.is_empty() {
            let names = object.required.into_iter().map(|(name, _)| name);
            schema.insert("required".to_owned(), names.collect());
        }
        schema.extend(object.rest);
        let mut schema = Value::Object(schema);
        references::remove_dangling(&mut schema, root);
        references::remove_unused_definitions(&mut schema);
        Some(Self {
            schema,
            rules: object.rules.join(" "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the flat form without its type, and the rules.
    fn flat(schema: &Value) -> (Value, String) {
        let FlatSchema { mut schema, rules } = FlatSchema::new(schema).unwrap();
        let kind = schema.as_object_mut().unwrap().shift_remove("type");
        assert_eq!(kind, Some(json!("object")));
        (schema, rules)
    }

    #[test]
    fn flat_schemas_are_shown_unchanged() {
        for schema in [
            json!({ "type": "object", "properties": { "a": { "anyOf": [{ "type": "string" }, { "type": "null" }] } } }),
            json!({ "type": "object", "properties": { "anyOf": {}, "$ref": {} } }),
            json!({ "type": "object", "if": { "required": ["a"] }, "then": { "required": ["b"] } }),
            json!({}),
            json!(true),
            json!(null),
        ] {
            assert_eq!(FlatSchema::new(&schema), None, "{schema}");
        }
    }

    #[test]
    fn alternatives_become_one_object() {
        let string = json!({ "type": "string" });
        let arm =
            |name: &str| json!({ "type": "object", "properties": { name: string }, "required": [name] });
        let table = [
            (
                json!({ "anyOf": [arm("a"), arm("b")] }),
                json!({ "properties": { "a": string, "b": string } }),
                "Send `a` or `b`.",
            ),
            (
                json!({ "oneOf": [arm("a"), arm("b"), arm("c")] }),
                json!({ "properties": { "a": string, "b": string, "c": string } }),
                "Send exactly one of `a`, `b` and `c`.",
            ),
            // Properties of the root, of which the alternatives require different ones.
            (
                json!({
                    "type": "object",
                    "properties": { "id": string, "page": string, "block": string },
                    "required": ["id"],
                    "anyOf": [{ "required": ["page"] }, { "required": ["block"] }],
                    "additionalProperties": false,
                }),
                json!({
                    "properties": { "id": string, "page": string, "block": string },
                    "required": ["id"],
                    "additionalProperties": false,
                }),
                "Send `page` or `block`.",
            ),
            (
                json!({ "anyOf": [{ "required": ["a", "b", "c"] }, { "required": ["a", "d"] }, { "required": ["a", "d"] }] }),
                json!({ "properties": {}, "required": ["a"] }),
                "Send `b` and `c`, or `d`.",
            ),
            // An alternative without a required parameter allows all calls.
            (
                json!({ "anyOf": [arm("a"), { "type": "object", "properties": { "b": string } }] }),
                json!({ "properties": { "a": string, "b": string } }),
                "",
            ),
            // Alternatives that are no object.
            (
                json!({ "anyOf": [arm("a"), { "type": "null" }, { "type": ["string", "array"] }, false] }),
                json!({ "properties": { "a": string }, "required": ["a"] }),
                "",
            ),
            (json!({ "anyOf": [false] }), json!({ "properties": {} }), ""),
            (json!({ "anyOf": [true, {}] }), json!({ "properties": {} }), ""),
            (json!({ "anyOf": [] }), json!({ "properties": {} }), ""),
        ];
        for (schema, expected, rules) in table {
            assert_eq!(flat(&schema), (expected, rules.to_owned()), "{schema}");
        }
    }

    #[test]
    fn different_schemas_of_a_property_become_alternatives() {
        let arm = |schema: Value| json!({ "properties": { "x": schema }, "required": ["x"] });
        let (one, two) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        let (shown, rules) =
            flat(&json!({ "anyOf": [arm(one.clone()), arm(two.clone()), arm(one.clone())] }));
        assert_eq!(
            shown,
            json!({ "properties": { "x": { "anyOf": [one, two] } }, "required": ["x"] })
        );
        assert_eq!(rules, "");

        // The root describes the property, and the alternatives restrict it.
        let root = json!({ "type": "string", "description": "An x." });
        let restricted = |arms: Value| {
            let schema = json!({ "type": "object", "properties": { "x": root }, "anyOf": arms });
            flat(&schema).0["properties"]["x"].clone()
        };
        let [a, b] = ["a", "b"].map(|value| json!({ "const": value }));
        assert_eq!(
            restricted(json!([arm(a.clone()), arm(b.clone())])),
            json!({ "type": "string", "description": "An x.", "anyOf": [a, b] })
        );
        assert_eq!(restricted(json!([arm(a.clone()), {}])), root);
        assert_eq!(restricted(json!([arm(a.clone()), arm(json!(true))])), root);
        assert_eq!(
            restricted(json!([arm(a.clone()), { "properties": { "x": false } }])),
            json!({ "type": "string", "description": "An x.", "allOf": [a] })
        );
    }

    #[test]
    fn tags_select_the_required_parameters() {
        let arm = |kind: Value, names: &[&str]| {
            let mut required = vec!["kind"];
            required.extend(names);
            json!({ "type": "object", "properties": { "kind": kind }, "required": required })
        };
        let schema = json!({ "oneOf": [
            arm(json!({ "const": "circle" }), &["radius"]),
            arm(json!({ "enum": ["square"] }), &["side", "colour", "edge"]),
            arm(json!({ "const": "point" }), &[]),
        ] });
        let (shown, rules) = flat(&schema);
        assert_eq!(shown["required"], json!(["kind"]));
        assert_eq!(
            rules,
            r#"If `kind` is "circle", send `radius`; if `kind` is "square", send `side`, `colour` and `edge`."#
        );
    }

    #[test]
    fn all_parts_of_a_conjunction_apply() {
        let a = json!({ "type": "object", "properties": { "a": { "type": "string" }, "x": { "minimum": 1 } }, "required": ["a"] });
        let b = json!({ "properties": { "b": {}, "x": { "maximum": 5 } }, "required": ["b", "a"], "minProperties": 2 });
        let (shown, rules) = flat(&json!({ "allOf": [a, b], "description": "Both." }));
        assert_eq!(
            shown,
            json!({
                "properties": {
                    "a": { "type": "string" },
                    "x": { "minimum": 1, "allOf": [{ "maximum": 5 }] },
                    "b": {},
                },
                "required": ["a", "b"],
                "description": "Both.",
                "minProperties": 2,
            })
        );
        assert_eq!(rules, "");

        let (shown, rules) = flat(&json!({ "allOf": [
            { "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] },
            { "anyOf": [{ "required": ["c"] }, { "required": ["d"] }] },
        ] }));
        assert_eq!(shown, json!({ "properties": {} }));
        assert_eq!(rules, "Send `a` or `b`. Send `c` or `d`.");
    }

    #[test]
    fn references_are_replaced_by_their_target() {
        let (shown, rules) = flat(&json!({
            "$ref": "#/$defs/Args",
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$defs": {
                "Args": { "type": "object", "properties": { "x": { "$ref": "#/$defs/X" } }, "required": ["x"],
                    "additionalProperties": false, "description": "Arguments." },
                "X": { "type": "string" },
                "Unused": {},
            },
        }));
        assert_eq!(
            shown,
            json!({
                "properties": { "x": { "$ref": "#/$defs/X" } },
                "required": ["x"],
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$defs": { "X": { "type": "string" } },
                "additionalProperties": false,
                "description": "Arguments.",
            })
        );
        assert_eq!(rules, "");

        // A recursive definition is kept.
        let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/definitions/Node" } } });
        let (shown, _) = flat(&json!({ "$ref": "#/definitions/Node", "definitions": { "Node": node } }));
        assert_eq!(shown["properties"], node["properties"]);
        assert_eq!(shown["definitions"]["Node"], node);
    }

    #[test]
    fn references_into_replaced_keywords_allow_any_value() {
        let (shown, _) = flat(&json!({ "anyOf": [
            { "properties": { "a": { "type": "string" } } },
            { "properties": { "b": { "$ref": "#/anyOf/0/properties/a", "description": "B." }, "c": { "$ref": "#" } } },
        ] }));
        assert_eq!(
            shown["properties"],
            json!({ "a": { "type": "string" }, "b": { "description": "B." }, "c": { "$ref": "#" } })
        );
    }

    #[test]
    fn recursion_and_repetition_end() {
        let (shown, _) = flat(&json!({ "$ref": "#" }));
        assert_eq!(shown, json!({ "properties": {} }));
        let (shown, _) = flat(&json!({ "$ref": "#/$defs/A", "$defs": {
            "A": { "anyOf": [{ "$ref": "#/$defs/B" }, { "properties": { "a": {} } }] },
            "B": { "allOf": [{ "$ref": "#/$defs/A" }, { "properties": { "b": {} } }] },
        } }));
        assert_eq!(shown, json!({ "properties": { "b": {}, "a": {} } }));

        // 2^60 alternatives.
        let mut definitions = Map::new();
        for index in 0..60 {
            let next = json!({ "$ref": format!("#/$defs/D{}", index + 1) });
            definitions.insert(format!("D{index}"), json!({ "anyOf": [next, next] }));
        }
        definitions.insert("D60".to_owned(), json!({ "properties": { "a": {} } }));
        assert!(FlatSchema::new(&json!({ "$ref": "#/$defs/D0", "$defs": definitions })).is_some());
    }

    #[test]
    fn many_alternatives_have_no_sentence() {
        let arms: Vec<Value> = (0..100)
            .map(|index| json!({ "required": [format!("p{index}")] }))
            .collect();
        let (_, rules) = flat(&json!({ "anyOf": arms }));
        assert_eq!(rules, "");
    }
}
