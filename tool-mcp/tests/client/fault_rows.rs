//! Rows of `docs/faults.md` about MCP servers. Each row has a test in `faults.rs` or `http_faults.rs`, and each test
//! has a row.

use tool_runtime::ToolOutcome;

use crate::fault_cells::{FaultCells, in_row};
use crate::telemetry;
use crate::tests_of::{assert_one_for_one, names_in};

const DOCUMENT: &str = include_str!("../../../docs/faults.md");

/// Number of rows.
const ROWS: usize = 56;

/// A row with the code in its columns.
#[derive(Debug)]
pub(crate) struct Row {
    test: String,
    model: Vec<String>,
    host: Vec<String>,
}

/// Returns the row of a test.
pub(crate) fn row(test: &str) -> Row {
    telemetry::record();
    let test = format!("mcp::{test}");
    let found = rows().find(|row| row.test == test);
    found.unwrap_or_else(|| panic!("docs/faults.md has no row for `{test}`"))
}

impl Row {
    /// Returns the id of the row's call.
    pub(crate) fn id(&self) -> String {
        format!("toolu_{}", self.test.replace("::", "_"))
    }

    /// Checks both columns of a call.
    pub(crate) fn check(&self, outcome: &ToolOutcome) {
        let is_error = outcome.result.is_error.then(|| "is_error".to_owned());
        let text = outcome.result.text().map(in_row);
        let read: Vec<_> = is_error.into_iter().chain(text).collect();
        assert_eq!(
            read, self.model,
            "what the model reads (left), and docs/faults.md"
        );
        let recorded = telemetry::of(&outcome.result.tool_use_id);
        let failure = outcome.failure.map(|failure| format!("{failure:?}"));
        let events = recorded.events.iter().map(|event| in_row(event));
        self.check_host(failure.into_iter().chain(events));
    }

    /// Checks the column of the host, if there is no result for a model.
    pub(crate) fn check_host(&self, texts: impl IntoIterator<Item = impl ToString>) {
        let learnt: Vec<_> = texts.into_iter().map(|text| in_row(&text.to_string())).collect();
        assert_eq!(
            learnt, self.host,
            "what the host learns (left), and docs/faults.md"
        );
    }
}

fn rows() -> impl Iterator<Item = Row> {
    let lines = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`mcp::"));
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
    let files = [include_str!("faults.rs"), include_str!("http_faults.rs")];
    let tests = files.into_iter().flat_map(names_in);
    let tests = tests.map(|name| format!("mcp::{name}"));
    assert_one_for_one("docs/faults.md", rows().map(|row| row.test), tests, ROWS);
}
