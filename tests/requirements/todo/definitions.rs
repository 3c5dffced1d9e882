//! Definitions of both tools.

use serde_json::{Value, json};

use super::definitions;

/// Removes the descriptions of a schema, whose texts are not required.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| *name != "description" || !value.is_string())
            .map(|(name, value)| (name.clone(), bare(value)))
            .collect(),
        Value::Array(items) => items.iter().map(bare).collect(),
        scalar => scalar.clone(),
    }
}

/// R-DEF-1
#[test]
fn definitions_have_a_name_a_description_and_an_object_schema() {
    for definition in definitions() {
        let keys: Vec<_> = definition
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys, ["name", "description", "input_schema"]);
        assert!(!definition["description"].as_str().unwrap().is_empty());
        assert_eq!(definition["input_schema"]["type"], "object");
    }
}

/// R-TODO-1
#[test]
fn todo_write_has_this_definition() {
    let [definition, _] = definitions();
    assert_eq!(definition["name"], "TodoWrite");
    assert_eq!(
        bare(&definition["input_schema"]),
        json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": { "type": "string", "minLength": 1 },
                            "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                            "activeForm": { "type": "string", "minLength": 1 },
                        },
                        "required": ["content", "status", "activeForm"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["todos"],
        }),
    );
    let item = &definition["input_schema"]["properties"]["todos"]["items"]["properties"];
    for field in ["content", "status", "activeForm"] {
        assert!(
            item[field]["description"].is_string(),
            "{field} has a description"
        );
    }
}

/// R-TODO-2
#[test]
fn todo_read_has_this_definition() {
    let [_, definition] = definitions();
    assert_eq!(definition["name"], "TodoRead");
    assert_eq!(
        definition["input_schema"].to_string(),
        r#"{"type":"object","properties":{}}"#
    );
}
