//! Every row has its test, every test its row.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ROWS: &str = include_str!("rows.txt");

/// The seeds with the numbers of their rows: a row that goes takes its test along, and would not be missed.
const SEEDS: [(&str, usize); 4] = [("000", 60), ("001", 35), ("002", 48), ("003", 39)];

/// All sources of a seed's tests.
fn source(seed: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(format!("seed_{seed}"));
    let files = fs::read_dir(directory).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    for (seed, count) in SEEDS {
        let rows = once_each(ROWS.lines().filter_map(|line| test_of(seed, line)));
        let tests = once_each(tests_in(&source(seed)));
        assert_eq!(rows.len(), count, "seed {seed}: rows, and how many `SEEDS` says");
        let without_test: Vec<_> = rows.difference(&tests).collect();
        let without_row: Vec<_> = tests.difference(&rows).collect();
        assert!(
            without_test.is_empty() && without_row.is_empty(),
            "seed {seed}: rows without a test {without_test:#?}, tests without a row {without_row:#?}",
        );
    }
}

/// The name of the test of a row: all before the colon but the seed's number.
fn test_of(seed: &str, line: &str) -> Option<String> {
    let (row, says) = line.strip_prefix(seed)?.split_once(": ")?;
    assert!(!says.is_empty(), "{line}");
    let name = row.trim().to_lowercase();
    Some(name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
}

/// The functions that stand below a `#[test]` or a `#[tokio::test..]`.
fn tests_in(source: &str) -> impl Iterator<Item = String> {
    let mut lines = source.lines();
    std::iter::from_fn(move || {
        lines.find(|line| *line == "#[test]" || line.starts_with("#[tokio::test"))?;
        let signature = lines.find(|line| line.contains("fn "))?;
        let (_, name) = signature.split_once("fn ")?;
        Some(name.split('(').next()?.to_owned())
    })
}

fn once_each(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(!seen.contains(&name), "`{name}` is there twice");
        seen.insert(name);
    }
    seen
}

#[test]
fn no_line_is_of_an_unknown_seed() {
    for line in ROWS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let known = SEEDS.iter().any(|(seed, _)| test_of(seed, line).is_some());
        assert!(known, "{line:?} is no row");
    }
}
