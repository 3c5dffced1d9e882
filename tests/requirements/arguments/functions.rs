//! Annotated functions: the parts that the model receives, and the function that is called.

use serde_json::{Value, json};
use tool_runtime::{CancellationToken, Context, ToolCall, testing, tool};

use super::{registry, search, search_files, searched};

/// Read a file.
#[tool(rename_all = "camelCase")]
pub(super) async fn read_file(
    /// Absolute path of the file. It must exist.
    file_path: String,
    /// The first line to read, counted from 1.
    start_line: Option<i32>,
) -> Value {
    json!([file_path, start_line])
}

/// R-DEF-3
#[tokio::test]
async fn definition_is_generated_and_the_function_stays_callable() {
    let registry = registry();
    let definition = registry.get_tool("search_files").unwrap().definition();
    assert_eq!(definition.name, "search_files");
    assert_eq!(definition.description, "Search the workspace for files.");
    let names: Vec<_> = definition.input_schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["pattern", "caseSensitive", "maxResults"]);

    let by_hand = search_files("a".to_owned(), true, 100, CancellationToken::new()).await;
    assert_eq!(by_hand, Ok(searched("a", true, 100)));
}

/// R-DEF-12
#[tokio::test]
async fn cancellation_token_comes_from_the_host() {
    let registry = registry();
    let schema = registry
        .get_tool("search_files")
        .unwrap()
        .definition()
        .input_schema
        .to_string();
    assert!(!schema.contains("cancel"), "{schema}");
    let token = CancellationToken::new();
    let context = Context::new().with_cancellation(token.clone());
    let call = ToolCall::new("toolu_1", "search_files", json!({ "pattern": "a" })).with_context(context);
    let outcome = registry.call(call).await;
    assert_eq!(
        outcome.result.text().unwrap(),
        searched("a", true, 100).to_string()
    );

    // The model cannot send such a value, which the function checks.
    search(r#"{ "pattern": "a", "cancel": true }"#)
        .await
        .assert_json(searched("a", true, 100))
        .assert_warnings(["unknown_parameter at /cancel"]);
    token.cancel();
}

/// R-ARG-4, R-COE-5
#[tokio::test]
async fn optional_parameter_may_be_omitted() {
    testing::run::<read_file>(r#"{"filePath":"/a"}"#)
        .await
        .assert_text(r#"["/a",null]"#)
        .assert_no_warnings();
    testing::run::<read_file>(r#"{"filePath":"/a","startLine":"5"}"#)
        .await
        .assert_text(r#"["/a",5]"#)
        .assert_warnings(["string_literal_converted_to_integer at /startLine"]);
}

/// R-ARG-14
#[tokio::test]
async fn function_reports_its_own_constraints() {
    for out_of_range in [0, -1, 10_001] {
        search(json!({ "pattern": "a", "maxResults": out_of_range }))
            .await
            .assert_error("maxResults_out_of_range: maxResults must be between 1 and 10000");
    }
}
