//! The official conformance suite. A folder lists the checks that fail, with reasons.

use tokio::process::Command;

use crate::installed::node_module;

/// Runs the suite with the requirements of a revision. The folder has the expected failures of each revision.
pub(crate) async fn run_suite(revision: &str, folder: &str, arguments: &[&str]) {
    let suite = node_module("@modelcontextprotocol/conformance/dist/index.js");
    let (Some(suite), Some(node)) = (suite, node_module(".bin/node")) else {
        return;
    };
    let expected = format!("{folder}/{revision}.yml");
    let mut command = Command::new(node);
    command
        .arg(suite)
        .args(arguments)
        .args(["--requirements", revision, "--expected-failures", &expected]);
    if let Some(output) = std::env::var_os("CONFORMANCE_OUTPUT") {
        command.arg("-o").arg(output);
    }
    let output = command.kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    eprintln!("{text}");
}
