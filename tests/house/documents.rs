//! What is written about the code is true: both READMEs alike, every file and every example named.

use std::fmt::Write as _;

use crate::sources::{CRATES, files, root, shown, text};

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
fn the_architecture_names_every_file() {
    let architecture = text("ARCHITECTURE.md");
    let mut missing = Vec::new();
    for name in CRATES {
        let source = root().join(name).join("src");
        for file in files(&source, "rs") {
            let path = file
                .strip_prefix(&source)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            if !section(&architecture, name).contains(&format!("`{path}`")) {
                missing.push(shown(&file));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md has one line for each source file in the section of its crate, \
         its path below `src/` between backticks; add:\n  {}",
        missing.join("\n  "),
    );
}

#[test]
fn the_architecture_names_no_file_that_is_gone() {
    let architecture = text("ARCHITECTURE.md");
    let mut gone = Vec::new();
    for name in CRATES {
        let named = section(&architecture, name)
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|it| it.ends_with(".rs") && !it.contains(' '));
        for path in named {
            if !root().join(name).join("src").join(path).exists() {
                gone.push(format!("{name}/src/{path}"));
            }
        }
    }
    assert!(
        gone.is_empty(),
        "ARCHITECTURE.md names files that are not there:\n  {}",
        gone.join("\n  ")
    );
}

/// What stands under the heading `## \`name\`` of a crate.
fn section<'a>(architecture: &'a str, name: &str) -> &'a str {
    let heading = format!("\n## `{name}`");
    let (_, section) = architecture
        .split_once(&heading)
        .unwrap_or_else(|| panic!("ARCHITECTURE.md has no section `{}`", heading.trim()));
    section.split("\n## ").next().unwrap_or(section)
}
