//! Tests the README's first tool. Other code blocks of the README are documentation tests.

#![allow(dead_code, reason = "the example's own `main` is not called")]

use std::fs;
use std::path::Path;

use serde_json::Value;
use tool_runtime::{ToolCall, ToolOutcome};

// Copy of the tool in the README, which the first test compares.
include!("../examples/first_tool.rs");

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// Returns the fenced blocks of a section of the README.
fn blocks(chapter: &str) -> Vec<String> {
    let readme = text("README.md");
    let (_, rest) = readme.split_once(&format!("\n## {chapter}\n")).unwrap();
    let chapter = rest.split("\n## ").next().unwrap();
    let fenced = chapter.split("\n```").skip(1).step_by(2);
    fenced
        .map(|block| block.split_once('\n').unwrap().1.to_owned())
        .collect()
}

async fn call(input: &str) -> ToolOutcome {
    let mut registry = ToolRegistry::new();
    registry.register::<find_trains>().unwrap();
    registry
        .call(ToolCall::new("toolu_01", "find_trains", input))
        .await
}

#[test]
fn first_tool_is_the_example_of_that_name() {
    assert_eq!(
        blocks("Your first tool")[0],
        text("examples/first_tool.rs").trim_end(),
        "the README (left) and examples/first_tool.rs (right) differ; copy the newer one",
    );
}

/// Derived traits come from the crates that `tool-runtime` depends on.
#[test]
fn manifest_has_the_required_versions() {
    let manifest = &blocks("Before you start")[0];
    let workspace = text("Cargo.toml");
    for name in ["serde", "schemars"] {
        let major = |manifest: &str| {
            let lines = manifest.lines();
            let mut lines = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            let version = lines.next().unwrap_or_default();
            let digits = version.trim_start_matches(|c: char| !c.is_ascii_digit());
            digits
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .map(str::to_owned)
        };
        assert_eq!(major(manifest), major(&workspace), "{name}");
    }
}

#[test]
fn definition_is_as_shown() {
    let mut registry = ToolRegistry::new();
    registry.register::<find_trains>().unwrap();
    let shown: Value = serde_json::from_str(&blocks("What the model sees")[0]).unwrap();
    let seen = serde_json::to_value(registry.tool_definitions()[0]).unwrap();
    // Compared as text, because the model also sees the order of keys.
    assert_eq!(shown.to_string(), seen.to_string());
}

#[tokio::test]
async fn coerced_call_is_as_shown() {
    let [sent, result, warnings] = blocks("What happens to a sloppy call").try_into().unwrap();
    let outcome = call(&sent).await;
    let shown: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(shown, serde_json::to_value(&outcome.result).unwrap());
    let found: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.lines().collect::<Vec<_>>(), found);
}

#[tokio::test]
async fn rejected_call_is_as_shown() {
    let [sent, error] = blocks("What happens to a wrong call").try_into().unwrap();
    let outcome = call(&sent).await;
    assert!(outcome.result.is_error);
    assert_eq!(Some(error.as_str()), outcome.result.text());
}
