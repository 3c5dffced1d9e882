//! This runtime, compared with its peers and with handwritten code, in one run. Writes Markdown to standard output.
//!
//! `cargo run --release` runs all sections; names of sections select them.

mod arguments;
mod behaviour;
mod calls;
mod definitions;
mod size;
mod turns;

/// Name of a section, with its function.
type Section = (&'static str, fn());

const SECTIONS: [Section; 7] = [
    ("calls", calls::run),
    ("turns", turns::run),
    ("arguments", arguments::run),
    ("allocations", allocations),
    ("definitions", definitions::run),
    ("behaviour", behaviour::run),
    ("size", size::run),
];

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = chosen
        .iter()
        .find(|name| SECTIONS.iter().all(|(it, _)| it != name))
    {
        eprintln!(
            "no section is called {unknown}; there are: {}",
            SECTIONS.map(|(it, _)| it).join(" ")
        );
        std::process::exit(2);
    }
    for (name, run) in SECTIONS {
        if chosen.is_empty() || chosen.iter().any(|it| it == name) {
            run();
        }
    }
}

/// Runs the counting program.
fn allocations() {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--release", "--bin", "allocations"]);
    if cfg!(not(feature = "others")) {
        cargo.arg("--no-default-features");
    }
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(status.expect("cargo runs").success());
}
