//! Measures the accuracy and the speed of the repair, compared with other repairers. Writes Markdown to standard output.
//!
//! `cargo run --release` runs all sections; names of sections (`accuracy valid repr chunks stream attacks`) select them. `cargo run
//! --release -- recorded DIR` evaluates the recorded answers of models in `DIR` instead.

use std::path::Path;

mod clock;
mod others;
mod texts;

// Texts of the tests.
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/support/random.rs"]
mod random;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/support/exact_json.rs"]
mod exact_json;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/support/written.rs"]
mod written;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/support/deviations.rs"]
mod deviations;

mod accuracy;
mod attacks;
mod chunks;
mod recorded;
mod repr;
mod stream;
mod valid;

/// Name of a section, with its function.
type Section = (&'static str, fn());

const SECTIONS: [Section; 6] = [
    ("accuracy", accuracy::run),
    ("valid", valid::run),
    ("repr", repr::run),
    ("chunks", chunks::run),
    ("stream", stream::run),
    ("attacks", attacks::run),
];

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    if let [section, directory] = &*chosen
        && section == "recorded"
    {
        if let Err(error) = recorded::run(Path::new(directory)) {
            eprintln!("{error}; see the README for the repositories that the directory holds");
            std::process::exit(1);
        }
        return;
    }
    if let Some(unknown) = chosen
        .iter()
        .find(|name| SECTIONS.iter().all(|(it, _)| it != name))
    {
        eprintln!(
            "unknown section {unknown}; expected one of {}, or recorded DIR",
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
