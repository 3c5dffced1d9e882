//! Limits the sizes of files and functions, and checks that names are specific. The sizes are advice: larger files and functions are listed
//! on standard error, and only twice the size fails, since one file of 700 lines may read better than three that refer to each other.

use std::path::PathBuf;

use crate::sources::{CRATES, files, read, root, shown};
use crate::tokens;

/// Advised number of lines before a file's tests, and of lines of code in a function. Twice as many fail.
const ADVISED_FILE: usize = 600;
const ADVISED_FUNCTION: usize = 100;

/// Names without a meaning, under which unrelated code accumulates.
const EMPTY_NAMES: [&str; 8] = [
    "utils", "util", "helpers", "helper", "common", "misc", "manager", "info",
];

/// Maximum number of lines of the repair parser, without blank lines, comments and tests. The parser grows with each rule.
const PARSER: usize = 2150;

/// Returns the Rust files that people write. Generated files (`@generated` in the first line) may be long.
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

/// Returns the number of lines before a file's own tests.
fn lines(text: &str) -> usize {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .count()
}

#[test]
fn files_are_short() {
    let sizes = written()
        .into_iter()
        .map(|file| (shown(&file), lines(&read(&file))));
    judge(
        sizes,
        ADVISED_FILE,
        "lines before its tests; a file holds one idea, so take a second one out",
    );
}

#[test]
fn functions_are_short() {
    let mut sizes = Vec::new();
    for file in written() {
        let text = read(&file);
        let Ok(parsed) = text.parse() else {
            continue; // a case of the macro's tests that intentionally does not parse
        };
        let lines: Vec<&str> = text.lines().collect();
        for function in tokens::functions(&parsed) {
            let code = lines[function.first - 1..function.last]
                .iter()
                .map(|line| line.trim())
                .filter(|line| !line.is_empty() && !line.starts_with("//"))
                .count();
            let name = format!("{}:{}: `{}`", shown(&file), function.first, function.name);
            sizes.push((name, code));
        }
    }
    judge(
        sizes.into_iter(),
        ADVISED_FUNCTION,
        "lines of code (blank lines and comments do not count); give a part of it a name",
    );
}

#[test]
fn repair_parser_is_small() {
    let lines: usize = files(&root().join("tool-repair/src/parser"), "rs")
        .iter()
        .map(|file| {
            let text = read(file);
            let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
            code.map(str::trim)
                .filter(|line| !line.is_empty() && !line.starts_with("//"))
                .count()
        })
        .sum();
    eprintln!("the parser of what is not JSON has {lines} lines of code");
    assert!(lines <= PARSER, "{lines} lines, at most {PARSER} are allowed");
}

/// Lists sizes above the advised one. Fails if a size is twice as large.
fn judge(sizes: impl Iterator<Item = (String, usize)>, advised: usize, advice: &str) {
    let long: Vec<_> = sizes.filter(|(_, size)| *size > advised).collect();
    for (name, size) in &long {
        eprintln!("ADVICE: {name} has {size} {advice} (advised are {advised})");
    }
    let too_long: Vec<_> = long.iter().filter(|(_, size)| *size > 2 * advised).collect();
    assert!(
        too_long.is_empty(),
        "more than twice {advised} {advice}: {too_long:?}"
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
