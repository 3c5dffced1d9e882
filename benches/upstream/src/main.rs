//! The gateway's upstream client, compared with reqwest and a bare hyper-util client, in one run. Writes Markdown to standard output.
//!
//! `cargo run --release` runs all sections, or only the sections named as arguments.

mod server;
mod clients;
mod contender;
mod statistics;
mod speed;
mod memory;
mod size;

/// Name of a section, with its function.
type Section = (&'static str, fn());

const SECTIONS: [Section; 3] = [
    ("speed", speed::run),
    ("memory", memory::run),
    ("size", size::run),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, contender, answer, server] = arguments.as_slice()
        && first == memory::CHILD
    {
        return memory::run_child(contender, answer, server);
    }
    if let Some(unknown) = arguments
        .iter()
        .find(|name| SECTIONS.iter().all(|(it, _)| it != name))
    {
        eprintln!(
            "unknown section {unknown}; expected one of: {}",
            SECTIONS.map(|(it, _)| it).join(" ")
        );
        std::process::exit(2);
    }
    for (name, run) in SECTIONS {
        if arguments.is_empty() || arguments.iter().any(|it| it == name) {
            run();
        }
    }
}
