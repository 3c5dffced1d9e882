//! The official conformance suite, in both revisions, against the client over HTTP. The suite starts this program once for each scenario.
//!
//! See `installed.rs` for the environment. `conformance/` lists the checks that fail, with reasons.

use std::process::exit;
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tool_mcp::McpClient;
use tool_runtime::ToolRegistry;
use tool_runtime::serde_json::{Value, from_str, json};

use crate::conformance_suite::run_suite;

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
    let program = std::env::current_exe().unwrap();
    let client = format!(
        "{} conformance::client --exact --nocapture --quiet",
        program.display()
    );
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client/conformance");
    run_suite(revision, folder, &["client", "--command", &client]).await;
}

#[tokio::test]
async fn conforms_to_2026_07_28() {
    run("2026-07-28").await;
}

#[tokio::test]
async fn conforms_to_2025_11_25() {
    run("2025-11-25").await;
}
