//! Clients that others wrote: of the official SDK for Python.
//!
//! `SDK_PYTHON` is an interpreter with the packages of `tests/sdks/requirements.txt`; `.ci/run programs` creates it. Without it, the tests
//! are ignored with a message, or fail if `REPAIR_TESTS=required` is set.

use std::ffi::OsStr;
use std::process::Stdio;

use axum::Router;
use tokio::net::TcpListener;
use tokio::process::Command;
use tool_mcp::McpServer;
use tool_runtime::serde_json::{Value, from_slice, json};

use crate::served::{SERVED, registry};

/// Lists, calls with progress and cancels, with each mode of the connection.
const PYTHON: &str = r#"
import json, sys
import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

async def run(mode):
    if sys.argv[1].startswith("http"):
        server = sys.argv[1]
    else:
        server = stdio_client(
            StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env={"MCP_TEST_SERVED": "120"})
        )
    progress = []
    async def report(done, total, message):
        progress.append([done, total, message])
    async with Client(server, mode=mode) as client:
        names, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        add = await client.call_tool("add", {"left": "2", "right": 3})
        report_result = await client.call_tool("report", {"steps": 3}, progress_callback=report)
        numbers = await client.call_tool("numbers", {})
        fail = await client.call_tool("fail", {})
        return {
            "tools": len(names),
            "version": client.protocol_version,
            "instructions": client.instructions,
            "add": add.content[0].text,
            "warnings": len(add.meta["tool-runtime/warnings"]),
            "numbers": numbers.structured_content,
            "report": report_result.content[0].text,
            "progress": progress[-1],
            "fail": [fail.is_error, fail.content[0].text],
        }

print(json.dumps([anyio.run(run, mode) for mode in ["auto", "legacy"]]))
"#;

/// Runs the client with these arguments, and checks its answers in both revisions.
async fn run(arguments: &[&OsStr], tools: usize) {
    let Some(python) = std::env::var_os("SDK_PYTHON") else {
        eprintln!("IGNORED: `SDK_PYTHON` is missing; `.ci/run programs` installs the SDK");
        assert!(std::env::var_os("REPAIR_TESTS").is_none_or(|wanted| wanted != "required"));
        return;
    };
    let output = Command::new(python)
        .args(["-c", PYTHON])
        .args(arguments)
        .env_remove(SERVED)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await
        .unwrap();
    assert!(output.status.success());
    let found: Value = from_slice(&output.stdout).unwrap();
    let wanted = |version: &str, numbers: Value| {
        json!({
            "tools": tools,
            "version": version,
            "instructions": "Add first.",
            "add": "5",
            "warnings": 1,
            "numbers": numbers,
            "report": "3",
            "progress": [3.0, 3.0, "step 3"],
            "fail": [true, "no water"],
        })
    };
    let modern = wanted("2026-07-28", json!([1, 2]));
    let legacy = wanted("2025-11-25", Value::Null);
    assert_eq!(found, json!([modern, legacy]));
}

#[tokio::test]
async fn python_over_stdio() {
    let program = std::env::current_exe().unwrap();
    let arguments = ["served::serve", "--exact", "--nocapture", "--quiet"].map(OsStr::new);
    run(&[&[program.as_os_str()], &arguments[..]].concat(), 133).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_over_http() {
    let server = McpServer::new(registry()).with_instructions("Add first.");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route_service("/mcp", server.http());
    tokio::spawn(async move { axum::serve(listener, app).await });
    run(&[OsStr::new(&url)], 13).await;
}
