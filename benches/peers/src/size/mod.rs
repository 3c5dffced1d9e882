//! Cost of the annotation before the first call: crates, compile time, code size.
//!
//! `SIZE_OF="tool-runtime tools-rs"` measures only these crates; `SIZE_OF=sample` measures only the code of larger tools.

mod contestants;
mod sample;
mod scratch;

use contestants::Contestant;
use scratch::{Command, Project};

/// Number of generated tools.
const TOOLS: usize = 100;

pub fn run() {
    let chosen = std::env::var("SIZE_OF").ok();
    let is_chosen = |name: &str| {
        chosen
            .as_deref()
            .is_none_or(|all| all.split(' ').any(|it| it == name))
    };
    let all = contestants::all();
    let chosen: Vec<_> = all.iter().filter(|it| is_chosen(it.name)).collect();
    if !chosen.is_empty() {
        println!("## Compile time\n");
        println!(
            "Seconds of processor time, one job, without incremental compilation, dependencies at their default"
        );
        println!("features; the {TOOLS} tools are added to a program whose dependencies are compiled.\n");
        println!(
            "| crate | crates in the tree | cold debug build | {TOOLS} tools: `cargo check` | `cargo build` |"
        );
        println!("|---|---|---|---|---|");
        chosen.into_iter().for_each(measure);
        println!();
    }
    if is_chosen("sample") {
        sample::run();
    }
}

fn measure(contestant: &Contestant) {
    let project = Project::new(contestant.name, contestant.dependencies);
    project.write(&contestant.program(0));
    let crates = project.crates();
    project.time(Command::Fetch);
    let cold = project.time(Command::Build);
    let build = project.added(
        Command::Build,
        &[contestant.program(0), contestant.program(TOOLS)],
    );
    assert_eq!(
        project.run(),
        TOOLS.to_string(),
        "{} registers all tools",
        contestant.name
    );
    let check = project.added(
        Command::Check,
        &[contestant.program(0), contestant.program(TOOLS)],
    );
    println!(
        "| {} | {crates} | {cold:.1} | {} | {} |",
        contestant.name,
        scratch::range(&check),
        scratch::range(&build)
    );
}
