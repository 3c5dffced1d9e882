//! Rows of `docs/faults.md` about MCP servers of the gateway. Each row has a test in `faults.rs`, and each test has a row.

use std::fmt::Write as _;

use serde_json::Value;

use crate::fault_cells::{FaultCells, in_row};
use crate::gateway::Gateway;
use crate::tests_of::{assert_one_for_one, names_in};

const DOCUMENT: &str = include_str!("../../../docs/faults.md");

/// Number of rows.
const ROWS: usize = 37;

/// A row with the code in its columns.
#[derive(Debug)]
pub(crate) struct Row {
    test: String,
    model: Vec<String>,
    host: Vec<String>,
}

/// Returns the row of a test.
pub(crate) fn row(test: &str) -> Row {
    let test = format!("mcp_gateway::{test}");
    let found = rows().find(|row| row.test == test);
    found.unwrap_or_else(|| panic!("docs/faults.md has no row for `{test}`"))
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
        let mut read = vec![in_row(&text)];
        read.splice(..0, is_error.then(|| "is_error".to_owned()));
        assert_eq!(
            read, self.model,
            "what the model reads (left), and docs/faults.md"
        );
    }

    /// Waits for the row's metrics, stops the gateway, and checks the log.
    pub(crate) fn check_host(&self, gateway: &mut Gateway) {
        let metrics = self.host.iter().filter(|text| text.starts_with("mcp_"));
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
        let wanted = self.host.iter().filter(|text| !text.starts_with("mcp_"));
        let mut wanted: Vec<_> = wanted.cloned().collect();
        lines.sort();
        wanted.sort();
        assert_eq!(lines, wanted, "the log (left), and docs/faults.md");
    }

    /// Checks the error of a program that does not start.
    pub(crate) fn check_error(&self, stderr: &str) {
        assert!(self.model.is_empty());
        for text in &self.host {
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

fn rows() -> impl Iterator<Item = Row> {
    let lines = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`mcp_gateway::"));
    lines.map(|line| {
        let FaultCells { test, reader, host } = FaultCells::read(line);
        Row {
            test,
            model: reader,
            host,
        }
    })
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    let tests = names_in(include_str!("faults.rs")).map(|name| format!("mcp_gateway::{name}"));
    assert_one_for_one("docs/faults.md", rows().map(|row| row.test), tests, ROWS);
}
