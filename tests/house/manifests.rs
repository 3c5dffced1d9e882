//! Checks the dependencies of the crates, and the keys that their manifests share.

use crate::sources::{CRATES, text};

/// Returns the names under a heading of a manifest.
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

/// Every user compiles these crates before any other.
#[test]
fn macros_depend_on_three_crates() {
    assert_eq!(
        names("tool-macros/Cargo.toml", "dependencies"),
        ["proc-macro2", "quote", "syn"]
    );
}

/// Users find a feature only in a README.
#[test]
fn readmes_name_every_feature() {
    for readme in ["README.md", "README.zh-CN.md"] {
        let document = text(readme);
        for name in names("tool-runtime/Cargo.toml", "features") {
            assert!(
                document
                    .lines()
                    .any(|line| line.starts_with("| ") && line.contains(&format!("`{name}`"))),
                "{readme} has no row for the feature `{name}` in its table of features",
            );
        }
    }
}

/// `cargo run --example` is the first command of a newcomer.
#[test]
fn examples_build_neither_the_gateway_nor_the_features_of_the_tests() {
    assert!(!names("examples/Cargo.toml", "dependencies").contains(&"tool-gateway".to_owned()));
    let workspace = text("Cargo.toml");
    let built = workspace
        .lines()
        .find(|line| line.starts_with("default-members = "));
    assert!(built.is_some_and(|line| line.contains("\"examples\"") && !line.contains("\"tests\"")));
}

/// A user who only repairs texts compiles no other crate.
#[test]
fn every_dependency_of_the_repair_is_behind_a_feature() {
    let manifest = text("tool-repair/Cargo.toml");
    for name in names("tool-repair/Cargo.toml", "dependencies") {
        assert!(
            manifest.contains(&format!("\n{name} = {{ workspace = true, optional = true }}\n")),
            "`{name}` is not optional in tool-repair/Cargo.toml",
        );
    }
    let readme = text("tool-repair/README.md");
    for name in names("tool-repair/Cargo.toml", "features") {
        assert!(
            readme.contains(&format!("\n| `{name}` | ")),
            "tool-repair/README.md has no row for the feature `{name}` in its table of features",
        );
    }
}

/// `cargo test --workspace` builds no SDK, and a user only the parts of the used features.
#[test]
fn every_dependency_of_tool_mcp_is_behind_a_feature() {
    let manifest = text("tool-mcp/Cargo.toml");
    for heading in ["dependencies", "target.'cfg(unix)'.dependencies"] {
        for name in names("tool-mcp/Cargo.toml", heading) {
            let line = manifest
                .lines()
                .find(|line| line.starts_with(&format!("{name} = {{")));
            assert!(
                line.is_some_and(|line| line.contains("optional = true")),
                "`{name}` is not optional in tool-mcp/Cargo.toml"
            );
        }
    }
    let features = names("tool-mcp/Cargo.toml", "features");
    assert!(!features.contains(&"default".to_owned()));
    let readme = text("tool-mcp/README.md");
    for name in features {
        assert!(
            readme.contains(&format!("\n| `{name}` | ")),
            "tool-mcp/README.md has no row for the feature `{name}` in its table of features",
        );
    }
}

/// The commands `repair` and `check` are built without a server.
#[test]
fn repair_and_check_need_no_server() {
    let dependencies = names("tool-cli/Cargo.toml", "dependencies");
    for server in [
        "tool-gateway",
        "tool-builtins",
        "axum",
        "hyper",
        "tokio",
        "rustls",
        "redb",
    ] {
        assert!(
            !dependencies.contains(&server.to_owned()),
            "tool-cli depends on {server}"
        );
    }
    let gateway = text("tool-gateway/Cargo.toml");
    let optional = gateway.lines().filter(|line| line.contains("optional = true"));
    for line in optional {
        let name = line.split(' ').next().unwrap_or_default();
        assert!(
            name.contains("opentelemetry") || ["redis", "tool-mcp"].contains(&name),
            "tool-gateway has no feature for `{name}`"
        );
    }
    assert_eq!(
        names("tool-gateway/Cargo.toml", "features"),
        ["default", "mcp", "otlp", "redis"]
    );
}

/// Crates with a private protocol, and the library of a program. Other versions may not compile.
#[test]
fn crates_with_private_interfaces_are_pinned() {
    let workspace = text("Cargo.toml");
    let version = |line: &str| line.split('"').nth(1).map(str::to_owned).unwrap_or_default();
    let own = workspace
        .lines()
        .find(|line| line.starts_with("version = "))
        .map(version)
        .unwrap();
    for name in ["tool-runtime-macros", "tool-repair", "tool-cli"] {
        let pin = workspace
            .lines()
            .find(|line| line.starts_with(&format!("{name} = ")))
            .unwrap();
        assert!(
            pin.contains(&format!("\"={own}\"")),
            "`{name}` is pinned to `={own}` in Cargo.toml"
        );
    }
}

#[test]
fn every_library_inherits_the_workspace_lints() {
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
