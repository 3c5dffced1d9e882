//! Every row has its test, every test its row.

use std::fs;
use std::path::Path;

use tests::tests_of::{assert_one_for_one, names_in};

const ROWS: &str = include_str!("rows.txt");

/// The seeds with the numbers of their rows.
const SEEDS: [(&str, usize); 4] = [("000", 60), ("001", 36), ("002", 48), ("003", 39)];

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
        let rows = ROWS.lines().filter_map(|line| test_of(seed, line));
        assert_one_for_one(&format!("seed {seed}"), rows, names_in(&source(seed)), count);
    }
}

/// The name of the test of a row: all before the colon but the seed's number.
fn test_of(seed: &str, line: &str) -> Option<String> {
    let (row, says) = line.strip_prefix(seed)?.split_once(": ")?;
    assert!(!says.is_empty(), "{line}");
    let name = row.trim().to_lowercase();
    Some(name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
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
