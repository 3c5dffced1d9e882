//! F-003: the definitions.

use serde_json::{Value, json};

use super::definitions;

/// The schema without its descriptions, which the seed leaves open.
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

#[test]
fn f_003_schema_definition() {
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
        let again = definitions().map(|definition| definition.to_string());
        assert!(
            again.contains(&definition.to_string()),
            "byte-identical on every run"
        );
    }
}

#[test]
fn f_003_schema_todo_write() {
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

#[test]
fn f_003_schema_todo_read() {
    let [_, definition] = definitions();
    assert_eq!(definition["name"], "TodoRead");
    assert_eq!(
        definition["input_schema"].to_string(),
        r#"{"type":"object","properties":{}}"#
    );
}
