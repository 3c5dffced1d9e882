//! Rows of `docs/faults.md` about MCP servers of the gateway. Each row has a test in `faults.rs`, and each test has a row.

use std::fmt::Write as _;

use serde_json::Value;

use crate::fault_row::{FaultRow, in_row};
use crate::gateway::Gateway;
use crate::tests_of::{assert_one_for_one, names_in};

const SUITE: &str = "mcp_gateway";

/// Number of rows.
const ROWS: usize = 38;

/// A row for its test.
#[derive(Debug)]
pub(crate) struct Row(FaultRow);

/// Returns the row of a test.
pub(crate) fn row(test: &str) -> Row {
    Row(FaultRow::find(SUITE, test))
}

impl Row {
    /// Checks a block `tool_result` that the model reads, and then the column of the host.
    pub(crate) fn check(&self, result: &Value, gateway: &mut Gateway) {
        self.check_model(result);
        self.check_host(gateway);
    }

    /// Checks the column of the model.
    pub(crate) fn check_model(&self, result: &Value) {
        let is_error = result["is_error"].as_bool().unwrap_or_default();
        let text = match &result["content"] {
            Value::String(text) => text.clone(),
            content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
        };
        let is_error = is_error.then(|| "is_error".to_owned());
        self.0.model_reads(is_error.into_iter().chain([in_row(&text)]));
    }

    /// Waits for the row's metrics, stops the gateway, and checks the log.
    pub(crate) fn check_host(&self, gateway: &mut Gateway) {
        let metrics = self.0.host.iter().filter(|text| text.starts_with("mcp_"));
        for line in metrics {
            gateway.wait_for_metric(&format!("tool_gateway_{line}\n"));
        }
        gateway.stop();
        self.check_log(gateway);
    }

    /// Checks the warnings and errors of a gateway that has ended. A server that does not start is logged again at each start, so that equal
    /// lines count as one. Several tasks log, so that the order of lines is free.
    pub(crate) fn check_log(&self, gateway: &Gateway) {
        let mut lines = Vec::new();
        for line in gateway.whole_log().iter().filter_map(|line| warning(line)) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let wanted = self.0.host.iter().filter(|text| !text.starts_with("mcp_"));
        let mut wanted: Vec<_> = wanted.cloned().collect();
        lines.sort();
        wanted.sort();
        assert_eq!(lines, wanted, "the log (left), and docs/faults.md");
    }

    /// Checks the error of a program that does not start.
    pub(crate) fn check_error(&self, stderr: &str) {
        assert!(self.0.reader.is_empty());
        for text in &self.0.host {
            assert!(stderr.contains(text), "{stderr}");
        }
    }
}

/// Returns a warning or an error of the log in the form of rows, with its fields in the order of their names.
fn warning(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    let level = line["level"].as_str()?;
    if !["WARN", "ERROR"].contains(&level) {
        return None;
    }
    let mut text = format!("{level} {}", line["message"].as_str()?);
    let mut fields: Vec<_> = line.as_object()?.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    for (name, value) in fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let is_general = [
            "timestamp",
            "level",
            "message",
            "target",
            "spans",
            "gen_ai.tool.call.id",
        ]
        .contains(&name.as_str());
        if !is_general && !value.is_empty() {
            let _ = write!(text, "; {name}={value}");
        }
    }
    Some(in_row(&text))
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    let tests = names_in(include_str!("faults.rs")).map(|name| format!("{SUITE}::{name}"));
    let rows = FaultRow::in_suite(SUITE).map(|row| row.test);
    assert_one_for_one("docs/faults.md", rows, tests, ROWS);
}
