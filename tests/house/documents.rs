//! Checks documents against the code: equal blocks in both READMEs, a description of every example, a row for every key.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tool_runtime::CancellationToken;
use tool_runtime::issue::Code;
use tool_runtime::repair::FixCode;

use crate::sources::text;

/// Returns the fenced blocks of a document, each with its info string.
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
fn readme_is_short() {
    let lines = text("README.md").lines().count();
    assert!(
        lines <= 230,
        "README.md has {lines} lines, at most 230 are allowed; move details to the guide or to docs/",
    );
}

/// The package needs its own README; a link cannot become outdated.
#[test]
fn readme_of_the_runtime_is_the_readme() {
    assert!(
        text("tool-runtime/README.md") == text("README.md"),
        "tool-runtime/README.md is not README.md; make it a link: ln -sf ../README.md tool-runtime/README.md",
    );
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

/// R-TODO-31
#[test]
fn readme_names_the_two_commands() {
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
fn readme_names_every_example() {
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
    let page = text("examples/README.md");
    for name in names.iter().chain([&"gateway"]) {
        assert!(
            page.contains(&format!("\n| `{name}` | ")),
            "examples/README.md does not describe the example `{name}`; add a row to its table",
        );
        for readme in ["README.md", "README.zh-CN.md"] {
            assert!(
                text(readme).contains(&format!("`{name}`")),
                "{readme} does not name the example `{name}`"
            );
        }
    }
}

#[test]
fn readme_of_the_repair_has_its_example() {
    let readme = blocks("tool-repair/README.md");
    let example = text("tool-repair/examples/repair_arguments.rs");
    assert_eq!(
        readme.first().map(|(_, code)| code),
        Some(&example),
        "the first block of tool-repair/README.md (left) and tool-repair/examples/repair_arguments.rs (right) differ",
    );
}

#[test]
fn rules_of_coercion_name_every_code() {
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let missing = not_in("docs/coercion.md", codes, |code| format!("`{code}`"));
    assert!(
        missing.is_empty(),
        "docs/coercion.md says when each code arises; it does not name: {missing}",
    );
}

#[test]
fn reference_of_the_repair_names_every_code() {
    let codes = FixCode::ALL.iter().map(|code| code.as_str());
    let missing = not_in("tool-cli/README.md", codes, |code| format!("\n| `{code}` | "));
    assert!(
        missing.is_empty(),
        "tool-cli/README.md has a row for each code of a repair; it has none for: {missing}",
    );
}

/// The documents write `CancellationToken::GRACE_PERIOD` as "50 ms to answer".
#[test]
fn documents_state_the_grace_period() {
    let grace_period = CancellationToken::GRACE_PERIOD.as_millis().to_string();
    let mut statements = 0;
    for document in ["ARCHITECTURE.md", "docs/faults.md", "docs/guide/05_host.md"] {
        let text = text(document);
        for (before, _) in text.match_indices(" ms to ").map(|(at, _)| text.split_at(at)) {
            let stated = before.rsplit(' ').next();
            assert_eq!(
                stated,
                Some(&*grace_period),
                "{document} (left), `GRACE_PERIOD` (right)"
            );
            statements += 1;
        }
    }
    assert!(statements > 0, "no document states the grace period");
}

/// Returns the codes that a document does not contain in its own notation.
fn not_in(
    document: &str,
    codes: impl Iterator<Item = &'static str>,
    written: impl Fn(&str) -> String,
) -> String {
    let held = text(document);
    let missing: Vec<&str> = codes.filter(|code| !held.contains(&written(code))).collect();
    missing.join(", ")
}

/// Returns the names in an enum of keys, from the macro's source.
fn keys_in_source(keys: &str) -> BTreeSet<String> {
    let source = text("tool-macros/src/keys.rs");
    let (_, rest) = source
        .split_once(&format!("\n    {keys} of "))
        .unwrap_or_else(|| panic!("tool-macros/src/keys.rs has no `{keys}`"));
    let (_, rest) = rest.split_once('{').unwrap();
    let (variants, _) = rest.split_once('}').unwrap();
    variants
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Returns the keys in the first column of the first table after `heading`. Each code span in this column begins with a key.
fn keys_in_table(document: &str, heading: &str) -> BTreeSet<String> {
    let document_text = text(document);
    let (_, rest) = document_text
        .split_once(heading)
        .unwrap_or_else(|| panic!("{document} has no {heading:?}"));
    let rows = rest
        .lines()
        .skip(1)
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let codes = rows.flat_map(|row| {
        let cell = row.split(" | ").next().unwrap_or_default();
        cell.split('`').skip(1).step_by(2)
    });
    codes
        .map(|code| code.split(|c: char| c != '_' && !c.is_ascii_lowercase()).next())
        .map(|key| key.unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn tables_of_keys_match_the_macro() {
    let tables = [
        (
            "tool-runtime/src/docs/tool.md",
            "# Keys of `#[tool(..)]`",
            "ToolKey",
        ),
        (
            "tool-runtime/src/docs/tool.md",
            "# Keys of `#[arg(..)]`",
            "ArgKey",
        ),
    ];
    for (document, heading, keys) in tables {
        assert_eq!(
            keys_in_table(document, heading),
            keys_in_source(keys),
            "the table after {heading:?} in {document} (left) and `{keys}` in tool-macros/src/keys.rs (right)",
        );
    }
}
