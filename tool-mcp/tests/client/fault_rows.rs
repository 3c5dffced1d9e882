//! Rows of `docs/faults.md` about MCP servers. Each row has a test in `faults.rs` or `http_faults.rs`, and each test
//! has a row.

use std::ops::Deref;

use tool_runtime::ToolOutcome;

use crate::fault_row::{FaultRow, in_row};
use crate::telemetry;
use crate::tests_of::{assert_one_for_one, names_in};

const SUITE: &str = "mcp";

/// Number of rows.
const ROWS: usize = 56;

/// A row for its test.
#[derive(Debug)]
pub(crate) struct Row(FaultRow);

/// Returns the row of a test.
pub(crate) fn row(test: &str) -> Row {
    telemetry::record();
    Row(FaultRow::find(SUITE, test))
}

impl Deref for Row {
    type Target = FaultRow;

    fn deref(&self) -> &FaultRow {
        &self.0
    }
}

impl Row {
    /// Checks both columns of a call.
    pub(crate) fn check(&self, outcome: &ToolOutcome) {
        let is_error = outcome.result.is_error.then(|| "is_error".to_owned());
        let text = outcome.result.text().map(in_row);
        self.model_reads(is_error.into_iter().chain(text));
        let recorded = telemetry::of(&outcome.result.tool_use_id);
        let failure = outcome.failure.map(|failure| format!("{failure:?}"));
        self.check_host(failure.into_iter().chain(recorded.events));
    }

    /// Checks the column of the host, if there is no result for a model.
    pub(crate) fn check_host(&self, texts: impl IntoIterator<Item = impl ToString>) {
        self.host_learns(texts.into_iter().map(|text| in_row(&text.to_string())));
    }
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    let files = [include_str!("faults.rs"), include_str!("http_faults.rs")];
    let tests = files.into_iter().flat_map(names_in);
    let tests = tests.map(|name| format!("{SUITE}::{name}"));
    let rows = FaultRow::in_suite(SUITE).map(|row| row.test);
    assert_one_for_one("docs/faults.md", rows, tests, ROWS);
}
