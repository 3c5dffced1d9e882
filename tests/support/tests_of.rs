//! Tests in a source file, for documents with a row for each test.

use std::collections::BTreeSet;

/// Returns the functions after a `#[test]` or `#[tokio::test..]`.
pub fn names_in(source: &str) -> impl Iterator<Item = String> {
    let mut lines = source.lines();
    std::iter::from_fn(move || {
        lines.find(|line| *line == "#[test]" || line.starts_with("#[tokio::test"))?;
        let signature = lines.find(|line| line.contains("fn "))?;
        let (_, name) = signature.split_once("fn ")?;
        Some(name.split('(').next()?.to_owned())
    })
}

/// Checks that each row has a test, that each test has a row, and that the number of rows is as expected: without the number, a row that
/// was removed with its test would not be noticed.
pub fn assert_one_for_one(
    label: &str,
    rows: impl Iterator<Item = String>,
    tests: impl Iterator<Item = String>,
    count: usize,
) {
    let (rows, tests) = (once_each(rows), once_each(tests));
    let without_test: Vec<_> = rows.difference(&tests).collect();
    let without_row: Vec<_> = tests.difference(&rows).collect();
    assert!(
        without_test.is_empty() && without_row.is_empty(),
        "{label}: rows without a test {without_test:#?}, tests without a row {without_row:#?}",
    );
    assert_eq!(rows.len(), count, "{label}: rows, and how many there should be");
}

fn once_each(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(!seen.contains(&name), "`{name}` is there twice");
        seen.insert(name);
    }
    seen
}
