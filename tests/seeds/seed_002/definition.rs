//! `input_schema`.

use serde_json::{Value, json};
use tool_runtime::RegistryError;

use super::{registry, search_files};

fn definition() -> Value {
    serde_json::to_value(registry().get_tool("search_files").unwrap().definition()).unwrap()
}

#[test]
fn definition_input_schema() {
    let schema = &definition()["input_schema"];
    assert_eq!(schema["type"], "object");
    for (name, property) in schema["properties"].as_object().unwrap() {
        assert!(property["description"].is_string(), "{name}");
        assert!(property["type"].is_string(), "{name}");
    }
    for name in schema["required"].as_array().unwrap() {
        assert!(
            schema["properties"].get(name.as_str().unwrap()).is_some(),
            "{name}"
        );
    }
}

#[test]
fn definition_search_files() {
    let expected = json!({
        "name": "search_files",
        "description": "在工作区中搜索文件",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "要搜索的 glob 模式" },
                "caseSensitive": { "type": "boolean", "description": "是否区分大小写" },
                "maxResults": { "type": "integer", "description": "返回的最大结果数" }
            },
            "required": ["pattern"]
        }
    });
    assert_eq!(definition(), expected);
    let order = |definition: &Value| -> Vec<String> {
        definition["input_schema"]["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(order(&definition()), order(&expected));
}

#[test]
fn definition_no_overloads() {
    let mut registry = registry();
    let refused = registry.register::<search_files>();
    assert!(
        matches!(refused, Err(RegistryError::Duplicate { .. })),
        "{refused:?}"
    );
    assert_eq!(registry.tool_definitions().len(), 1);
}
