//! Lists and calls of a server in either revision, and its end with the client.

use tool_mcp::McpClient;
use tool_runtime::ToolRegistry;
use tool_runtime::serde_json::json;

use crate::peer::discovered;
use crate::support::{call_text, methods, peer, pid, registry, wait_for_end};

#[tokio::test]
async fn calls_a_tool_of_a_server() {
    let client = peer(&json!({})).connect().await.unwrap();
    let mut registry = ToolRegistry::new();
    registry
        .register_source(client.definitions(), client.handler())
        .unwrap();
    let result = registry.execute_tool("toolu_01", "echo", r#"{ "a": 1 }"#).await;
    assert_eq!(result.text(), Some(r#"{"a":1}"#));

    let pid = pid(&client).await;
    client.stop().await;
    wait_for_end(pid).await;
    let result = registry.execute_tool("toolu_02", "echo", "{}").await;
    assert_eq!(
        result.text(),
        Some("`echo`: the MCP server `peer` was stopped; continue without it")
    );
}

#[tokio::test]
async fn nested_registries_have_the_tools_under_a_prefix() {
    let client = peer(&json!({})).connect().await.unwrap();
    let mut registry = ToolRegistry::new();
    registry.nest("peer", client.registry()).unwrap();
    let result = registry
        .execute_tool("toolu_01", "peer__echo", r#"{ "a": 1 }"#)
        .await;
    assert_eq!(result.text(), Some(r#"{"a":1}"#));
    assert_eq!(client.name(), "peer");
}

#[tokio::test]
async fn the_last_clone_ends_the_process() {
    let client = peer(&json!({})).connect().await.unwrap();
    let pid = pid(&client).await;
    let registry = registry(&client);
    let clone: McpClient = client.clone();
    drop(client);
    assert_eq!(call_text(&clone, "echo", &json!({})).await, "{}");
    drop(clone);
    let result = registry.execute_tool("toolu_01", "echo", "{}").await;
    assert_eq!(result.text(), Some("{}"), "the handler is a clone, too");
    drop(registry);
    wait_for_end(pid).await;
}

#[tokio::test]
async fn modern_servers_need_no_handshake() {
    let client = peer(&json!({ "discover": discovered(&["2026-07-28"]) }))
        .connect()
        .await
        .unwrap();
    assert_eq!(
        methods(&client).await,
        ["server/discover", "tools/list", "tools/call"]
    );
}
