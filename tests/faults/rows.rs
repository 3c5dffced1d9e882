//! Compares the rows of `docs/faults.md` with their tests: each row has a test, each test has a row, and both have equal texts.

use std::fs;
use std::ops::Deref;
use std::path::Path;

use tests::fault_row::FaultRow;
use tests::tests_of::{assert_one_for_one, names_in};
use tool_runtime::{ToolOutcome, ToolResult};

use crate::telemetry;

/// Suites of other crates: `tool-gateway/tests/server`, `tool-mcp/tests/client`, `tool-mcp/tests/server` and `tool-gateway/tests/mcp`.
const OTHER_SUITES: [&str; 4] = ["gateway", "mcp", "mcp_server", "mcp_gateway"];

/// A row for its test.
#[derive(Debug)]
pub struct Row(FaultRow);

/// Returns the row of a test, which is named `module::function`.
pub fn row(test: &str) -> Row {
    telemetry::record();
    let (module, function) = test.split_once("::").unwrap();
    Row(FaultRow::find(module, function))
}

impl Deref for Row {
    type Target = FaultRow;

    fn deref(&self) -> &FaultRow {
        &self.0
    }
}

impl Row {
    /// Checks that both columns match this outcome.
    pub fn check(&self, outcome: &ToolOutcome) {
        self.model_reads(read_in(&outcome.result));
        self.host_learns(learnt_from(outcome));
    }

    /// Checks an outcome, with `DIR` and `ID` in place of texts that are long or differ in each run.
    pub fn check_in(&self, directory: &Path, outcome: &ToolOutcome) {
        let directory = std::path::absolute(directory).unwrap();
        let short = |texts: Vec<String>| {
            let directory = directory.to_str().unwrap();
            let shorten = |text: String| {
                let text = text.replace(directory, "DIR").replace(&self.id(), "ID");
                text.replace('\\', "/") // of paths, on Windows
            };
            texts.into_iter().map(shorten).collect::<Vec<_>>()
        };
        self.model_reads(short(read_in(&outcome.result)));
        self.host_learns(short(learnt_from(outcome)));
    }

    /// Checks a result that is too long for a table: the model receives the whole result.
    pub fn check_whole(&self, directory: &Path, outcome: &ToolOutcome, content: &str) {
        assert!(
            outcome.result.text() == Some(content),
            "the result is not whole: {:.300}",
            outcome.result.text().unwrap_or_default()
        );
        let mut without = outcome.clone();
        without.result.content = String::new().into();
        self.check_in(directory, &without);
    }
}

/// Returns `is_error`, if the result is an error, and the text.
pub fn read_in(result: &ToolResult) -> Vec<String> {
    let is_error = result.is_error.then(|| "is_error".to_owned());
    let text = result.text().filter(|text| !text.is_empty());
    let text = text.map(|text| text.replace('\n', " ⏎ "));
    is_error.into_iter().chain(text).collect()
}

/// Returns the failure, and the events in the call's span. Checks that the span's `error.type` equals the failure.
pub fn learnt_from(outcome: &ToolOutcome) -> Vec<String> {
    let recorded = telemetry::of(&outcome.result.tool_use_id);
    let error_type = outcome.failure.map(|failure| failure.as_str().to_owned());
    assert_eq!(recorded.error_type, error_type, "the span's `error.type`");
    let failure = outcome.failure.map(|failure| format!("{failure:?}"));
    failure.into_iter().chain(recorded.events).collect()
}

fn rows() -> impl Iterator<Item = FaultRow> {
    FaultRow::all().filter(|row| !OTHER_SUITES.contains(&row.suite()))
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    let (rows, tests) = (rows().map(|row| row.test), tests().map(|(name, _)| name));
    assert_one_for_one("docs/faults.md", rows, tests, ROWS);
}

/// Number of rows.
const ROWS: usize = 153;

#[test]
fn each_test_checks_its_row() {
    for (name, source) in tests() {
        assert!(
            source.contains(&format!("\"{name}\"")),
            "`{name}` does not look at its row"
        );
    }
}

/// Returns every test in this folder: its name, and the source of its file.
fn tests() -> impl Iterator<Item = (String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults");
    fs::read_dir(directory).unwrap().flat_map(|file| {
        let path = file.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&path).unwrap();
        let names = if module == "rows" {
            Vec::new()
        } else {
            names_in(&source).collect()
        };
        names
            .into_iter()
            .map(move |name| (format!("{module}::{name}"), source.clone()))
    })
}
