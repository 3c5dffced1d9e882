//! The official conformance suite, in both revisions, against the client over HTTP. The suite starts this program once for each scenario.
//!
//! See `real_servers.rs` for the environment. `conformance/` lists the checks that fail, with reasons.

use std::process::exit;
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::process::Command;
use tool_mcp::McpClient;
use tool_runtime::ToolRegistry;
use tool_runtime::serde_json::{Value, from_str, json};

use crate::real_servers::program;

/// Environment variable with the scenario, which the suite sets.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";

/// Runs the client, if the suite has started this program. The last argument is the URL of its server.
#[test]
fn client() {
    if std::env::var_os(SCENARIO).is_some() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let status = runtime.block_on(scenario());
        exit(status);
    }
}

/// Connects, and calls every tool that is offered. Returns the status of the program.
async fn scenario() -> i32 {
    let url = std::env::args().next_back().unwrap();
    let http = Client::builder(TokioExecutor::new()).build_http();
    let url = McpClient::url(url, http).call_timeout(Duration::from_secs(5));
    let client = match url.connect().await {
        Ok(client) => client,
        Err(error) => {
            eprintln!("{error}");
            return 1;
        }
    };
    let mut registry = ToolRegistry::new();
    registry
        .register_source(client.definitions(), client.handler())
        .unwrap();
    for (name, arguments) in calls(&client) {
        let result = registry
            .execute_tool("toolu_01", &name, &arguments.to_string())
            .await;
        eprintln!("{name}: {:?}", result.text());
    }
    client.stop().await;
    0
}

/// Returns the calls that the suite asks for, or a call of each tool.
fn calls(client: &McpClient) -> Vec<(String, Value)> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = from_str(&context).unwrap_or_default();
    if let Some(calls) = context["toolCalls"].as_array() {
        return calls
            .iter()
            .map(|call| {
                (
                    call["name"].as_str().unwrap().to_owned(),
                    call["arguments"].clone(),
                )
            })
            .collect();
    }
    if let [focal, echo] = &client.definitions()[..]
        && echo.name == "json_schema_echo"
    {
        return vec![(echo.name.clone(), json!({ "schema": focal.input_schema }))];
    }
    let arguments = json!({ "a": 5, "b": 3, "region": "eu" });
    client
        .definitions()
        .into_iter()
        .map(|tool| {
            let properties = tool.input_schema["properties"].clone();
            let mut arguments = arguments.as_object().unwrap().clone();
            arguments.retain(|name, _| !properties[name].is_null());
            (tool.name, Value::Object(arguments))
        })
        .collect()
}

async fn run(revision: &str) {
    let packages =
        std::env::var_os("SDK_NODE").map(|folder| std::path::PathBuf::from(folder).join("node_modules"));
    let suite = packages.map(|packages| packages.join("@modelcontextprotocol/conformance/dist/index.js"));
    let Some(suite) = program(suite, "@modelcontextprotocol/conformance") else {
        return;
    };
    let node = suite.ancestors().nth(4).unwrap().join(".bin/node");
    let expected = format!(
        "{}/tests/client/conformance/{revision}.yml",
        env!("CARGO_MANIFEST_DIR")
    );
    let client = format!(
        "{} conformance::client --exact --nocapture --quiet",
        std::env::current_exe().unwrap().display()
    );
    let output = Command::new(node)
        .arg(suite)
        .args(["client", "--command", &client])
        .args(["--requirements", revision, "--expected-failures", &expected])
        .args(
            std::env::var_os("CONFORMANCE_OUTPUT")
                .map(|folder| ["-o".into(), folder])
                .into_iter()
                .flatten(),
        )
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    eprintln!("{text}");
}

#[tokio::test]
async fn conforms_to_2026_07_28() {
    run("2026-07-28").await;
}

#[tokio::test]
async fn conforms_to_2025_11_25() {
    run("2025-11-25").await;
}
