//! Servers that others wrote: of `PyPI` (a modern one) and of npm (with `initialize`).
//!
//! See `installed.rs` for the environment. Further servers than in `tests/sdks/` are tested with `MCP_PEERS=1`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tool_mcp::{McpClient, McpCommand};
use tool_runtime::ToolRegistry;
use tool_runtime::serde_json::{Value, json, to_value};

use crate::installed::{node_module, optional, python, python_program};
use crate::support::{call, call_text};

/// Returns a program of a package of npm, or `None` with a message.
fn node_program(name: &str) -> Option<PathBuf> {
    node_module(&format!(".bin/{name}"))
}

/// Connects to a server, checks its tools, and returns the client.
async fn connect(command: McpCommand, wanted: &[&str]) -> McpClient {
    let client = command
        .start_timeout(Duration::from_secs(120))
        .connect()
        .await
        .unwrap();
    assert_eq!(client.left_out(), []);
    let names: Vec<_> = client
        .definitions()
        .into_iter()
        .map(|definition| definition.name)
        .collect();
    for name in wanted {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
    let mut registry = ToolRegistry::new();
    registry.nest("server", client.registry()).unwrap();
    assert_eq!(registry.tool_definitions().len(), names.len());
    client
}

/// Ends a client, which takes no longer than the end of its input.
async fn stop(client: McpClient) {
    let start = std::time::Instant::now();
    client.stop().await;
    eprintln!("{} ended in {:?}", client.name(), start.elapsed());
}

#[tokio::test]
async fn time() {
    let Some(program) = python_program("mcp-server-time") else {
        return;
    };
    let client = connect(McpClient::command(program), &["get_current_time", "convert_time"]).await;
    let text = call_text(&client, "get_current_time", &json!({ "timezone": "UTC" })).await;
    assert!(text.contains("\"timezone\": \"UTC\""), "{text}");
    let outcome = call(
        &client,
        "get_current_time",
        &json!({ "timezone": "Nowhere/None" }),
    )
    .await;
    assert!(outcome.result.is_error);
    assert!(
        outcome.result.text().unwrap().contains("Nowhere/None"),
        "{:?}",
        outcome.result
    );
    stop(client).await;
}

#[tokio::test]
async fn everything() {
    let Some(program) = node_program("mcp-server-everything") else {
        return;
    };
    let client = connect(McpClient::command(program), &["echo", "get-sum"]).await;
    let text = call_text(&client, "echo", &json!({ "message": "hello" })).await;
    assert_eq!(text, "Echo: hello");
    let text = call_text(&client, "get-sum", &json!({ "a": "2", "b": 3 })).await;
    assert!(text.contains('5'), "{text}");
    let outcome = call(&client, "get-tiny-image", &json!({})).await;
    let content = to_value(&outcome.result.content).unwrap();
    let kinds: Vec<_> = content
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["type"])
        .collect();
    assert!(kinds.contains(&&json!("image")), "{content}");
    let outcome = call(
        &client,
        "trigger-long-running-operation",
        &json!({ "duration": 1, "steps": 2 }),
    )
    .await;
    assert!(!outcome.result.is_error, "{:?}", outcome.result);
    stop(client).await;
}

#[tokio::test]
async fn git() {
    let Some(program) = optional(|| python_program("mcp-server-git")) else {
        return;
    };
    let client = connect(McpClient::command(program), &["git_status", "git_log"]).await;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = call_text(&client, "git_status", &json!({ "repo_path": repository })).await;
    assert!(text.starts_with("Repository status:"), "{text}");
    stop(client).await;
}

#[tokio::test]
async fn fetch() {
    let Some(program) = optional(|| python_program("mcp-server-fetch")) else {
        return;
    };
    let client = connect(McpClient::command(program), &["fetch"]).await;
    let outcome = call(&client, "fetch", &json!({ "url": "http://127.0.0.1:9/" })).await;
    assert!(outcome.result.is_error);
    stop(client).await;
}

#[tokio::test]
async fn fastmcp() {
    let Some(python) = optional(python) else {
        return;
    };
    let source = "
from fastmcp import FastMCP, Context
server = FastMCP('own')
@server.tool
async def count(to: int, context: Context) -> int:
    for done in range(to):
        await context.report_progress(done, to)
    return to
server.run(show_banner=False)
";
    let client = connect(McpClient::command(python).args(["-c", source]), &["count"]).await;
    let outcome = call(&client, "count", &json!({ "to": "3" })).await;
    assert_eq!(outcome.result.text(), Some("3"));
    assert_eq!(
        outcome.result.structured.as_deref(),
        Some(&json!({ "result": 3 }))
    );
    stop(client).await;
}

#[tokio::test]
async fn filesystem() {
    let Some(program) = optional(|| node_program("mcp-server-filesystem")) else {
        return;
    };
    let folder = std::path::absolute(env!("CARGO_MANIFEST_DIR")).unwrap();
    let client = connect(McpClient::command(program).arg(&folder), &["read_text_file"]).await;
    let arguments = json!({ "path": folder.join("Cargo.toml"), "head": "2" });
    let text = call_text(&client, "read_text_file", &arguments).await;
    assert!(text.starts_with("[package]"), "{text}");
    stop(client).await;
}

#[tokio::test]
async fn memory() {
    let Some(program) = optional(|| node_program("mcp-server-memory")) else {
        return;
    };
    let file = std::env::temp_dir().join(format!("tool-mcp-memory-{}.json", std::process::id()));
    let client = connect(
        McpClient::command(program).env("MEMORY_FILE_PATH", &file),
        &["create_entities"],
    )
    .await;
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["reads"] });
    call_text(&client, "create_entities", &json!({ "entities": [entity] })).await;
    let text = call_text(&client, "read_graph", &Value::Null).await;
    assert!(text.contains("Ada"), "{text}");
    stop(client).await;
    std::fs::remove_file(file).unwrap();
}
