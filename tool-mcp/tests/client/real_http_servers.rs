//! Servers over HTTP that others wrote, on a loopback port: of npm (with `initialize`) and of `PyPI` (both revisions). See
//! `installed.rs` for the environment.

use std::process::Stdio;

use http::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tool_mcp::{McpClient, McpUrl, Protocol};
use tool_runtime::serde_json::json;

use crate::installed::{node_module, python};
use crate::support::{call, call_text};

/// Writes the port on which the server listens.
const EVERYTHING: &str = "
const { Server } = require('http');
const { listen } = Server.prototype;
Server.prototype.listen = function (...rest) {
    this.once('listening', () => console.log(this.address().port));
    return listen.apply(this, rest);
};
import(process.argv[1]);
";

const PYTHON: &str = "
import socket, sys, uvicorn
from mcp.server.mcpserver import Context, MCPServer
server = MCPServer('own')
@server.tool()
async def count(to: int, context: Context) -> int:
    for done in range(to):
        await context.report_progress(done, to)
    return to
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
app = server.streamable_http_app(json_response=sys.argv[1] == 'json')
uvicorn.Server(uvicorn.Config(app, log_level='warning')).run([listener])
";

/// Starts a server, which ends with the returned value, and returns a builder of a client.
async fn start(command: &mut Command) -> (Child, McpUrl) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Ok(port) = line.parse::<u16>() {
            break port;
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let url = format!("http://127.0.0.1:{port}/mcp");
    url.parse::<Uri>().unwrap();
    let http: Client<HttpConnector, _> = Client::builder(TokioExecutor::new()).build_http();
    (child, McpClient::url(url, http))
}

#[tokio::test]
async fn everything() {
    let package = "@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js";
    let Some(script) = node_module(package) else {
        return;
    };
    let mut command = Command::new("node");
    command.args(["-e", EVERYTHING]).arg(script).env("PORT", "0");
    let (_child, url) = start(&mut command).await;
    let client = url.connect().await.unwrap();
    assert_eq!(client.left_out(), []);
    let text = call_text(&client, "echo", &json!({ "message": "hello" })).await;
    assert_eq!(text, "Echo: hello");
    let outcome = call(
        &client,
        "trigger-long-running-operation",
        &json!({ "duration": 0.2, "steps": 2 }),
    )
    .await;
    assert!(!outcome.result.is_error, "{:?}", outcome.result);
    client.stop().await;
}

#[tokio::test]
async fn python_sdk() {
    let Some(python) = python() else {
        return;
    };
    for form in ["json", "events"] {
        let mut command = Command::new(&python);
        let (_child, url) = start(command.args(["-c", PYTHON, form])).await;
        for protocol in [Protocol::Auto, Protocol::Legacy] {
            let client = url.clone().protocol(protocol).connect().await.unwrap();
            let outcome = call(&client, "count", &json!({ "to": "3" })).await;
            assert_eq!(outcome.result.text(), Some("3"), "{form} {protocol:?}");
            client.stop().await;
        }
    }
}
