//! Instructions of a plain request, compared with `instructions.txt` to detect gradual growth.
//!
//! ```sh
//! export CARGO_PROFILE_RELEASE_LTO=false                                 # a build that takes minutes less
//! cd benches/gateway && cargo run --release -- guard                    # compare
//! cd benches/gateway && UPDATE_GOLDEN=1 cargo run --release -- guard    # store the counted instructions
//! ```
//!
//! Only the instructions of the program count, with its allocator, as the functions of the C library differ between machines. Without
//! valgrind, the program prints a message and does nothing, unless `INSTRUCTIONS=required` is set. With a compiler that is not in
//! `instructions.txt`, differences are shown without a failure.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio, id};

use crate::answer::{Answer, Request};
use crate::contestants;
use crate::load::{Clients, Until};
use crate::process::{Process, free_address};
use crate::speed::runtime;

/// Accepted difference from the expected count, in either direction.
const TOLERANCE: f64 = 0.02;

/// Numbers of requests of two runs; their difference is the cost of the additional requests.
const FEW: u64 = 50;
const MORE: u64 = 200;

/// Names of the counted requests, with the options of the gateway.
const REQUESTS: [(&str, &[&str]); 2] = [
    ("a plain message that passes", &[]),
    ("a plain message, tools offered", &["--offer", "always"]),
];

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");

const UPDATE: &str =
    "cd benches/gateway && CARGO_PROFILE_RELEASE_LTO=false UPDATE_GOLDEN=1 cargo run --release -- guard";

pub fn run() -> ExitCode {
    if env::var("CARGO_PROFILE_RELEASE_LTO").as_deref() != Ok("false") {
        eprintln!(
            "the guard counts the instructions of a build without link-time optimization; set CARGO_PROFILE_RELEASE_LTO=false"
        );
        return ExitCode::from(2);
    }
    let valgrind = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !valgrind.is_ok_and(|status| status.success()) {
        eprintln!("IGNORED: valgrind is missing; `apt-get install valgrind` installs it");
        let is_required = env::var_os("INSTRUCTIONS").is_some_and(|value| value == "required");
        return ExitCode::from(u8::from(is_required));
    }
    let upstream = contestants::upstream();
    let counted = REQUESTS.map(|(name, options)| {
        let total = |requests| count(upstream.address, options, requests);
        (name, (total(FEW + MORE) - total(FEW)) as f64 / MORE as f64)
    });
    if env::var_os("UPDATE_GOLDEN").is_some_and(|value| value != "0") {
        fs::write(GOLDEN, golden(&counted)).expect("a writable file");
    }
    let golden = fs::read_to_string(GOLDEN).unwrap_or_default();
    let expected = expected(&golden);
    let mut is_off = false;
    println!(
        "{:36} {:>12} {:>12}",
        "of one request", "instructions", "expected"
    );
    for (name, counted) in counted {
        let expected = expected.get(name).copied().unwrap_or_default();
        let difference = counted / expected - 1.0;
        is_off |= difference.is_nan() || difference.abs() > TOLERANCE;
        println!(
            "{name:36} {counted:>12.0} {expected:>12.0} {:>+7.1}%",
            difference * 100.0
        );
    }
    if !is_off {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "\nmore than {} % off.\n\
         More: a part of every request takes more instructions; make it cheaper, or give the reason in the commit.\n\
         Fewer: store the new counts.\nIn both cases: {UPDATE}",
        TOLERANCE * 100.0
    );
    let compiler = compiler();
    if golden.lines().any(|line| line == compiler) {
        return ExitCode::FAILURE;
    }
    eprintln!("no failure: the expected instructions were counted with another compiler than {compiler}");
    ExitCode::SUCCESS
}

fn golden(counted: &[(&str, f64)]) -> String {
    let mut text = format!(
        "Instructions of one request in the program tool-gateway.\nMade by: {UPDATE}\n\n{}\n\n",
        compiler()
    );
    for (name, instructions) in counted {
        // Writes to a string cannot fail.
        let _ = writeln!(text, "{name}: {instructions:.0}");
    }
    text
}

fn expected(golden: &str) -> BTreeMap<&str, f64> {
    golden
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
        .collect()
}

fn compiler() -> String {
    let version = Command::new("rustc")
        .arg("--version")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    format!("{} on {}-{}", version.trim(), env::consts::ARCH, env::consts::OS)
}

/// Counts the instructions of a gateway that answers this many requests in sequence.
fn count(upstream: SocketAddr, options: &[&str], requests: u64) -> u64 {
    let profile = env::temp_dir().join(format!("gateway-bench-{}.callgrind", id()));
    let address = free_address();
    let gateway = contestants::gateway_command(address, upstream, options);
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(gateway.get_program())
        .args(gateway.get_args());
    for (name, _) in gateway.get_envs() {
        command.env_remove(name);
    }
    let process = Process::start(&mut command, address).expect("a program that valgrind can run");
    runtime().block_on(async {
        let mut clients = Clients::open(address, 1).await;
        clients
            .run(&[Request::new(Answer::Plain)], Until::Sent(requests))
            .await;
    });
    process.terminate();
    let text = fs::read_to_string(&profile).expect("a profile");
    let _ = fs::remove_file(&profile);
    let program = fs::canonicalize(gateway.get_program()).expect("the path of the program");
    sum(&text, &program)
}

/// Sums up the instructions of a program in a profile. A line has a position and a cost. The line after a call has the cost of the callee,
/// which is counted there.
fn sum(profile: &str, program: &Path) -> u64 {
    let (mut instructions, mut is_program, mut is_callee) = (0, false, false);
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_program = Path::new(object) == program;
        } else if line.starts_with("calls=") {
            is_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let cost: u64 = line
                .split(' ')
                .nth(1)
                .and_then(|cost| cost.parse().ok())
                .unwrap_or(0);
            instructions += if is_program && !is_callee { cost } else { 0 };
            is_callee = false;
        }
    }
    assert!(
        instructions > 0,
        "the profile has no instructions of {}",
        program.display()
    );
    instructions
}
