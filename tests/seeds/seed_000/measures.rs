//! What can be counted about the source, and constraints on it.

use serde_json::json;

use super::{read, registry, todo, write};

const SOURCE: &str = include_str!("../../../tool-builtins/src/todo.rs");

#[test]
fn nf_4_1_measure_lines() {
    let lines = SOURCE.bytes().filter(|byte| *byte == b'\n').count(); // as `wc -l`
    assert!(lines < 500, "{lines} lines");
}

#[test]
fn nf_4_1_measure_concepts() {
    let concepts = [
        "Registration",
        "tool_use_id",
        "tool_result",
        "Schema definition",
        "Async execution",
        "Parameter validation",
    ];
    let mut rest = SOURCE;
    for (number, concept) in (1..).zip(concepts) {
        let comment = format!("// {number}. {concept}. ");
        let found = rest
            .find(&comment)
            .unwrap_or_else(|| panic!("`{comment}` is not there, or out of order"));
        rest = &rest[found..];
    }
}

#[test]
fn nf_4_3_usability_one_command() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    for command in ["cargo test --workspace", "cargo run --example agent_loop"] {
        assert!(
            readme.lines().any(|line| line == command),
            "`{command}` stands at the start of a line"
        );
    }
}

#[test]
fn nf_4_3_usability_example() {
    let manifest =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/Cargo.toml")).unwrap();
    assert!(manifest.contains("\"todo\""), "`cargo run --example todo` runs");
}

#[tokio::test]
async fn nf_5_1_constraint_memory_only() {
    for reach in ["std::fs", "tokio::fs", "std::net", "std::env", "static "] {
        assert!(!SOURCE.contains(reach), "todo.rs reaches for `{reach}`");
    }
    let first = registry();
    write(&first, json!([todo("a")])).await;
    assert_eq!(
        read(&registry()).await,
        r#"{"todos":[]}"#,
        "another store knows nothing of it"
    );
}
