//! The expansion of a program with a tool, in the format of `cargo expand`, contains the exact code that the macro's own tests expect.
//!
//! The surrounding code depends on the compiler, which must be the one of the compile-fail suite (`tests/compile_errors/tests/ui.rs`). With another
//! compiler, this test is ignored with a message. `UPDATE_GOLDEN=1 cargo test -p tests --test guide` updates the file.

use std::cmp::Reverse;
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{file, text};

const PROGRAM: &str = "tests/guide/weather.rs";
const EXPANDED: &str = "tests/guide/weather.expanded.rs";
const INPUT: &str = "tool-macros/tests/expansion/two_parameters.rs";
const SNAPSHOT: &str = "tool-macros/tests/expansion/two_parameters.expanded.rs";

#[test]
fn cargo_expand_prints_the_output_of_the_macro() {
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

/// Expands a program like `cargo expand`, but without cargo: the libraries come from this test's build.
fn expand() -> String {
    let libraries = env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut failure = format!("no tool_runtime in {}", libraries.display());
    for runtime in builds(&libraries) {
        let output = Command::new(rustc())
            .env("RUSTC_BOOTSTRAP", "1") // on a stable compiler, as `cargo expand` does it
            .args(["-Zunpretty=expanded", "--edition=2024"])
            .arg(format!("-Ldependency={}", libraries.display()))
            .arg(format!("--extern=tool_runtime={}", runtime.display()))
            .arg(file(PROGRAM))
            .output()
            .unwrap();
        if output.status.success() {
            let expanded = String::from_utf8(output.stdout).unwrap();
            return prettyplease::unparse(&syn::parse_file(&expanded).unwrap());
        }
        failure = String::from_utf8_lossy(&output.stderr).into_owned();
        if !failure.contains("E0514") {
            break; // anything else than a build by another compiler
        }
    }
    panic!("{failure}");
}

/// Returns the builds of the runtime, the newest first. The newest build has the current source, with any features.
fn builds(libraries: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(libraries).unwrap().map(|file| file.unwrap().path());
    let mut builds: Vec<PathBuf> = files
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libtool_runtime-") && name.ends_with(".rlib")
        })
        .collect();
    builds.sort_by_key(|path| Reverse(path.metadata().unwrap().modified().unwrap()));
    builds
}

fn is_expected_compiler() -> bool {
    let suite = text("tests/compile_errors/tests/ui.rs");
    let (_, expected) = suite.split_once("const COMPILER: &str = \"").unwrap();
    let (expected, _) = expected.split_once('"').unwrap();
    let version = Command::new(rustc()).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    if version.starts_with(expected) {
        return true;
    }
    // Written directly to standard error, since the test harness captures printed output.
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
