//! Mistakes and the compiler's message about each mistake: exactly one error, under the smallest faulty token.
//!
//! The comparison compiles all libraries again and each case after them, so it runs with `UI_TESTS=1` only, and with `TRYBUILD` set. The
//! texts are the output of one compiler, [`COMPILER`]; with another compiler, the comparison is skipped with a message. With
//! `UI_TESTS=required`, another compiler is a failure, for machines that must have [`COMPILER`]. Then the cases are also built, since
//! `cargo build` evaluates constants that `cargo check` does not, which must not add an error.
//!
//! The error about a future that is not `Send` is rustc's text (`return/not_send.rs`, `return/guard_over_an_await.rs`), which names the
//! value and the `await`. A custom text, `on_unimplemented` at a trait that represents `Send`, would replace them. The advice is a comment
//! after the bound: rustc shows that line.
//!
//! Exceptions: `#[tool]` on a function without `self` in an `impl` block without `#[tools]` gets four messages, since the macro has no
//! information about the block; a duplicate tool gets three. E0119 (`impl_block/two_blocks.rs`) cannot have a custom text, but shows the
//! name of the trait.
//!
//! `TRYBUILD=overwrite cargo test -p compile-errors --test ui` writes the expectations again.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Compiler whose messages are in the expectations.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn rejected_code_has_the_expected_messages() {
    let is_set = |name| std::env::var_os(name).is_some();
    if !is_set("UI_TESTS") && !is_set("TRYBUILD") {
        // The output goes directly to stderr, since the harness hides the output of a passing test.
        let ignored = "\nIGNORED: the compile-fail suite; set UI_TESTS=1 to run it\n";
        std::io::stderr().write_all(ignored.as_bytes()).unwrap();
        return;
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    if !version.starts_with(COMPILER) {
        // The output goes directly to stderr, since the harness hides the output of a passing test.
        let ignored = format!(
            "\nIGNORED: the compile-fail suite, whose texts are those of {COMPILER}x; this is {version}\n"
        );
        assert!(!is_required(), "{ignored}");
        std::io::stderr().write_all(ignored.as_bytes()).unwrap();
        return;
    }
    {
        // Test cases, which run on drop.
        trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
    }
    if is_required() && std::env::var_os("TRYBUILD").is_none() {
        build_has_the_same_number_of_messages();
    }
}

fn is_required() -> bool {
    std::env::var_os("UI_TESTS").is_some_and(|said| said == "required")
}

/// Builds the cases in the crate that `trybuild` has left, and compares the number of errors with the expectations.
fn build_has_the_same_number_of_messages() {
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tests/trybuild");
    let build = Command::new(env!("CARGO"))
        .args([
            "build",
            "--offline",
            "--keep-going",
            "--bins",
            "--quiet",
            "--message-format=json",
        ])
        .arg("--manifest-path")
        .arg(project.join("compile-errors/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &project)
        .output()
        .unwrap();
    let output = String::from_utf8(build.stdout).unwrap();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in output.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let message = text("/message/message");
        if text("/message/level") == "error" && !message.starts_with("aborting due to") {
            // cargo shows only one of several equal errors.
            let errors = found.entry(text("/target/src_path").to_owned());
            errors.or_default().insert(text("/message/rendered").to_owned());
        }
    }
    let mut cases = 0;
    for path in expectations() {
        let source = path.with_extension("rs").canonicalize().unwrap();
        let errors = found.remove(source.to_str().unwrap()).unwrap_or_default();
        assert_eq!(
            errors.len(),
            messages(&path).len(),
            "{}: {errors:#?}",
            source.display()
        );
        cases += 1;
    }
    assert!(cases >= 300 && found.is_empty(), "{cases} cases; {found:#?}");
}

/// Cases named `several_..` have several mistakes.
#[test]
fn one_mistake_gives_one_message() {
    let mut cases = 0;
    for path in expectations() {
        let name = path.display().to_string();
        let messages = messages(&path).len();
        assert_eq!(messages > 1, name.contains("several_"), "{messages} in {name}");
        assert!(path.with_extension("rs").exists(), "{name} has no case");
        cases += 1;
    }
    assert!(cases >= 300, "only {cases} cases");
}

/// Every case has its expectation. Without an expectation, `trybuild` would only request to write it.
#[test]
fn every_case_has_its_expectation() {
    for path in files("rs") {
        assert!(path.with_extension("stderr").exists(), "{}", path.display());
    }
}

/// An error under a complete attribute or function does not locate the mistake.
#[test]
fn carets_point_at_single_tokens() {
    for path in expectations() {
        let name = path.display().to_string();
        for message in messages(&path) {
            let pointed = pointed_at(&message).unwrap_or_else(|| panic!("{name} points nowhere:\n{message}"));
            assert!(!pointed.contains("#["), "{name}: a whole attribute: {pointed}");
            let is_function = pointed.contains("fn ") && pointed.contains('(');
            assert!(!is_function, "{name}: a whole function: {pointed}");
            let words = pointed.split_whitespace().count();
            assert!(words <= 6, "{name}: {pointed}");
        }
    }
}

/// The macro's messages are in the style of rustc's messages.
#[test]
fn messages_follow_the_style_of_rustc() {
    let mut ours = 0;
    for path in expectations() {
        for message in messages(&path) {
            let first = message.lines().next().unwrap_or_default();
            // The errors of rustc have a code.
            let Some(text) = first.strip_prefix("error: ") else {
                continue;
            };
            assert!(!text.starts_with(char::is_uppercase), "{text}");
            assert!(!text.ends_with('.'), "{text}");
            ours += 1;
        }
    }
    assert!(ours >= 150, "only {ours}");
}

/// Part of the source under an error's first carets.
fn pointed_at(message: &str) -> Option<String> {
    let mut source = "";
    for line in message.lines() {
        if line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            source = line;
        } else if let Some(start) = line.find('^') {
            let length = line[start..].chars().take_while(|c| *c == '^').count();
            let start = line[..start].chars().count();
            return Some(source.chars().skip(start).take(length).collect());
        }
    }
    None
}

/// The messages of one expectation, each with its notes.
fn messages(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut messages: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("error") || line.starts_with("warning") {
            messages.push(String::new());
        }
        if let Some(message) = messages.last_mut() {
            message.push_str(line);
            message.push('\n');
        }
    }
    messages
}

fn expectations() -> impl Iterator<Item = PathBuf> {
    files("stderr")
}

fn files(extension: &str) -> impl Iterator<Item = PathBuf> {
    fs::read_dir("tests/ui")
        .unwrap()
        .flat_map(|topic| fs::read_dir(topic.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(move |path| path.extension().is_some_and(|found| found == extension))
}
