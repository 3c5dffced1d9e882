//! Cardinality (Single, Optional, List, Map) and enums.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{ToolRegistry, testing, tool};

/// Take one of each.
#[tool]
async fn cardinalities(
    /// One.
    single: i64,
    /// One or none.
    optional: Option<i64>,
    /// Any number.
    #[arg(default = Vec::new())]
    list: Vec<i64>,
    /// Any number, with names.
    #[arg(default = BTreeMap::new())]
    map: BTreeMap<String, i64>,
) -> Value {
    json!([single, optional, list, map])
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Read,
    Write,
    Append,
}

/// Open a file.
#[tool]
async fn open(
    /// 文件打开模式
    mode: Mode,
) -> Mode {
    mode
}

/// Open a file, and be strict about it.
#[tool]
async fn open_exactly(
    /// 文件打开模式
    #[arg(case_sensitive)]
    mode: Mode,
) -> Mode {
    mode
}

#[tokio::test]
async fn cardinality_single() {
    testing::run::<cardinalities>(r#"{"single":1}"#)
        .await
        .assert_text("[1,null,[],{}]")
        .assert_silent();
    testing::run::<cardinalities>(r#"{"single":[1]}"#)
        .await
        .assert_refused(["unsupported_integer_literal at /single"]);
}

#[tokio::test]
async fn cardinality_optional() {
    for (sent, expected) in [("null", "[1,null,[],{}]"), ("2", "[1,2,[],{}]")] {
        testing::run::<cardinalities>(format!(r#"{{"single":1,"optional":{sent}}}"#))
            .await
            .assert_text(expected)
            .assert_silent();
    }
}

#[tokio::test]
async fn cardinality_list() {
    testing::run::<cardinalities>(r#"{"single":1,"list":[1,2]}"#)
        .await
        .assert_text("[1,null,[1,2],{}]")
        .assert_silent();
    testing::run::<cardinalities>(r#"{"single":1,"list":"7"}"#)
        .await
        .assert_text("[1,null,[7],{}]")
        .assert_warnings([
            "scalar_coerced_to_list at /list",
            "string_literal_converted_to_integer at /list/0",
        ]);
    testing::run::<cardinalities>(r#"{"single":1,"list":[1,"x",3]}"#)
        .await
        .assert_refused(["unsupported_integer_literal at /list/1"]);
}

#[tokio::test]
async fn cardinality_map() {
    testing::run::<cardinalities>(r#"{"single":1,"map":{"a":1,"b":"2"}}"#)
        .await
        .assert_text(r#"[1,null,[],{"a":1,"b":2}]"#)
        .assert_warnings(["string_literal_converted_to_integer at /map/b"]);
}

#[test]
fn enum_schema() {
    let mut registry = ToolRegistry::new();
    registry.register::<open>().unwrap();
    assert_eq!(
        registry.get_tool("open").unwrap().definition().input_schema["properties"]["mode"],
        json!({ "type": "string", "enum": ["read", "write", "append"], "description": "文件打开模式" }),
    );
}

#[tokio::test]
async fn enum_case_insensitive() {
    testing::run::<open>(r#"{"mode":"write"}"#)
        .await
        .assert_text("\"write\"")
        .assert_silent();
    for sent in ["WRITE", "Write", " write "] {
        testing::run::<open>(json!({ "mode": sent }))
            .await
            .assert_text("\"write\"")
            .assert_warnings(["enum_case_normalized at /mode"]);
    }
}

#[tokio::test]
async fn enum_case_sensitive() {
    testing::run::<open_exactly>(r#"{"mode":"write"}"#)
        .await
        .assert_text("\"write\"")
        .assert_silent();
    testing::run::<open_exactly>(r#"{"mode":"WRITE"}"#)
        .await
        .assert_refused(["enum_out_of_range at /mode"]);
}
