//! The definitions that the seeds spell out, field for field.

use serde_json::{Value, json};
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::Deserialize;
use tool_runtime::tool;

use crate::declared::registered;

/// 在工作区中搜索文件
#[tool(rename_all = "camelCase")]
async fn search_files(
    /// 要搜索的 glob 模式
    pattern: String,
    /// 是否区分大小写
    #[arg(default = true)]
    case_sensitive: bool,
    /// 返回的最大结果数
    #[arg(default = 100)]
    max_results: i64,
) {
    let _ = (pattern, case_sensitive, max_results);
}

/// Seed 002, "Anthropic Tool 参数".
#[test]
fn search_files_is_seed_002s() {
    let expected = json!({
        "name": "search_files",
        "description": "在工作区中搜索文件",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "要搜索的 glob 模式" },
                "caseSensitive": { "type": "boolean", "description": "是否区分大小写" },
                "maxResults": { "type": "integer", "description": "返回的最大结果数" },
            },
            "required": ["pattern"],
        },
    });
    let definition = serde_json::to_string_pretty(&registered::<search_files>()).unwrap();
    assert_eq!(definition, serde_json::to_string_pretty(&expected).unwrap());
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Todo {
    /// What to do.
    #[schemars(length(min = 1), extend("x-not-blank" = true))]
    content: String,
    /// How far it is.
    status: Status,
    /// The same while it is being done.
    #[schemars(length(min = 1), extend("x-not-blank" = true))]
    active_form: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

/// Write the whole list.
#[tool(name = "TodoWrite")]
async fn todo_write(
    /// The list.
    #[arg(strict)]
    todos: Vec<Todo>,
) {
    let _ = todos;
}

/// Read the whole list.
#[tool(name = "TodoRead")]
async fn todo_read() {}

/// Seed 000, F-003.
#[test]
fn the_todo_tools_are_seed_000s() {
    let write = registered::<todo_write>();
    assert_eq!(write.name, "TodoWrite");
    let expected = json!({
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
    });
    let mut silent = write.input_schema.clone();
    silence(&mut silent);
    assert_eq!(silent.to_string(), expected.to_string());
    assert_eq!(
        write
            .input_schema
            .pointer("/properties/todos/items/properties/content/description"),
        Some(&json!("What to do. Must not be blank.")),
    );

    let read = registered::<todo_read>();
    assert_eq!(read.name, "TodoRead");
    assert_eq!(
        read.input_schema.to_string(),
        r#"{"type":"object","properties":{}}"#
    );
}

/// Takes the descriptions out: the seed leaves them to us.
fn silence(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(silence);
        }
        Value::Array(items) => items.iter_mut().for_each(silence),
        _ => {}
    }
}
