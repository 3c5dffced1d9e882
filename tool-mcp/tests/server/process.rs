//! The server as a process, to which tests write lines.

use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tool_runtime::serde_json::{Value, from_str, json};

use crate::served::SERVED;

/// Running server.
pub(crate) struct ServerProcess {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    log: Lines<BufReader<ChildStderr>>,
}

/// Returns `params` of a request of revision 2026-07-28.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// Returns a request of revision 2026-07-28.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": modern(params) })
}

/// Returns a call in revision 2026-07-28.
pub(crate) fn call(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({ "name": name, "arguments": arguments }))
}

impl ServerProcess {
    /// Starts a server with further tools.
    pub(crate) fn start(further_tools: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["served::serve", "--exact", "--nocapture", "--quiet"])
            .env(SERVED, further_tools.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            log: BufReader::new(child.stderr.take().unwrap()).lines(),
            child,
        }
    }

    pub(crate) async fn write(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.write(&format!("{message}\n")).await;
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.output.next_line().await.unwrap()?;
            // The test harness prints before the server starts.
            if !(line.is_empty() || line.starts_with("running ")) {
                return Some(from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
            }
        }
    }

    /// Returns the next message of the server.
    pub(crate) async fn receive(&mut self) -> Value {
        self.next().await.expect("a message")
    }

    /// Sends a request, and returns its answer.
    pub(crate) async fn ask(&mut self, request: Value) -> Value {
        let id = request["id"].clone();
        self.send(request).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Waits for a line on standard error.
    pub(crate) async fn wait_for_log(&mut self, wanted: &str) {
        loop {
            let line = self.log.next_line().await.unwrap();
            if line.expect("a line of the log") == wanted {
                return;
            }
        }
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the end, and returns the messages that were not read.
    pub(crate) async fn end(&mut self) -> (ExitStatus, Vec<Value>) {
        let mut messages = Vec::new();
        while let Some(message) = self.next().await {
            messages.push(message);
        }
        (self.child.wait().await.unwrap(), messages)
    }
}
