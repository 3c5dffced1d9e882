//! Commands that start the scripted server, calls, and the end of processes.

use std::time::Duration;

use tool_mcp::{McpClient, McpCommand};
use tool_runtime::serde_json::{Value, from_str};
use tool_runtime::{ToolCall, ToolOutcome, ToolRegistry};

use crate::peer::SCRIPT;

/// Returns a command for the scripted server.
pub(crate) fn peer(script: &Value) -> McpCommand {
    McpClient::command(std::env::current_exe().unwrap())
        .args(["peer::serve", "--exact", "--nocapture", "--quiet"])
        .env(SCRIPT, script.to_string())
        .name("peer")
}

/// Returns a command for the scripted server, which a shell starts after `commands`.
pub(crate) fn peer_in_shell(commands: &str, script: &Value) -> McpCommand {
    McpClient::command("sh")
        .arg("-c")
        .arg(format!(
            "{commands}\nexec \"$0\" peer::serve --exact --nocapture --quiet"
        ))
        .arg(std::env::current_exe().unwrap())
        .env(SCRIPT, script.to_string())
        .name("peer")
}

/// Returns a registry with the tools of a server.
pub(crate) fn registry(client: &McpClient) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry
        .register_source(client.definitions(), client.handler())
        .unwrap();
    registry
}

/// Calls a tool, and returns the outcome.
pub(crate) async fn call(client: &McpClient, name: &str, arguments: &Value) -> ToolOutcome {
    registry(client)
        .call(ToolCall::new("toolu_01", name, arguments))
        .await
}

/// Calls a tool, and returns the text of its result.
pub(crate) async fn call_text(client: &McpClient, name: &str, arguments: &Value) -> String {
    call(client, name, arguments)
        .await
        .result
        .text()
        .unwrap()
        .to_owned()
}

/// Returns the messages that the server has received.
pub(crate) async fn received(client: &McpClient) -> Vec<Value> {
    from_str(&call_text(client, "received", &Value::Null).await).unwrap()
}

/// Returns the methods that the server has received.
pub(crate) async fn methods(client: &McpClient) -> Vec<String> {
    let received = received(client).await;
    received
        .iter()
        .map(|message| message["method"].as_str().unwrap_or("answer").to_owned())
        .collect()
}

/// Waits until the server has received a message with this method.
pub(crate) async fn wait_for_method(client: &McpClient, method: &str) {
    while !methods(client).await.iter().any(|found| found == method) {
        tokio::task::yield_now().await;
    }
}

/// Returns whether a process exists and is no zombie.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Waits until a process has ended. The test runner's limit ends a test that waits forever.
pub(crate) async fn wait_for_end(pid: u32) {
    while is_running(pid) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the process id of a server.
pub(crate) async fn pid(client: &McpClient) -> u32 {
    let pid = call_text(client, "pid", &Value::Null).await.parse().unwrap();
    assert!(is_running(pid));
    pid
}
