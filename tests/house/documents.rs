//! What is written about the code is true: both READMEs alike, every example named.

use std::fmt::Write as _;

use tool_runtime::issue::Code;

use crate::sources::text;

/// The fenced blocks of a document, each with its info string.
fn blocks(document: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text(document).lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((info.to_owned(), String::new())),
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some((_, code))) => {
                let _ = writeln!(code, "{line}");
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{document} ends inside a fenced block");
    found
}

#[test]
fn both_readmes_have_the_same_code_blocks() {
    let (english, chinese) = (blocks("README.md"), blocks("README.zh-CN.md"));
    for (place, (english, chinese)) in english.iter().zip(&chinese).enumerate() {
        assert_eq!(
            english,
            chinese,
            "code block {} differs between README.md (left) and README.zh-CN.md (right); copy the newer one",
            place + 1,
        );
    }
    assert_eq!(
        english.len(),
        chinese.len(),
        "README.md (left) and README.zh-CN.md (right) have different numbers of code blocks",
    );
}

#[test]
fn the_readme_names_the_two_commands() {
    for command in ["cargo run --example agent_loop", "cargo test --workspace"] {
        assert!(
            blocks("README.md")
                .iter()
                .any(|(_, code)| code.lines().any(|line| line == command)),
            "README.md has no fenced block with `{command}` at the start of its line",
        );
    }
}

#[test]
fn the_readme_names_every_example() {
    let manifest = text("examples/Cargo.toml");
    let names: Vec<&str> = manifest
        .split("[[example]]")
        .skip(1)
        .filter_map(|entry| entry.split('"').nth(1))
        .collect();
    assert!(
        !names.is_empty(),
        "examples/Cargo.toml lists the examples, `name` first"
    );
    for readme in ["README.md", "README.zh-CN.md"] {
        for name in &names {
            assert!(
                text(readme).contains(&format!("`{name}`")),
                "{readme} does not name the example `{name}`; add a line to its table of examples",
            );
        }
    }
}

#[test]
fn the_rules_of_coercion_name_every_code() {
    let rules = text("docs/coercion.md");
    let unnamed = |code: &&Code| !rules.contains(&format!("`{code}`"));
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(unnamed)
        .map(|code| code.as_str())
        .collect();
    assert!(
        missing.is_empty(),
        "docs/coercion.md says when each code arises; it does not name: {}",
        missing.join(", "),
    );
}
