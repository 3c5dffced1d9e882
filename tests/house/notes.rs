//! Checks that compiling crates contain the code that the compiler's notes advise.

use crate::sources::text;

/// Returns the attributes in the notes of a compile-fail case.
fn lines_to_write(case: &str) -> String {
    let message = text(&format!("tests/compile_errors/tests/ui/{case}.stderr"));
    let lines = message.lines().map(str::trim);
    let attributes: Vec<_> = lines.filter(|line| line.starts_with("#[")).collect();
    assert!(!attributes.is_empty(), "{message}");
    attributes.join("\n")
}

#[test]
fn lines_in_notes_compile() {
    let crate_without_serde = text("tests/users/follows_notes/src/lib.rs");
    let manifest = text("tests/users/follows_notes/Cargo.toml");
    assert!(!manifest.contains("serde") && !manifest.contains("schemars"));
    for (case, item) in [
        ("param/not_deserializable", "pub struct Place"),
        ("return/not_serializable", "pub struct Weather"),
    ] {
        let written = format!("\n{}\n{item}", lines_to_write(case));
        assert!(crate_without_serde.contains(&written), "{case}: {written}");
    }
}

/// Notes with a derive for users who have serde, a trait to add, and the features.
#[test]
fn items_in_notes_compile() {
    let notes = text("tests/compile_errors/tests/ui/param/not_deserializable.stderr");
    let derive = "#[derive(serde::Deserialize, schemars::JsonSchema)]";
    assert!(notes.contains(derive), "{notes}");
    assert!(text("tests/users/own_serde/src/lib.rs").contains(&format!("{derive}\npub struct Meeting")));
    let manifest = text("tests/users/own_serde/Cargo.toml");
    for name in ["chrono", "url", "uuid"] {
        assert!(notes.contains(name), "{name} is not in {notes}");
        let line = manifest.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.contains("\"serde\""), "{line}");
    }
    assert!(manifest.contains(r#"features = ["chrono", "url", "uuid"]"#));
    assert!(notes.contains("feature `rc`") && manifest.contains("\"rc\""));
    let notes = text("tests/compile_errors/tests/ui/param/default_not_serializable.stderr");
    assert!(notes.contains("tool_runtime::serde::Serialize"), "{notes}");
}
