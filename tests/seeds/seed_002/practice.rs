//! Best practices.

use serde_json::{Value, json};
use tool_runtime::{ToolDefinition, ToolRegistry, testing, tool};

use super::search;

/// 读取文件
#[tool(rename_all = "camelCase")]
async fn read_file(
    /// 要读取的文件的绝对路径。必须是已存在的文件。
    file_path: String,
    /// 起始行号（从 1 开始）
    start_line: Option<i32>,
) -> Value {
    json!([file_path, start_line])
}

#[tokio::test]
async fn practice_simple_parameters() {
    testing::run::<read_file>(r#"{"filePath":"/a"}"#)
        .await
        .assert_text(r#"["/a",null]"#)
        .assert_silent();
    testing::run::<read_file>(r#"{"filePath":"/a","startLine":"5"}"#)
        .await
        .assert_text(r#"["/a",5]"#)
        .assert_warnings(["string_literal_converted_to_integer at /startLine"]);
}

#[test]
fn practice_description_required() {
    // Of a function without one the compiler says so; here is what comes of those that are written.
    let mut registry = ToolRegistry::new();
    registry.register::<read_file>().unwrap();
    let schema = &registry.get_tool("read_file").unwrap().definition().input_schema;
    assert_eq!(
        *schema,
        json!({
            "type": "object",
            "properties": {
                "filePath": { "type": "string", "description": "要读取的文件的绝对路径。必须是已存在的文件。" },
                "startLine": { "type": "integer", "description": "起始行号（从 1 开始）" },
            },
            "required": ["filePath"],
        }),
    );
    let sent = ToolDefinition::new("remote", "From a server.", schema.clone());
    registry
        .register_dynamic(sent.clone(), async |input, _| input)
        .unwrap();
    assert_eq!(*registry.get_tool("remote").unwrap().definition(), sent);
}

#[tokio::test]
async fn practice_constraint_in_function() {
    for out_of_range in [0, -1, 10_001] {
        search(json!({ "pattern": "a", "maxResults": out_of_range }))
            .await
            .assert_error("maxResults_out_of_range: maxResults must be between 1 and 10000");
    }
}
