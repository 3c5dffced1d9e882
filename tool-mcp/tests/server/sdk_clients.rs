//! Clients that others wrote: of the official SDK for Python.
//!
//! `SDK_PYTHON` is an interpreter with the packages of `tests/sdks/requirements.txt`; `.ci/run programs` creates it. Without it, the tests
//! are ignored with a message, or fail if `REPAIR_TESTS=required` is set.

use std::process::Stdio;

use tokio::process::Command;
use tool_runtime::serde_json::{Value, from_slice, json};

use crate::served::SERVED;

/// Lists, calls with progress and cancels, with each mode of the connection.
const PYTHON: &str = r#"
import json, sys
import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

async def run(mode):
    command = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env={"MCP_TEST_SERVED": "120"})
    progress = []
    async def report(done, total, message):
        progress.append([done, total, message])
    async with Client(stdio_client(command), mode=mode) as client:
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

#[tokio::test]
async fn python() {
    let Some(python) = std::env::var_os("SDK_PYTHON") else {
        eprintln!("IGNORED: `SDK_PYTHON` is missing; `.ci/run programs` installs the SDK");
        assert!(std::env::var_os("REPAIR_TESTS").is_none_or(|wanted| wanted != "required"));
        return;
    };
    let output = Command::new(python)
        .args(["-c", PYTHON])
        .arg(std::env::current_exe().unwrap())
        .args(["served::serve", "--exact", "--nocapture", "--quiet"])
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
            "tools": 133,
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
