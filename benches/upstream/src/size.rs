//! Cost of a client for the gateway: crates, and the time to compile them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Features of `size/`, with descriptions.
const VARIANTS: [(&str, &str); 4] = [
    ("", "no client"),
    (
        "hyper-util",
        "hyper, hyper-util and hyper-rustls, as the gateway has them",
    ),
    ("reqwest-ring", "reqwest with `ring`"),
    ("reqwest-rustls", "reqwest with `rustls`, which is `aws-lc-rs`"),
];

pub fn run() {
    println!("#### Size\n");
    println!("Seconds of processor time, one job, debug; one measurement each.\n");
    println!("| the gateway's dependencies with | crates | more | cold build | more |");
    println!("|---|---|---|---|---|");
    let mut floor = None;
    for (feature, label) in VARIANTS {
        let (crates, seconds) = (crates(feature), build(feature));
        let (without, floor_seconds) = *floor.get_or_insert((crates, seconds));
        println!(
            "| {label} | {crates} | {} | {seconds:.1} | {:.1} |",
            crates - without,
            seconds - floor_seconds
        );
    }
    println!();
}

/// Returns the number of compiled crates.
fn crates(feature: &str) -> usize {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "size", "--features", feature])
        .args(["--edges", "normal,build", "--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let mut crates: Vec<_> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    crates.sort_unstable();
    crates.dedup();
    crates.iter().filter(|it| !it.starts_with("size ")).count()
}

/// Returns seconds of processor time of a build in an empty directory, of all processes together.
fn build(feature: &str) -> f64 {
    let target = Target::new(feature);
    let script = r#"TIMEFORMAT='%U %S'; time "$CARGO" build --locked --quiet --jobs 1 --package size --features "$FEATURE""#;
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO", env!("CARGO"))
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", &target.0)
        .env("FEATURE", feature)
        .output()
        .expect("bash runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let seconds = text
        .split_whitespace()
        .map(|it| it.parse::<f64>().expect("seconds"));
    seconds.sum()
}

/// Creates an empty directory next to this program.
struct Target(PathBuf);

impl Target {
    fn new(feature: &str) -> Self {
        let program = std::env::current_exe().expect("this program's path");
        let directory = program.with_file_name("size").join(format!("with-{feature}"));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a directory");
        Self(directory)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
