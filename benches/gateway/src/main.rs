//! Speed and memory of the gateway, compared with a direct connection to the upstream, with a bare proxy of the same libraries, and with
//! its peers, in one run. Writes Markdown to standard output.
//!
//! `cargo run --release` runs all sections; names of sections select them. `guard` compares the instructions of requests with a file.

use std::process::ExitCode;

mod samples;
mod http1;
mod answer;
mod upstream;
mod floor;
mod process;
mod contestants;
mod load;
mod speed;
mod paced;
mod memory;
mod sessions;
mod recognition;
mod instructions;
mod guard;

/// The gateway's allocator, so that the floor does not differ in it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Name of a section, with its function.
type Section = (&'static str, fn());

const SECTIONS: [Section; 8] = [
    ("plain", speed::plain),
    ("streamed", speed::streamed),
    ("translated", speed::translated),
    ("paced", paced::run),
    ("memory", memory::run),
    ("sessions", sessions::run),
    ("recognition", recognition::run),
    ("instructions", instructions::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = |text: &String| text.parse().expect("an address");
    match arguments.as_slice() {
        // Child processes of this program.
        [role, listen] if role == "upstream" => {
            upstream::run(address(listen));
            return ExitCode::SUCCESS;
        }
        [role, listen, upstream] if role == "floor" => {
            floor::run(address(listen), address(upstream));
            return ExitCode::SUCCESS;
        }
        [role] if role == "guard" => return guard::run(),
        _ => {}
    }
    if option_env!("CARGO_INCREMENTAL") == Some("1") {
        eprintln!(
            "this was built with CARGO_INCREMENTAL=1, which inlines less: the floor would be slower; unset it"
        );
        return ExitCode::from(2);
    }
    if let Some(unknown) = arguments
        .iter()
        .find(|name| SECTIONS.iter().all(|(it, _)| it != name))
    {
        eprintln!(
            "unknown section {unknown}; expected one of: {}",
            SECTIONS.map(|(it, _)| it).join(" ")
        );
        return ExitCode::from(2);
    }
    for (name, run) in SECTIONS {
        if arguments.is_empty() || arguments.iter().any(|it| it == name) {
            run();
        }
    }
    ExitCode::SUCCESS
}
