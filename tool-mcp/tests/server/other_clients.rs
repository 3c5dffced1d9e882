//! Further clients that others wrote, with `MCP_PEERS=1`: version 2 of the official TypeScript SDK, `FastMCP`, and the command line of the
//! Inspector. `installed.rs` has their packages.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Output, Stdio};

use tokio::process::Command;
use tool_runtime::serde_json::{Value, from_slice, json};

use crate::installed::{node_module, optional, python};
use crate::sdk_clients::{ALL, served_program, served_url};
use crate::served::SERVED;

/// Number of tools of the server over HTTP.
const OVER_HTTP: usize = 13;

/// Lists and calls in each mode of the connection.
const TYPESCRIPT_2: &str = r#"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [program, ...args] = process.argv.slice(1);
const run = async (mode) => {
    const transport = program.startsWith("http")
        ? new StreamableHTTPClientTransport(new URL(program))
        : new StdioClientTransport({ command: program, args, env: { MCP_TEST_SERVED: "120" } });
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    await client.connect(transport);
    const { tools } = await client.listTools();
    const progress = [];
    const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
    const add = await call("add", { left: "2", right: 3 });
    const report = await call("report", { steps: 3 }, { onprogress: (it) => progress.push(it.progress) });
    const numbers = await call("numbers", {});
    const fail = await call("fail", {});
    const stop = new AbortController();
    const waiting = call("wait", {}, { signal: stop.signal, onprogress: () => {} }).catch((error) => error.message);
    await call("add", { left: 1, right: 1 });
    stop.abort("no more time");
    const answer = {
        version: client.getNegotiatedProtocolVersion(),
        tools: tools.length,
        instructions: client.getInstructions(),
        add: add.content[0].text,
        warnings: add._meta["tool-runtime/warnings"].length,
        numbers: numbers.structuredContent ?? null,
        report: report.content[0].text,
        isIncreasing: progress.every((it, at) => at === 0 || it > progress[at - 1]),
        fail: [fail.isError, fail.content[0].text],
        cancelled: (await waiting).includes("no more time"),
    };
    await client.close();
    return answer;
};
console.log(JSON.stringify([await run("auto"), await run("legacy")]));
"#;

/// Lists and calls in each mode of the connection.
const FASTMCP: &str = r#"
import json, sys
import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def run(mode):
    server = sys.argv[1]
    if not server.startswith("http"):
        server = StdioTransport(sys.argv[1], sys.argv[2:], env={"MCP_TEST_SERVED": "120"}, keep_alive=False)
    progress = []
    async def report(done, total, message):
        progress.append(done)
    async with Client(server, mode=mode, progress_handler=report) as client:
        tools = await client.list_tools()
        add = await client.call_tool("add", {"left": "2", "right": 3})
        report_result = await client.call_tool("report", {"steps": 3})
        fail = await client.call_tool("fail", {}, raise_on_error=False)
        return {
            "version": client.protocol_version,
            "tools": len(tools),
            "add": add.content[0].text,
            "report": report_result.content[0].text,
            "progress": progress[-1],
            "fail": [fail.is_error, fail.content[0].text],
        }

print(json.dumps([anyio.run(run, mode) for mode in ["auto", "legacy"]]))
"#;

/// Returns `node` of the version that the Inspector needs, and a file of a package.
fn node_with(file: &str) -> Option<(PathBuf, PathBuf)> {
    optional(|| Some((node_module("node/bin/node")?, node_module(file)?)))
}

async fn run(command: &mut Command) -> Output {
    let output = command
        .env_remove(SERVED)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    output.await.unwrap()
}

async fn run_typescript_2(arguments: &[OsString], tools: usize) {
    let Some((node, package)) = node_with("@modelcontextprotocol/client/package.json") else {
        return;
    };
    let mut command = Command::new(node);
    command
        .args(["--input-type=module", "--eval", TYPESCRIPT_2])
        .args(arguments)
        .current_dir(package.parent().unwrap());
    let output = run(&mut command).await;
    assert!(output.status.success());
    let wanted = |version: &str, numbers: Value| {
        json!({
            "version": version,
            "tools": tools,
            "instructions": "Add first.",
            "add": "5",
            "warnings": 1,
            "numbers": numbers,
            "report": "3",
            "isIncreasing": true,
            "fail": [true, "no water"],
            "cancelled": true,
        })
    };
    let found: Value = from_slice(&output.stdout).unwrap();
    assert_eq!(
        found,
        json!([
            wanted("2026-07-28", json!([1, 2])),
            wanted("2025-11-25", Value::Null)
        ])
    );
}

async fn run_fastmcp(arguments: &[OsString], tools: usize) {
    let Some(python) = optional(python) else {
        return;
    };
    let output = run(Command::new(python).args(["-c", FASTMCP]).args(arguments)).await;
    assert!(output.status.success());
    let wanted = |version: &str| {
        json!({
            "version": version,
            "tools": tools,
            "add": "5",
            "report": "3",
            "progress": 3.0,
            "fail": [true, "no water"],
        })
    };
    let found: Value = from_slice(&output.stdout).unwrap();
    assert_eq!(found, json!([wanted("2026-07-28"), wanted("2025-11-25")]));
}

/// Lists the tools in both revisions, with the checks of schemas for portability, whose errors are an exit status, and calls one.
async fn run_inspector(target: &[OsString], tools: usize) {
    let Some((node, launcher)) = node_with(".bin/mcp-inspector") else {
        return;
    };
    for (revision, numbers) in [("modern", json!([1, 2])), ("legacy", Value::Null)] {
        let inspect = async |options: &[&str]| {
            let mut command = Command::new(&node);
            command.arg(&launcher).arg("--cli").args(target);
            command.args([
                "-e",
                "MCP_TEST_SERVED=120",
                "--format",
                "json",
                "--protocol-era",
                revision,
            ]);
            let output = run(command.args(options)).await;
            assert!(output.status.success(), "{revision}: {:?}", output.status);
            from_slice::<Value>(&output.stdout).unwrap()
        };
        let listed = inspect(&["--method", "tools/list", "--strict"]).await;
        assert_eq!(
            listed["result"]["tools"].as_array().unwrap().len(),
            tools,
            "{listed}"
        );
        let call = ["--method", "tools/call", "--tool-name"];
        let added = [
            &call[..],
            &["add", "--tool-args-json", r#"{"left":"2","right":3}"#],
        ]
        .concat();
        assert_eq!(inspect(&added).await["result"]["content"][0]["text"], "5");
        let called = inspect(&[&call[..], &["numbers"]].concat()).await;
        assert_eq!(called["result"]["structuredContent"], numbers);
    }
}

#[tokio::test]
async fn typescript_2_over_stdio() {
    run_typescript_2(&served_program(), ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_2_over_http() {
    run_typescript_2(&[served_url().await], OVER_HTTP).await;
}

#[tokio::test]
async fn fastmcp_over_stdio() {
    run_fastmcp(&served_program(), ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fastmcp_over_http() {
    run_fastmcp(&[served_url().await], OVER_HTTP).await;
}

#[tokio::test]
async fn inspector_over_stdio() {
    run_inspector(&served_program(), ALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inspector_over_http() {
    let url = served_url().await;
    run_inspector(&[OsStr::new("--server-url").to_owned(), url], OVER_HTTP).await;
}
