//! Processes: groups, environment, stop, and end.

use std::time::Duration;

use tool_mcp::McpClient;
use tool_runtime::serde_json::{Value, from_str, json};

use crate::support::{call_text, peer, peer_in_shell, pid, wait_for_end};

#[tokio::test]
async fn a_server_receives_no_other_variables_than_the_allowed_and_the_configured_ones() {
    // The test runner sets variables of cargo, which a server must not receive.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let client = peer(&json!({}))
        .env("LOG", "1")
        .env_from("CARGO_PKG_NAME")
        .connect()
        .await
        .unwrap();
    let variables: Value = from_str(&call_text(&client, "variables", &Value::Null).await).unwrap();
    assert_eq!(
        (&variables["LOG"], &variables["CARGO_PKG_NAME"]),
        (&json!("1"), &json!("tool-mcp"))
    );
    assert!(variables["PATH"].is_string());
    assert_eq!(variables["CARGO_MANIFEST_DIR"], Value::Null);
}

#[tokio::test]
async fn a_missing_variable_is_an_error() {
    let error = peer(&json!({}))
        .env_from("NO_SUCH_VARIABLE")
        .connect()
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("MCP server `peer`: cannot start"), "{text}");
    assert!(
        text.ends_with("missing environment variable `NO_SUCH_VARIABLE`"),
        "{text}"
    );
}

#[tokio::test]
async fn a_missing_program_or_folder_is_an_error() {
    let error = McpClient::command("/no/such/program")
        .connect()
        .await
        .unwrap_err();
    assert_eq!(error.server(), "program");
    for (command, wanted) in [
        (
            McpClient::command("/no/such/program"),
            "cannot start `/no/such/program`: unknown program; expected a path, or a name in `PATH`",
        ),
        (
            McpClient::command("uvx mcp-server-git"),
            "cannot start `uvx mcp-server-git`: unknown program; expected its name or path alone, and its arguments separately",
        ),
        (
            McpClient::command("sh").current_dir("/no/such/folder"),
            "cannot start `sh`: missing folder /no/such/folder",
        ),
    ] {
        assert_eq!(command.connect().await.unwrap_err().fact(), wanted);
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_and_sigterm_is_killed() {
    let client = peer_in_shell("trap '' TERM", &json!({ "deaf": true }))
        .connect()
        .await
        .unwrap();
    let pid = pid(&client).await;
    client.stop().await;
    wait_for_end(pid).await;
}

/// A wrapper such as `npx` starts the server as another process.
#[tokio::test]
async fn processes_that_a_server_has_started_end_with_the_client() {
    let client = peer_in_shell(
        "trap '' TERM; sleep 3600 & export CHILD=$!; trap - TERM",
        &json!({}),
    )
    .connect()
    .await
    .unwrap();
    let variables: Value = from_str(&call_text(&client, "variables", &Value::Null).await).unwrap();
    let child = variables["CHILD"].as_str().unwrap().parse().unwrap();
    client.stop().await;
    wait_for_end(child).await;
}

#[tokio::test]
async fn processes_that_a_server_has_started_end_with_the_server() {
    let client = peer_in_shell("sleep 3600 & export CHILD=$!", &json!({}))
        .connect()
        .await
        .unwrap();
    let variables: Value = from_str(&call_text(&client, "variables", &Value::Null).await).unwrap();
    let child = variables["CHILD"].as_str().unwrap().parse().unwrap();
    call_text(&client, "exit", &Value::Null).await;
    wait_for_end(child).await;
}

/// A host may no longer wait for the start.
#[tokio::test]
async fn a_dropped_start_ends_the_processes() {
    let file = std::env::temp_dir().join(format!("tool-mcp-pids-{}", std::process::id()));
    let commands = format!(
        "sleep 3600 & echo $$ $! > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 3600",
        file.display()
    );
    let connect = peer_in_shell(&commands, &json!({})).connect();
    let pids = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        std::fs::read_to_string(&file).unwrap()
    };
    let pids = tokio::select! {
        _ = connect => panic!("the server is silent"),
        pids = pids => pids,
    };
    std::fs::remove_file(&file).unwrap();
    for pid in pids.split_whitespace() {
        wait_for_end(pid.parse().unwrap()).await;
    }
}

/// A host may end its runtime without stopping the client.
#[test]
fn the_end_of_the_runtime_ends_the_processes() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = runtime
        .block_on(peer_in_shell("sleep 3600 & export CHILD=$!", &json!({})).connect())
        .unwrap();
    let variables = runtime.block_on(call_text(&client, "variables", &Value::Null));
    let variables: Value = from_str(&variables).unwrap();
    let child = variables["CHILD"].as_str().unwrap().parse().unwrap();
    let pid = runtime.block_on(pid(&client));
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        wait_for_end(child).await;
        // The server itself was killed, but no runtime is left that waits for it: at most a zombie remains.
        wait_for_end(pid).await;
    });
}
