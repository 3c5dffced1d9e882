//! Rows of `docs/faults.md` about clients of a served registry. Each row has a test in `faults.rs`, and each test has a row.

use tool_runtime::serde_json::Value;

use crate::fault_row::FaultRow;
use crate::tests_of::{assert_one_for_one, names_in};

const SUITE: &str = "mcp_server";

/// Number of rows.
const ROWS: usize = 19;

/// Compares an answer, with the status of HTTP if there is one, with the row of a test.
pub(crate) fn check(test: &str, status: Option<u16>, answer: &Value, events: &[String]) {
    let row = FaultRow::find(SUITE, test);
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
    row.model_reads(parts.into_iter().flatten());
    row.host_learns(events);
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    let tests = names_in(include_str!("faults.rs")).map(|name| format!("{SUITE}::{name}"));
    let rows = FaultRow::in_suite(SUITE).map(|row| row.test);
    assert_one_for_one("docs/faults.md", rows, tests, ROWS);
}
