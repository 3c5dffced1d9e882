//! Lists and calls of a server in either revision, and its end with the client.

use tool_mcp::McpClient;
use tool_runtime::serde_json::json;
use tool_runtime::{Context, ToolRegistry};

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

/// A model knows the names of its registry. The server's own names would lead to calls of unknown tools.
#[tokio::test]
async fn failed_calls_have_the_name_that_the_model_knows() {
    let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
    let page = json!({ "tools": [tool("brew.fast"), tool("読"), tool("echo")] });
    let client = peer(&json!({ "pages": { "": page } })).connect().await.unwrap();
    let (mut inner, mut outer) = (ToolRegistry::new(), ToolRegistry::new());
    inner
        .register_source(client.definitions(), client.handler())
        .unwrap();
    outer.nest("cafe", client.registry()).unwrap();
    client.stop().await;
    let names = |registry: &ToolRegistry| {
        let definitions = registry.tool_definitions().into_iter();
        definitions.map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    assert!(names(&inner).contains(&"brew_fast".to_owned()));
    assert!(names(&outer).contains(&"cafe__brew_fast".to_owned()));
    for registry in [inner, outer] {
        for name in names(&registry) {
            let result = registry.execute_tool("toolu_01", &name, "{}").await;
            assert_eq!(
                result.text(),
                Some(&*format!(
                    "`{name}`: the MCP server `peer` was stopped; continue without it"
                ))
            );
        }
    }
    // Without a registry, only the server's name is known.
    let called = client.handler()("echo".to_owned(), json!({}), Context::new()).await;
    assert!(format!("{called:?}").contains("`echo`: the MCP server `peer`"));
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
