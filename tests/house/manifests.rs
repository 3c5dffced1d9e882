//! What the crates depend on, and what they share.

use crate::sources::{CRATES, text};

/// The names under a heading of a manifest.
fn names(manifest: &str, heading: &str) -> Vec<String> {
    let manifest = text(manifest);
    let (_, rest) = manifest
        .split_once(&format!("\n[{heading}]\n"))
        .unwrap_or_else(|| panic!("no [{heading}]"));
    let section = rest.split("\n[").next().unwrap_or(rest);
    let lines = section
        .lines()
        .filter(|line| line.contains('=') && !line.starts_with('#'));
    lines
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .map(str::to_owned)
        .collect()
}

/// Every user compiles these before anything else.
#[test]
fn the_macros_depend_on_three_crates() {
    assert_eq!(
        names("tool-macros/Cargo.toml", "dependencies"),
        ["proc-macro2", "quote", "syn"]
    );
}

/// The two speak a private protocol, so that any other pair of versions may not even compile.
#[test]
fn the_macros_are_pinned_to_the_runtime() {
    let workspace = text("Cargo.toml");
    let version = |line: &str| line.split('"').nth(1).map(str::to_owned).unwrap_or_default();
    let own = workspace
        .lines()
        .find(|line| line.starts_with("version = "))
        .map(version)
        .unwrap();
    let pin = workspace
        .lines()
        .find(|line| line.starts_with("tool-macros = "))
        .unwrap();
    assert!(
        pin.contains(&format!("\"={own}\"")),
        "`tool-macros` is pinned to `={own}` in Cargo.toml"
    );
}

#[test]
fn every_library_holds_the_workspaces_lints() {
    for name in CRATES {
        let manifest = text(&format!("{name}/Cargo.toml"));
        assert!(
            manifest.contains("[lints]\nworkspace = true\n"),
            "{name}/Cargo.toml ends with `[lints]` and `workspace = true`",
        );
        assert!(
            manifest.contains("rust-version.workspace = true"),
            "{name} promises the workspace's `rust-version`"
        );
    }
}
