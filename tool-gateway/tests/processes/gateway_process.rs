//! [`GatewayProcess`]: a gateway of the library in a process, which is this program, started again.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tool_gateway::Gateway;
use tool_gateway::session::redis::RedisStore;
use tool_gateway::upstream::AnthropicUpstream;
use tool_runtime::{Context, ToolDefinition, ToolRegistry};

use crate::http::{self, Reply};

/// Environment variable with the settings of a process.
const SETTINGS: &str = "TOOL_GATEWAY_TEST_PROCESS";

#[derive(Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) redis: String,
    pub(crate) upstream: String,
    /// File in which each call has a line at its beginning and at its end.
    pub(crate) runs: PathBuf,
    pub(crate) join_seconds: u64,
}

/// A running process, which is killed on drop.
pub(crate) struct GatewayProcess {
    child: Child,
    pub(crate) address: String,
}

impl GatewayProcess {
    pub(crate) fn start(settings: &Settings) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["gateway_process::serves", "--exact", "--nocapture", "--quiet"])
            .env(SETTINGS, serde_json::to_string(settings).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut lines = stdout.lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
        let address = address.expect("the process does not start");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    pub(crate) async fn post(&self, body: &Value, headers: &[(&str, &str)]) -> std::io::Result<Reply> {
        http::send(
            &self.address,
            "POST",
            "/v1/messages",
            headers,
            body.to_string().as_bytes(),
        )
        .await
    }

    pub(crate) fn signal(&self, name: &str) {
        let killed = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(killed.unwrap().success(), "{name}");
    }

    /// Waits for the end of the process.
    pub(crate) async fn ended(&mut self) {
        while self.child.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Appends a line to a file. Lines of several processes are not mixed.
fn append(file: &Path, line: &str) {
    let mut file: File = OpenOptions::new().append(true).create(true).open(file).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// `lookup` reads, `write` and `later` have effects; `later` is deferred.
fn registry(runs: &Path) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for name in ["lookup", "write", "later"] {
        let schema = json!({
            "type": "object", "properties": { "key": { "type": "string" }, "ms": { "type": "integer" } },
        });
        let mut definition = ToolDefinition::new(name, format!("The tool {name}."), schema);
        definition.hints.read_only = (name == "lookup").then_some(true);
        let runs = runs.to_owned();
        let run = move |arguments: Value, _: Context| {
            let runs = runs.clone();
            async move {
                let key = arguments["key"].as_str().unwrap_or("none").to_owned();
                append(&runs, &format!("begin {name} {key}"));
                tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0))).await;
                append(&runs, &format!("end {name} {key}"));
                Ok::<_, String>(format!("{name} of {key}"))
            }
        };
        registry.register_dynamic(definition, run).unwrap();
    }
    registry
}

/// Runs a gateway if this process was started for it.
#[test]
fn serves() {
    let Ok(settings) = std::env::var(SETTINGS) else {
        return;
    };
    let settings: Settings = serde_json::from_str(&settings).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.unwrap().block_on(serve(settings));
}

async fn serve(settings: Settings) {
    let store = RedisStore::new(&settings.redis.parse().unwrap(), None).unwrap();
    store.connect().await.unwrap();
    let gateway = Gateway::new(
        registry(&settings.runs),
        AnthropicUpstream::new(&settings.upstream, None).unwrap(),
    )
    .with_deferred(["later"])
    .unwrap()
    .with_store(store)
    .with_join_time(Duration::from_secs(settings.join_seconds));
    let turns = gateway.turns();
    let mut terminated = signal(SignalKind::terminate()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("\nlistening on {}", listener.local_addr().unwrap());
    let stop = {
        let turns = turns.clone();
        async move {
            terminated.recv().await;
            turns.close();
        }
    };
    axum::serve(listener, gateway.router())
        .with_graceful_shutdown(stop)
        .await
        .unwrap();
    turns.ended().await;
    turns.release().await;
}
