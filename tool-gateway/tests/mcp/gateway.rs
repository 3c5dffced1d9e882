//! A running program with a configuration of MCP servers, and its client.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::peer::SCRIPT;
use crate::program::Directory;
use crate::served_program::ServedProgram;
use crate::upstream::Upstream;

/// Arguments that start this program as a server.
const ARGUMENTS: [&str; 4] = ["peer::serve", "--exact", "--nocapture", "--quiet"];

/// Configuration of a server that follows a script, with further lines of its table.
pub(crate) fn server(key: &str, script: &Value, lines: &str) -> String {
    let program = std::env::current_exe().unwrap();
    table(key, &json!(program), &json!(ARGUMENTS), script, lines)
}

/// Configuration of a server that a shell starts after these commands.
pub(crate) fn server_in_shell(commands: &str, key: &str, script: &Value, lines: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let line = format!("{commands}\nexec '{}' {}", program.display(), ARGUMENTS.join(" "));
    table(key, &json!("sh"), &json!(["-c", line]), script, lines)
}

fn table(key: &str, command: &Value, arguments: &Value, script: &Value, lines: &str) -> String {
    let script = json!(script.to_string());
    format!(
        "[mcp.servers.{key}]\n{lines}\ncommand = {command}\nargs = {arguments}\nenv = {{ {SCRIPT} = {script} }}\n"
    )
}

/// The program, which is killed on drop.
pub(crate) struct Gateway {
    program: ServedProgram,
    directory: Option<Directory>,
}

impl Gateway {
    /// Starts the program in front of an upstream.
    pub(crate) fn start(upstream: &Upstream, configuration: &str) -> Self {
        Self::start_in(Directory::new(), upstream, configuration)
    }

    pub(crate) fn start_in(directory: Directory, upstream: &Upstream, configuration: &str) -> Self {
        Self::start_as(directory, upstream, configuration, &[])
    }

    /// Starts the program with client keys.
    pub(crate) fn start_with_keys(upstream: &Upstream, configuration: &str, keys: &str) -> Self {
        let variables = [("TOOL_GATEWAY_CLIENT_KEYS", keys)];
        Self::start_as(Directory::new(), upstream, configuration, &variables)
    }

    /// Starts the program with environment variables.
    #[cfg(feature = "otlp")]
    pub(crate) fn start_with_variables(
        upstream: &Upstream,
        configuration: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        Self::start_as(Directory::new(), upstream, configuration, variables)
    }

    fn start_as(
        directory: Directory,
        upstream: &Upstream,
        configuration: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let text = format!(
            "{configuration}\n[upstream]\nkind = \"anthropic\"\nurl = \"{}\"\n",
            upstream.url
        );
        let file = directory.file("gateway.toml", text);
        Self {
            program: ServedProgram::start(Path::new(&file), 0, variables),
            directory: Some(directory),
        }
    }

    /// Waits for a line of the log, and returns it.
    pub(crate) fn log_line(&self, part: &str) -> String {
        self.program.log_line(part)
    }

    /// Returns the lines of the log of a program that has been stopped.
    pub(crate) fn whole_log(&self) -> Vec<String> {
        self.program.whole_log()
    }

    pub(crate) fn address(&self) -> &str {
        &self.program.address
    }

    /// Returns the child processes of the program.
    pub(crate) fn children(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.program.id())).unwrap();
        tasks
            .flat_map(|task| {
                let children = task.unwrap().path().join("children");
                let text = std::fs::read_to_string(children).unwrap_or_default();
                text.split_whitespace()
                    .map(|pid| pid.parse().unwrap())
                    .collect::<Vec<u32>>()
            })
            .collect()
    }

    /// Kills the program, and returns its directory for the next one.
    pub(crate) fn kill(mut self) -> Directory {
        self.signal("-KILL");
        self.program.wait();
        self.directory.take().unwrap()
    }

    /// Sends a request, and returns the status and the body.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.send_with(method, path, "", body)
    }

    /// Sends a request with further lines of its head, which may have another `host`.
    pub(crate) fn send_with(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &(impl AsRef<[u8]> + ?Sized),
    ) -> (u16, String) {
        Self::send_to(self.address(), method, path, headers, body)
    }

    pub(crate) fn send_to(
        address: &str,
        method: &str,
        path: &str,
        headers: &str,
        body: &(impl AsRef<[u8]> + ?Sized),
    ) -> (u16, String) {
        let mut connection = Self::begin_at(address, method, path, headers, body);
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// Sends a request, and returns the connection with its answer.
    pub(crate) fn begin(&self, method: &str, path: &str, body: &str) -> TcpStream {
        Self::begin_at(self.address(), method, path, "", body)
    }

    fn begin_at(address: &str, method: &str, path: &str, headers: &str, body: impl AsRef<[u8]>) -> TcpStream {
        let body = body.as_ref();
        let mut connection = TcpStream::connect(address).unwrap();
        let host = if headers.contains("host: ") {
            String::new()
        } else {
            format!("host: {address}\r\n")
        };
        write!(
            connection,
            "{method} {path} HTTP/1.0\r\n{host}{headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .unwrap();
        connection.write_all(body).unwrap();
        connection
    }

    /// Waits until `/metrics` has a line. The test runner's limit ends a test that waits forever.
    pub(crate) fn wait_for_metric(&self, line: &str) {
        while !self.send("GET", "/metrics", "").1.contains(line) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Waits until `GET /v1/tools` has a tool.
    pub(crate) fn wait_for_tool(&self, name: &str) {
        while !self.tools().iter().any(|tool| tool == name) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Sends messages, and returns the client's message.
    pub(crate) fn ask(&self, body: &Value) -> Value {
        let (status, text) = self.send("POST", "/v1/messages", &body.to_string());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Returns the names of `GET /v1/tools`.
    pub(crate) fn tools(&self) -> Vec<String> {
        let (_, text) = self.send("GET", "/v1/tools", "");
        let list: Value = serde_json::from_str(&text).unwrap();
        let tools = list["data"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: &str) {
        self.program.signal(signal);
    }

    /// Stops the program, and returns its directory for the next one.
    pub(crate) fn into_directory(mut self) -> Directory {
        assert!(self.stop());
        self.directory.take().unwrap()
    }

    /// Stops the program, and returns whether it ended in order.
    pub(crate) fn stop(&mut self) -> bool {
        self.signal("-TERM");
        self.program.wait()
    }
}

/// Returns whether a process exists and is no zombie.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Waits until a process has ended. The test runner's limit ends a test that waits forever.
pub(crate) fn wait_for_end(pid: u32) {
    while is_running(pid) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
