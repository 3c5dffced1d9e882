//! The folders of the official suite. A file has groups, and each group has a schema with cases.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A schema with the values of its cases.
#[derive(Debug, Deserialize)]
pub struct Group {
    pub description: String,
    pub schema: Value,
    pub tests: Vec<Case>,
}

/// A value with the correct verdict.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub description: String,
    pub data: Value,
    pub valid: bool,
}

/// Returns the suite's folder of drafts. Returns `None`, with a message, if it is missing.
pub fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("JSON_SCHEMA_SUITE").map(PathBuf::from);
    let found = named.map(|folder| folder.join("tests")).filter(|it| it.is_dir());
    if found.is_none() {
        let ignored = "\nIGNORED: the official JSON-Schema-Test-Suite, for want of its folder, named by \
             JSON_SCHEMA_SUITE.\n`.ci/run programs` unpacks it under target/sdks, and `.ci/run test` uses it.\n";
        assert!(
            std::env::var_os("REPAIR_TESTS").is_none_or(|said| said != "required"),
            "{ignored}"
        );
        to_stderr(ignored);
    }
    found
}

/// Returns the files of a draft by name. Files in `optional` are included only if they are listed, as `optional/bignum`.
pub fn files(draft: &Path) -> Vec<(String, Vec<Group>)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(draft)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, groups(&path))
    };
    files.into_iter().map(read).collect()
}

/// Returns the groups of a file.
pub fn groups(path: &Path) -> Vec<Group> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Writes directly to standard error, since the test harness captures printed output.
pub fn to_stderr(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}
