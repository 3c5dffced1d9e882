//! What the compiler makes of a program with a tool, as `cargo expand` prints it, and what the macro's own tests say it
//! writes: the second stands in the first, letter for letter.
//!
//! The words around it are those of one compiler, the one of the compile-fail suite (`tool-runtime/tests/ui.rs`); with
//! another this is ignored, and says so. `UPDATE_GOLDEN=1 cargo test -p tests --test guide` writes the file anew.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use crate::{file, text};

const PROGRAM: &str = "tests/guide/weather.rs";
const EXPANDED: &str = "tests/guide/weather.expanded.rs";
const INPUT: &str = "tool-macros/tests/expansion/two_parameters.rs";
const SNAPSHOT: &str = "tool-macros/tests/expansion/two_parameters.expanded.rs";

#[test]
fn cargo_expand_shows_what_the_macro_writes() {
    assert!(
        text(PROGRAM).contains(&text(INPUT)),
        "{PROGRAM} has the tool of {INPUT}"
    );
    if !is_expected_compiler() {
        return;
    }
    let expanded = expand();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(file(EXPANDED), &expanded).unwrap();
    }
    assert_eq!(
        text(EXPANDED),
        expanded,
        "{EXPANDED} (left), and what the compiler makes of {PROGRAM} (right); if the change is meant, \
         UPDATE_GOLDEN=1 writes the file anew",
    );
    assert!(
        expanded.contains(&text(SNAPSHOT)),
        "{SNAPSHOT} does not stand in what the compiler makes of it:\n{expanded}",
    );
}

/// What `cargo expand` does, without cargo: the libraries are those that this test was built with.
fn expand() -> String {
    let libraries = env::current_exe().unwrap().parent().unwrap().to_owned();
    let output = Command::new(rustc())
        .env("RUSTC_BOOTSTRAP", "1") // on a stable compiler, as `cargo expand` does it
        .args(["-Zunpretty=expanded", "--edition=2024"])
        .arg(format!("-Ldependency={}", libraries.display()))
        .arg(format!("--extern=tool_runtime={}", newest(&libraries).display()))
        .arg(file(PROGRAM))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let expanded = String::from_utf8(output.stdout).unwrap();
    prettyplease::unparse(&syn::parse_file(&expanded).unwrap())
}

/// The runtime as it is now: builds with other features lie beside it, none of them newer than the source.
fn newest(libraries: &PathBuf) -> PathBuf {
    let candidates = fs::read_dir(libraries).unwrap().map(|file| file.unwrap().path());
    candidates
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libtool_runtime-") && name.ends_with(".rlib")
        })
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .unwrap_or_else(|| panic!("no tool_runtime in {}", libraries.display()))
}

fn is_expected_compiler() -> bool {
    let suite = text("tool-runtime/tests/ui.rs");
    let (_, expected) = suite.split_once("const COMPILER: &str = \"").unwrap();
    let (expected, _) = expected.split_once('"').unwrap();
    let version = Command::new(rustc()).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    if version.starts_with(expected) {
        return true;
    }
    // Straight to stderr: the harness hides what a passing test prints.
    let ignored = format!(
        "\nIGNORED: the expansion in the guide, whose text is that of {expected}x; this is {version}\n"
    );
    assert!(
        env::var_os("UI_TESTS").is_none_or(|said| said != "required"),
        "{ignored}"
    );
    std::io::stderr().write_all(ignored.as_bytes()).unwrap();
    false
}

fn rustc() -> std::ffi::OsString {
    env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}
