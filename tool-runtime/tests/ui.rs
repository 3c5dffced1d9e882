//! Mistakes, and what the compiler says about each: exactly one error, under the smallest guilty token.
//!
//! The texts are those of one compiler, [`COMPILER`]; with another, the comparison is ignored, and says so. With
//! `UI_TESTS=required` in the environment it fails instead: where that compiler is there on purpose.
//!
//! `TRYBUILD=overwrite cargo test -p tool-runtime --test ui` writes the expectations anew.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// The compiler whose words the expectations hold.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    if !version.starts_with(COMPILER) {
        // Straight to stderr: the harness hides what a passing test prints.
        let ignored = format!(
            "\nIGNORED: the compile-fail suite, whose texts are those of {COMPILER}x; this is {version}\n"
        );
        assert!(
            std::env::var_os("UI_TESTS").is_none_or(|said| said != "required"),
            "{ignored}"
        );
        std::io::stderr().write_all(ignored.as_bytes()).unwrap();
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}

/// Cases named `several_..` hold several.
#[test]
fn one_mistake_gives_one_message() {
    let mut cases = 0;
    for path in expectations() {
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let messages = text
            .lines()
            .filter(|line| line.starts_with("error") || line.starts_with("warning"))
            .count();
        assert_eq!(messages > 1, name.contains("several_"), "{messages} in {name}");
        assert!(path.with_extension("rs").exists(), "{name} has no case");
        cases += 1;
    }
    assert!(cases >= 100, "only {cases} cases");
}

/// An error under the whole attribute points at nothing.
#[test]
fn no_message_points_at_a_whole_attribute() {
    for path in expectations() {
        let text = fs::read_to_string(&path).unwrap();
        for attribute in ["#[tool]", "#[tools]"] {
            let whole = "^".repeat(attribute.len());
            let lines: Vec<&str> = text.lines().collect();
            let pointed = lines
                .windows(2)
                .any(|pair| pair[0].ends_with(attribute) && pair[1].contains(&whole));
            assert!(!pointed, "{}", path.display());
        }
    }
}

fn expectations() -> impl Iterator<Item = PathBuf> {
    fs::read_dir("tests/ui")
        .unwrap()
        .flat_map(|topic| fs::read_dir(topic.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "stderr"))
}
