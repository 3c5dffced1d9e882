//! Small files, small functions, names that say something.

use std::path::PathBuf;

use crate::sources::{CRATES, files, read, root, shown};
use crate::tokens;

const LONGEST_FILE: usize = 600;
const LONGEST_FUNCTION: usize = 60;

/// Names under which everything gathers that nobody has thought about.
const EMPTY_NAMES: [&str; 8] = [
    "utils", "util", "helpers", "helper", "common", "misc", "manager", "info",
];

/// What people write; what a tool writes (`@generated` in its first line) may be long.
fn written() -> Vec<PathBuf> {
    let crates = CRATES.iter().map(|name| root().join(name));
    crates
        .chain([root().join("examples"), root().join("tests")])
        .flat_map(|directory| files(&directory, "rs"))
        .filter(|file| {
            !read(file)
                .lines()
                .next()
                .unwrap_or_default()
                .contains("@generated")
        })
        .collect()
}

/// Lines before the tests of the file's own.
fn lines(text: &str) -> usize {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .count()
}

#[test]
fn files_are_short() {
    let long: Vec<String> = written()
        .iter()
        .map(|file| (lines(&read(file)), shown(file)))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, file)| format!("{file}: {lines} lines"))
        .collect();
    assert!(
        long.is_empty(),
        "a file holds one idea and at most {LONGEST_FILE} lines before its tests; \
         take the second idea out of these:\n  {}",
        long.join("\n  "),
    );
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for file in written() {
        let text = read(&file);
        let Ok(parsed) = text.parse() else {
            continue; // a case of the macro's tests that is meant not to parse
        };
        let lines: Vec<&str> = text.lines().collect();
        for function in tokens::functions(&parsed) {
            let code = lines[function.first - 1..function.last]
                .iter()
                .map(|line| line.trim())
                .filter(|line| !line.is_empty() && !line.starts_with("//"))
                .count();
            if code > LONGEST_FUNCTION {
                long.push(format!(
                    "{}:{}: `{}` has {code}",
                    shown(&file),
                    function.first,
                    function.name
                ));
            }
        }
    }
    assert!(
        long.is_empty(),
        "a function has at most {LONGEST_FUNCTION} lines of code (blank lines and comments do not count); \
         give a part of these a name:\n  {}",
        long.join("\n  "),
    );
}

#[test]
fn file_names_are_specific() {
    let empty: Vec<String> = written()
        .iter()
        .filter(|file| {
            let parts = [
                file.file_stem(),
                file.parent().and_then(|folder| folder.file_name()),
            ];
            parts
                .into_iter()
                .flatten()
                .any(|name| EMPTY_NAMES.iter().any(|empty| name == *empty))
        })
        .map(|file| shown(file))
        .collect();
    assert!(
        empty.is_empty(),
        "`utils` and its kind say nothing about what is inside; name these after their idea:\n  {}",
        empty.join("\n  "),
    );
}
