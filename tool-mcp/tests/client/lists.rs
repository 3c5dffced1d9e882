//! Lists of tools: pages, caps, tools that are left out, and changes.

use tool_mcp::{LeftOutReason, McpClient};
use tool_runtime::ToolRegistry;
use tool_runtime::serde_json::{Value, json};

use crate::peer::discovered;
use crate::support::{call_text, methods, peer};

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn names(client: &McpClient) -> Vec<String> {
    client
        .definitions()
        .into_iter()
        .map(|definition| definition.name)
        .collect()
}

#[tokio::test]
async fn all_pages_are_read() {
    let pages = json!({
        "": { "tools": [tool("a")], "nextCursor": "2" },
        "2": { "tools": [], "nextCursor": "3" },
        "3": { "tools": [tool("b")], "nextCursor": null }
    });
    let client = peer(&json!({ "pages": pages })).connect().await.unwrap();
    assert_eq!(names(&client), ["a", "b"]);
}

#[tokio::test]
async fn a_repeated_cursor_ends_the_list() {
    let pages = json!({
        "": { "tools": [tool("a")], "nextCursor": "2" },
        "2": { "tools": [tool("b")], "nextCursor": "2" }
    });
    let client = peer(&json!({ "pages": pages })).connect().await.unwrap();
    assert_eq!(names(&client), ["a", "b"]);
    assert!(client.left_out().is_empty());
}

#[tokio::test]
async fn a_list_without_an_end_is_read_up_to_a_hundred_pages() {
    let client = peer(&json!({ "endless": true })).connect().await.unwrap();
    assert_eq!(client.definitions().len(), 100);
}

#[tokio::test]
async fn the_number_of_tools_has_a_cap() {
    let client = peer(&json!({ "endless": true }))
        .max_tools(7)
        .connect()
        .await
        .unwrap();
    assert_eq!(client.definitions().len(), 7);
    assert_eq!(client.left_out().len(), 93);
}

#[tokio::test]
async fn one_unusable_tool_does_not_take_the_others_away() {
    let tools = json!([
        tool("a"),
        { "name": "null", "inputSchema": null },
        { "name": "wrong", "inputSchema": { "properties": { "x": { "type": "intger" } } } },
        { "name": "remote", "inputSchema": { "$ref": "https://example.org" } },
        tool("a"),
        "text",
        tool("b")
    ]);
    let client = peer(&json!({ "pages": { "": { "tools": tools } } }))
        .connect()
        .await
        .unwrap();
    assert_eq!(names(&client), ["a", "b"]);
    let left_out: Vec<_> = client
        .left_out()
        .iter()
        .map(|left_out| left_out.tool.clone())
        .collect();
    assert_eq!(left_out, ["null", "wrong", "remote", "a", ""]);
    assert_eq!(client.left_out()[3].reason, LeftOutReason::Duplicate);
    let text = client.left_out()[1].to_string();
    assert!(
        text.starts_with("wrong: the schema of `wrong` is invalid"),
        "{text}"
    );
}

#[tokio::test]
async fn a_server_without_tools_is_connected() {
    let client = peer(&json!({ "pages": { "": { "tools": [] } } }))
        .connect()
        .await
        .unwrap();
    assert!(client.definitions().is_empty());
}

#[tokio::test]
async fn an_invalid_list_is_an_error() {
    let error = peer(&json!({ "pages": { "": { "tools": 1 } } }))
        .connect()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "MCP server `peer`: invalid answer to `tools/list`; expected `tools`"
    );
}

#[tokio::test]
async fn a_list_above_the_limit_of_a_message_is_an_error() {
    let tools = json!([{ "name": "a", "inputSchema": {}, "description": "x".repeat(100_000) }]);
    let command = peer(&json!({ "pages": { "": { "tools": tools } } })).max_message_bytes(50_000);
    let error = command.connect().await.unwrap_err();
    assert!(
        error
            .fact()
            .starts_with("`tools/list` failed: message above the limit"),
        "{error}"
    );
}

/// A change is a refresh a second later. Servers without a handshake are asked for it.
#[tokio::test]
async fn a_changed_list_is_read_again() {
    for discover in [json!(null), changes(discovered(&["2026-07-28"]))] {
        let mut client = peer(&json!({ "discover": discover })).connect().await.unwrap();
        let is_modern = !discover.is_null();
        let page = json!({ "tools": [tool("a"), tool("received"), tool("set_page")] });
        call_text(&client, "set_page", &json!({ "page": page })).await;
        assert!(client.changed().await);
        assert_eq!(names(&client), ["a", "received", "set_page"]);
        let methods = methods(&client).await;
        assert_eq!(methods.contains(&"subscriptions/listen".to_owned()), is_modern);

        let mut registry = ToolRegistry::new();
        registry.nest("peer", client.registry()).unwrap();
        assert_eq!(registry.tool_definitions().len(), 3);
        client.stop().await;
        assert!(!client.changed().await);
    }
}

fn changes(mut discovered: Value) -> Value {
    discovered["result"]["capabilities"]["tools"]["listChanged"] = json!(true);
    discovered
}
