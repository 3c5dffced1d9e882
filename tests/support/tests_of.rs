//! The tests that a source has, for documents that have a row for each.

use std::collections::BTreeSet;

/// The functions that stand below a `#[test]` or a `#[tokio::test..]`.
pub fn names_in(source: &str) -> impl Iterator<Item = String> {
    let mut lines = source.lines();
    std::iter::from_fn(move || {
        lines.find(|line| *line == "#[test]" || line.starts_with("#[tokio::test"))?;
        let signature = lines.find(|line| line.contains("fn "))?;
        let (_, name) = signature.split_once("fn ")?;
        Some(name.split('(').next()?.to_owned())
    })
}

/// Each row has its test, each test its row, and there are so many: a row that goes takes its test along, and would not
/// be missed.
pub fn assert_one_for_one(
    what: &str,
    rows: impl Iterator<Item = String>,
    tests: impl Iterator<Item = String>,
    count: usize,
) {
    let (rows, tests) = (once_each(rows), once_each(tests));
    let without_test: Vec<_> = rows.difference(&tests).collect();
    let without_row: Vec<_> = tests.difference(&rows).collect();
    assert!(
        without_test.is_empty() && without_row.is_empty(),
        "{what}: rows without a test {without_test:#?}, tests without a row {without_row:#?}",
    );
    assert_eq!(rows.len(), count, "{what}: rows, and how many there should be");
}

fn once_each(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(!seen.contains(&name), "`{name}` is there twice");
        seen.insert(name);
    }
    seen
}
