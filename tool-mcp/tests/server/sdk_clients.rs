//! Clients that others wrote: of the official SDKs for Python (both revisions) and TypeScript (with `initialize`).
//!
//! See `installed.rs` for the environment.

use std::ffi::{OsStr, OsString};
use std::process::Stdio;

use axum::Router;
use tokio::net::TcpListener;
use tokio::process::Command;
use tool_mcp::McpServer;
use tool_runtime::serde_json::{Value, from_slice, json};

use crate::installed::{node_folder, python};
use crate::served::{SERVED, registry};

/// Number of tools of the server over standard input and output.
pub(crate) const ALL: usize = 133;

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

/// Lists all pages and calls, with progress.
const TYPESCRIPT: &str = r#"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [program, ...args] = process.argv.slice(1);
const transport = program.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(program))
    : new StdioClientTransport({ command: program, args, env: { MCP_TEST_SERVED: "120" } });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
let tools = 0, cursor;
do {
    const page = await client.listTools({ cursor });
    tools += page.tools.length;
    cursor = page.nextCursor;
} while (cursor);
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const add = await call("add", { left: "2", right: 3 });
const progress = [];
const report = await call("report", { steps: 3 }, { onprogress: (it) => progress.push([it.progress, it.total, it.message]) });
const numbers = await call("numbers", {});
const fail = await call("fail", {});
await client.ping();
console.log(JSON.stringify({
    tools,
    server: client.getServerVersion().name,
    instructions: client.getInstructions(),
    add: add.content[0].text,
    warnings: add._meta["tool-runtime/warnings"].length,
    numbers: [numbers.structuredContent ?? null, numbers.content[0].text],
    report: report.content[0].text,
    progress: progress.at(-1) ?? null,
    fail: [fail.isError, fail.content[0].text],
}));
await client.close();
"#;

/// Runs the client for TypeScript with these arguments, and checks its answers.
async fn run_typescript(arguments: &[&OsStr], tools: usize) {
    let Some(folder) = node_folder() else {
        return;
    };
    let output = Command::new("node")
        .args(["--input-type=module", "--eval", TYPESCRIPT])
        .args(arguments)
        .current_dir(folder)
        .env_remove(SERVED)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await
        .unwrap();
    assert!(output.status.success());
    let mut found: Value = from_slice(&output.stdout).unwrap();
    let progress = found["progress"].take();
    // Over stdio, this client drops progress that it reads together with the result.
    let earlier = [json!(null), json!([1, 3, "step 1"]), json!([2, 3, "step 2"])];
    let is_dropped = tools == ALL && earlier.contains(&progress);
    assert!(is_dropped || progress == json!([3, 3, "step 3"]), "{progress}");
    assert_eq!(
        found,
        json!({
            "tools": tools,
            "server": "served",
            "instructions": "Add first.",
            "add": "5",
            "warnings": 1,
            "numbers": [null, "[1,2]"],
            "report": "3",
            "progress": null,
            "fail": [true, "no water"],
        })
    );
}

/// Runs the client for Python with these arguments, and checks its answers in both revisions.
async fn run_python(arguments: &[&OsStr], tools: usize) {
    let Some(python) = python() else {
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

/// Returns the program that serves, and its arguments.
pub(crate) fn served_program() -> Vec<OsString> {
    let program = std::env::current_exe().unwrap().into_os_string();
    let arguments = ["served::serve", "--exact", "--nocapture", "--quiet"].map(OsString::from);
    [program].into_iter().chain(arguments).collect()
}

/// Serves over HTTP, and returns the URL.
pub(crate) async fn served_url() -> OsString {
    let server = McpServer::new(registry())
        .with_name("served", "1.0")
        .with_instructions("Add first.");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route_service("/mcp", server.http());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url.into()
}

fn borrowed(arguments: &[OsString]) -> Vec<&OsStr> {
    arguments.iter().map(OsString::as_os_str).collect()
}

#[tokio::test]
async fn python_over_stdio() {
    run_python(&borrowed(&served_program()), ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_over_http() {
    run_python(&[&served_url().await], 13).await;
}

#[tokio::test]
async fn typescript_over_stdio() {
    run_typescript(&borrowed(&served_program()), ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_over_http() {
    run_typescript(&[&served_url().await], 13).await;
}
