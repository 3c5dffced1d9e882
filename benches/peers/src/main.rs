//! This runtime beside its peers and beside the same thing written by hand, in one run. The answer is Markdown on stdout.
//!
//! `cargo run --release` runs all of it; names of sections run only these.

mod arguments;
mod behaviour;
mod calls;
mod definitions;
mod size;
mod turns;

/// A section's name, and what runs it.
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

/// Runs the program that counts.
fn allocations() {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--release", "--bin", "allocations"]);
    if cfg!(not(feature = "others")) {
        cargo.arg("--no-default-features");
    }
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(status.expect("cargo runs").success());
}
