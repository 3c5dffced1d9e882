//! How fast the repair is, beside what else does such work, in one run. The answer is Markdown on stdout.
//!
//! `cargo run --release` runs all of it; names of sections (`valid repr chunks stream attacks`) run only these.

mod clock;
mod others;
mod texts;

mod attacks;
mod chunks;
mod repr;
mod stream;
mod valid;

/// A section's name, and what runs it.
type Section = (&'static str, fn());

const SECTIONS: [Section; 5] = [
    ("valid", valid::run),
    ("repr", repr::run),
    ("chunks", chunks::run),
    ("stream", stream::run),
    ("attacks", attacks::run),
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
