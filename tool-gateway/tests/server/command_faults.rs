//! Commands that do not end as they should, by row of `docs/faults.md`.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tool_builtins::shell::{self, Shell, ShellOptions};
use tool_gateway::Gateway;

use crate::fault_rows::{Log, Row, row};
use crate::faults::chat;
use crate::lab::{Lab, Runs, registry, says, text};
use crate::test_script::TestScript;

/// A folder for a workspace and its outputs, which is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        // Tests of one process run at once.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-gateway-commands-{test}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("work")).unwrap();
        Self(path)
    }

    fn options(&self) -> ShellOptions {
        ShellOptions::new(self.0.join("work"), self.0.join("output")).writable(true)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a command in a turn, streamed and not. Checks the answers, and that no process of the commands is left.
async fn command_fails(row: &Row, input: Value, configure: fn(Gateway) -> Gateway, model_reads: &[&str]) {
    for is_stream in [false, true] {
        let folder = Folder::new(if is_stream { "stream" } else { "whole" });
        let shell = Shell::new(&folder.options().allow_root(true)).unwrap();
        let log = Log::start();
        let call = json!({ "type": "tool_use", "id": "up_a", "name": "Bash", "input": input });
        let script = json!({ "turns": [says(&[call]), says(&[text("Done.")])] });
        let script = TestScript::from_json(&script.to_string()).unwrap();
        let runs = Runs::default();
        let tools = shell::tools(&shell);
        let registry = registry(&runs)
            .with_state(shell.clone())
            .with_tools(tools)
            .unwrap();
        let gateway = configure(Gateway::new(registry, script.clone()));
        let app = gateway.router();
        let lab = Lab { app, script, runs };
        let mut chat = chat(is_stream, "go");
        chat.body["tools"] = json!([{ "name": "Bash" }]);
        let reply = chat.ask(&lab).await;
        row.client_sees(&reply);
        row.host_learns(&lab, &log).await;
        if reply.stop_reason() == "pause_turn" {
            chat.messages()
                .push(crate::lab::assistant(reply.message["content"].clone()));
            chat.ask(&lab).await;
        }
        let seen = lab.last_seen().to_string();
        assert!(model_reads.iter().any(|text| seen.contains(text)), "{seen}");
        let mark = fs::read_to_string(folder.0.join("output/lock")).unwrap();
        while is_marked(&mark) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Returns whether a process has a mark in its environment.
fn is_marked(mark: &str) -> bool {
    let mark = format!("TOOL_SHELL_MARK={mark}");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("environ")).ok())
        .any(|environment| String::from_utf8_lossy(&environment).contains(&mark))
}

#[tokio::test]
async fn command_exceeds_its_time_limit() {
    let input =
        json!({ "command": "echo begun; trap '' TERM; sleep 600 & setsid sleep 600", "timeout": 300 });
    let reads = &["timed out: the command was ended after 300 ms\\nbegun"];
    command_fails(
        &row("command_exceeds_its_time_limit"),
        input,
        |gateway| gateway,
        reads,
    )
    .await;
}

#[tokio::test]
async fn command_runs_at_the_end_of_the_turn() {
    let input = json!({ "command": "echo begun; sleep 600 & setsid sleep 600" });
    let soon = |gateway: Gateway| gateway.with_max_time(Duration::from_millis(500));
    // A slow machine does not read the output in the grace period.
    let reads = &[
        "cancelled: the command was ended\\nbegun",
        "the tool `Bash` timed out and was stopped",
    ];
    command_fails(&row("command_runs_at_the_end_of_the_turn"), input, soon, reads).await;
}

#[tokio::test]
async fn command_writes_without_end() {
    let input = json!({ "command": "yes" });
    let reads = &["the command was ended, since its output exceeds 64 MiB\\ny\\ny"];
    command_fails(
        &row("command_writes_without_end"),
        input,
        |gateway| gateway,
        reads,
    )
    .await;
}

#[tokio::test]
async fn commands_would_run_as_root() {
    let row = row("commands_would_run_as_root");
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: the tests do not run as root");
        return;
    }
    let error = Shell::new(&Folder::new("root").options()).unwrap_err();
    row.program_does_not_start(&error.to_string());
}
