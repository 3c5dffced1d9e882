//! The gateway's speed and memory beside the same upstream without a proxy, beside a bare proxy of the same libraries, and
//! beside its peers, in one run. The answer is Markdown on stdout.
//!
//! `cargo run --release` runs all of it; names of sections run only these.

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

/// The gateway's, so that it is no difference between it and the floor.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A section's name, and what runs it.
type Section = (&'static str, fn());

const SECTIONS: [Section; 7] = [
    ("plain", speed::plain),
    ("streamed", speed::streamed),
    ("paced", paced::run),
    ("memory", memory::run),
    ("sessions", sessions::run),
    ("recognition", recognition::run),
    ("instructions", instructions::run),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = |text: &String| text.parse().expect("an address");
    match arguments.as_slice() {
        // Processes that this program starts.
        [role, listen] if role == "upstream" => return upstream::run(address(listen)),
        [role, listen, upstream] if role == "floor" => return floor::run(address(listen), address(upstream)),
        _ => {}
    }
    if option_env!("CARGO_INCREMENTAL") == Some("1") {
        eprintln!(
            "this was built with CARGO_INCREMENTAL=1, which inlines less: the floor would be slower; unset it"
        );
        std::process::exit(2);
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
