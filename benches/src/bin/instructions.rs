//! Instructions of a correct call, compared with `instructions.txt` to detect gradual growth.
//!
//! ```sh
//! cd benches && cargo run --release --bin instructions                    # compare
//! cd benches && UPDATE_GOLDEN=1 cargo run --release --bin instructions    # accept the counted values
//! ```
//!
//! The counts come from valgrind's `callgrind`. Without valgrind, the program prints a message and does nothing, unless
//! `INSTRUCTIONS=required` is set.
//!
//! The count is equal on every machine. It includes only the code of this program: the crates of this repository, serde, tokio and the
//! standard library. The instructions of the C library are excluded, since `memcpy` differs between machines. Each request for memory is an
//! allocation. Each work runs in two processes, in one of them three times as often, and only the difference is counted, so the start and
//! the end of the program cancel out. Another compiler generates other instructions, so differences are no failure with a compiler that is
//! not in `instructions.txt`, and on other processors.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;
use tool_builtins::todo::todo_write;
use tool_runtime::{RawArguments, ToolRegistry, tool};

/// Accepted difference from the expected count, in either direction.
const TOLERANCE: f64 = 0.03;

/// Number of repetitions of a work; the second run has three times as many.
const TIMES: usize = 200;
const MOST: usize = 3 * TIMES;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");

const UPDATE: &str = "cd benches && UPDATE_GOLDEN=1 cargo run --release --bin instructions";

/// Name of a work with its tool, and whether its arguments are text.
const WORKS: [(&str, &str, bool); 4] = [
    ("search_files from text", "search_files", true),
    ("search_files from a value", "search_files", false),
    ("TodoWrite with 20 todos from text", "TodoWrite", true),
    ("TodoWrite with 20 todos from a value", "TodoWrite", false),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => guard(),
        [name, times] => {
            work(name, times.parse().expect("a number"));
            ExitCode::SUCCESS
        }
        _ => panic!("expected no arguments, or the name of a work and a number of repetitions"),
    }
}

// The measured work.

/// Search files in the project.
#[tool]
async fn search_files(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    #[arg(default = true)]
    case_sensitive: bool,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: i64,
) -> String {
    format!(r#"{{"pattern":"{pattern}","case_sensitive":{case_sensitive},"max_results":{max_results}}}"#)
}

fn work(name: &str, times: usize) {
    let (_, tool, from_text) = *WORKS.iter().find(|work| work.0 == name).expect("a work's name");
    let text = match tool {
        "search_files" => r#"{"pattern":"*.rs","case_sensitive":false,"max_results":25}"#.to_owned(),
        _ => twenty_todos(),
    };
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let mut registry = ToolRegistry::new();
    registry.register::<search_files>().expect("a tool");
    registry.register::<todo_write>().expect("a tool");
    // The maximum number of arguments, so that their creation cancels out.
    let mut inputs = (0..MOST)
        .map(|_| {
            if from_text {
                text.as_str().into()
            } else {
                value.clone().into()
            }
        })
        .collect::<Vec<RawArguments>>()
        .into_iter();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for input in inputs.by_ref().take(times) {
            let result = registry.execute_tool("toolu_01", black_box(tool), input).await;
            assert!(!black_box(result).is_error);
        }
    });
    std::mem::forget(inputs);
}

fn twenty_todos() -> String {
    let todos: Vec<_> = (0..20)
        .map(|number| {
            format!(
                r#"{{"content":"Read file number {number}","status":"in_progress","activeForm":"Reading file number {number}"}}"#
            )
        })
        .collect();
    format!(r#"{{"todos":[{}]}}"#, todos.join(","))
}

// Comparison with the expected counts.

/// Instructions and allocations.
type Counts = (f64, f64);

fn guard() -> ExitCode {
    if option_env!("CARGO_INCREMENTAL") == Some("1") {
        eprintln!(
            "this was built with CARGO_INCREMENTAL=1, which inlines less: its counts are up to 8 % off; unset it"
        );
        return ExitCode::FAILURE;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind is not installed; install it with `apt-get install valgrind`");
        let required = std::env::var_os("INSTRUCTIONS").is_some_and(|it| it == "required");
        return ExitCode::from(u8::from(required));
    }
    let counted: Vec<Counts> = WORKS.iter().map(|(name, ..)| count(name)).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|it| it != "0") {
        std::fs::write(GOLDEN, golden(&counted)).expect("the file can be written");
        println!("{GOLDEN} is written");
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    let expected = expected(&golden);
    let mut fails = false;
    println!(
        "{:36} {:>12} {:>12} {:>8} {:>12}",
        "of one call", "instructions", "expected", "", "allocations"
    );
    for ((name, ..), counted) in WORKS.iter().zip(&counted) {
        let (instructions, allocations) = expected.get(name).copied().unwrap_or_default();
        let off = counted.0 / instructions - 1.0;
        fails |= off.is_nan() || off.abs() > TOLERANCE || counted.1 != allocations;
        println!(
            "{name:36} {:>12.0} {instructions:>12.0} {:>+7.1}% {:>6} of {allocations:>2}",
            counted.0,
            off * 100.0,
            counted.1
        );
    }
    if !fails {
        return ExitCode::SUCCESS;
    }
    let tolerance = TOLERANCE * 100.0;
    eprintln!(
        "\nmore than {tolerance} % off, or another number of allocations.\n\
         More: something on the way of every call became dearer; mend it, or say in the commit why it is worth that.\n\
         Fewer: well done, and now hold it.\nIn both cases: {UPDATE}"
    );
    let here = compiler();
    if golden.lines().any(|line| line == here) {
        return ExitCode::FAILURE;
    }
    eprintln!("no failure: the expected values were counted with another compiler than {here}");
    ExitCode::SUCCESS
}

fn golden(counted: &[Counts]) -> String {
    let mut text = format!(
        "What one call takes: instructions outside of the C library, and allocations.\nMade by: {UPDATE}\n\n{}\n\n",
        compiler()
    );
    for ((name, ..), (instructions, allocations)) in WORKS.iter().zip(counted) {
        // Writes to a string cannot fail.
        let _ = writeln!(text, "{name}: {instructions:.0}, {allocations}");
    }
    text
}

fn expected(golden: &str) -> BTreeMap<&str, Counts> {
    let counts = |line: &str| {
        let (instructions, allocations) = line.split_once(", ")?;
        Some((instructions.parse().ok()?, allocations.parse().ok()?))
    };
    golden
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter_map(|(name, line)| Some((name, counts(line)?)))
        .collect()
}

fn compiler() -> String {
    let version = Command::new("rustc")
        .arg("--version")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    format!(
        "{} on {}-{}",
        version.trim(),
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}

// The measurement.

fn count(name: &str) -> Counts {
    let [once, most] = [TIMES, MOST].map(|times| callgrind(name, times));
    let a_call = |most: u64, once: u64| ((most - once) as f64 / (MOST - TIMES) as f64).round();
    (a_call(most.0, once.0), a_call(most.1, once.1))
}

/// Returns the number of instructions in this program, and the number of its requests for memory.
fn callgrind(name: &str, times: usize) -> (u64, u64) {
    let program = std::env::current_exe().expect("this program's path");
    let profile = program.with_extension("callgrind");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(&program)
        .args([name, &times.to_string()])
        .output()
        .expect("valgrind runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    sum(&std::fs::read_to_string(&profile).expect("a profile"), &program)
}

/// Sums up a profile. The lines after the name of a function have a position and a cost. The line after a call has the cost of the callee,
/// which is counted in the lines of the callee.
fn sum(profile: &str, program: &Path) -> (u64, u64) {
    const ASKS: [&str; 4] = ["malloc", "calloc", "realloc", "posix_memalign"];
    let (mut instructions, mut allocations) = (0, 0);
    let (mut is_ours, mut asks, mut is_inside) = (false, false, false);
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_ours = Path::new(object) == program;
        } else if let Some(called) = line.strip_prefix("cfn=") {
            asks = ASKS.contains(&called.split('\'').next().unwrap_or(called));
        } else if let Some(calls) = line.strip_prefix("calls=") {
            let times: u64 = calls
                .split(' ')
                .next()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0);
            allocations += if is_ours && asks { times } else { 0 };
            is_inside = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let cost: u64 = line.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
            instructions += if is_ours && !is_inside { cost } else { 0 };
            is_inside = false;
        }
    }
    assert!(instructions > 0, "missing {} in the profile", program.display());
    (instructions, allocations)
}
