//! Rows of `docs/faults.md` about clients of a served registry. Each row has a test in `faults.rs`, and each test has a row.

use tool_runtime::serde_json::Value;

use crate::fault_cells::FaultCells;
use crate::tests_of::{assert_one_for_one, names_in};

const DOCUMENT: &str = include_str!("../../../docs/faults.md");

/// Number of rows.
const ROWS: usize = 19;

fn rows() -> impl Iterator<Item = FaultCells> {
    let lines = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`mcp_server::"));
    lines.map(FaultCells::read)
}

/// Compares an answer, with the status of HTTP if there is one, with the row of a test.
pub(crate) fn check(test: &str, status: Option<u16>, answer: &Value, events: &[String]) {
    let row = rows().find(|row| row.test == format!("mcp_server::{test}"));
    let row = row.unwrap_or_else(|| panic!("docs/faults.md has no row for `{test}`"));
    let error = &answer["error"];
    let result = answer["result"]["content"][0]["text"].as_str();
    let parts = [
        status.map(|status| status.to_string()),
        error.get("code").map(Value::to_string),
        (answer["result"]["isError"] == true).then(|| "is_error".to_owned()),
        error["message"]
            .as_str()
            .or(result)
            .map(|text| text.replace('\n', " ⏎ ")),
    ];
    let read: Vec<String> = parts.into_iter().flatten().collect();
    assert_eq!(
        read, row.reader,
        "what the client reads (left), and docs/faults.md"
    );
    assert_eq!(
        events, row.host,
        "what the host learns (left), and docs/faults.md"
    );
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    let tests = names_in(include_str!("faults.rs")).map(|name| format!("mcp_server::{name}"));
    assert_one_for_one("docs/faults.md", rows().map(|row| row.test), tests, ROWS);
}
