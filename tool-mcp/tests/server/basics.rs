//! Lists and calls in both revisions, by this crate's client.

use tool_mcp::{McpClient, Protocol};
use tool_runtime::serde_json::json;
use tool_runtime::{ToolCall, ToolRegistry};

use crate::served::SERVED;

async fn connect(protocol: Protocol) -> McpClient {
    McpClient::command(std::env::current_exe().unwrap())
        .args(["served::serve", "--exact", "--nocapture", "--quiet"])
        .env(SERVED, "0")
        .protocol(protocol)
        .connect()
        .await
        .unwrap()
}

#[tokio::test]
async fn this_crates_client_calls_the_server_in_both_revisions() {
    for protocol in [Protocol::Auto, Protocol::Modern, Protocol::Legacy] {
        let mut client = connect(protocol).await;
        assert_eq!(client.left_out(), []);
        let definitions = client.definitions();
        assert_eq!(definitions[0].name, "add");
        assert_eq!(definitions[0].description, "Add two numbers.");
        let mut registry = ToolRegistry::new();
        registry
            .register_source(client.definitions(), client.handler())
            .unwrap();
        let add = ToolCall::new("toolu_01", "add", json!({ "left": "2", "right": 3 }));
        let outcome = registry.call(add).await;
        assert_eq!(outcome.result.text(), Some("5"), "{protocol:?}");
        let fail = registry.call(ToolCall::new("toolu_02", "fail", json!({}))).await;
        assert!(fail.result.is_error);
        assert_eq!(fail.result.text(), Some("no water"));

        // Prints and reads harm nothing.
        let print = registry.call(ToolCall::new("toolu_03", "print", json!({}))).await;
        assert_eq!(print.result.text(), Some("0"));

        registry
            .call(ToolCall::new("toolu_04", "change", json!({})))
            .await;
        assert!(client.changed().await);
        assert!(client.definitions().iter().any(|tool| tool.name == "added"));
        client.stop().await;
    }
}
