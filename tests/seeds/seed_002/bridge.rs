//! From the annotated function to the tool.

use serde_json::json;
use tool_runtime::{CancellationToken, Context, ToolCall};

use super::{registry, search, search_files, searched};

#[tokio::test]
async fn bridge_definition_from_function() {
    let registry = registry();
    let definition = registry.get_tool("search_files").unwrap().definition();
    assert_eq!(definition.name, "search_files");
    assert_eq!(definition.description, "在工作区中搜索文件");
    let names: Vec<_> = definition.input_schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["pattern", "caseSensitive", "maxResults"]);

    // The function is still a function.
    let by_hand = search_files("a".to_owned(), true, 100, CancellationToken::new()).await;
    assert_eq!(by_hand, Ok(searched("a", true, 100)));
}

#[tokio::test]
async fn bridge_arguments_to_parameters() {
    search(r#"{ "maxResults": 3, "pattern": "*.rs" }"#)
        .await
        .assert_json(searched("*.rs", true, 3));
}

#[tokio::test]
async fn bridge_cancellation() {
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

    // A model cannot supply what is the host's.
    search(r#"{ "pattern": "a", "cancel": true }"#)
        .await
        .assert_json(searched("a", true, 100))
        .assert_warnings(["unknown_parameter at /cancel"]);
    token.cancel();
}
