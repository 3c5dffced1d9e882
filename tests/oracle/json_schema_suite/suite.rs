//! The folders of the official suite: files of groups, a schema with its cases each.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A schema and values that are held against it.
#[derive(Debug, Deserialize)]
pub struct Group {
    pub description: String,
    pub schema: Value,
    pub tests: Vec<Case>,
}

/// A value and the right answer.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub description: String,
    pub data: Value,
    pub valid: bool,
}

/// The suite's own folder of drafts; `None`, said loudly, where it is missing.
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

/// The files of a draft by name, without those in `optional` (they are named with it: `optional/bignum`).
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

/// The groups of one file.
pub fn groups(path: &Path) -> Vec<Group> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Straight to stderr: the harness hides what a passing test prints.
pub fn to_stderr(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}
