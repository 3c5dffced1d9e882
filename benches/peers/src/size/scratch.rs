//! A temporary project that is written, compiled with one job, and timed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// Number of measurements of each addition.
const TIMES: usize = 3;

#[derive(Clone, Copy)]
pub enum Command {
    Fetch,
    Check,
    Build,
    Release,
}

pub struct Project(PathBuf);

impl Project {
    /// Creates a project in an empty directory next to this program, with this program's versions of dependencies.
    pub fn new(name: &str, dependencies: &str) -> Self {
        let program = std::env::current_exe().expect("this program's path");
        let place = program.with_file_name("size").join(name);
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("src")).expect("a directory");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        fs::copy(here.join("Cargo.lock"), place.join("Cargo.lock")).expect("the lock file");
        let dependencies = dependencies.replace("REPOSITORY", &here.join("../..").display().to_string());
        let manifest = format!(
            "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{dependencies}\n[workspace]\n"
        );
        fs::write(place.join("Cargo.toml"), manifest).expect("the manifest");
        Self(place)
    }

    pub fn write(&self, program: &str) {
        fs::write(self.0.join("src/main.rs"), program).expect("the program");
    }

    /// Returns the number of crates that are compiled before the program.
    pub fn crates(&self) -> usize {
        let tree = [
            "tree",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ];
        let output = self.cargo().args(tree).output().expect("cargo runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut crates: Vec<_> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        crates.sort_unstable();
        crates.dedup();
        crates.iter().filter(|it| !it.starts_with("scratch ")).count()
    }

    /// Returns seconds of processor time of all processes together.
    pub fn time(&self, command: Command) -> f64 {
        let command = match command {
            Command::Fetch => "cargo fetch",
            Command::Check => "cargo check --jobs 1",
            Command::Build => "cargo build --jobs 1",
            Command::Release => "cargo build --jobs 1 --release",
        };
        let script = format!(
            "TIMEFORMAT='%U %S'; time {command} --quiet --offline 2>errors || {{ cat errors >&2; exit 1; }}"
        );
        let script = script.replace("cargo fetch --quiet --offline", "cargo fetch --quiet");
        let mut bash = process::Command::new("bash");
        self.surround(bash.args(["-c", &script]));
        let output = bash.output().expect("bash runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command} failed:\n{stderr}");
        let seconds = stderr
            .split_whitespace()
            .map(|it| it.parse::<f64>().expect("seconds"));
        seconds.sum()
    }

    /// Returns the additional compile time of the second program with compiled dependencies, as a median.
    pub fn added(&self, command: Command, programs: &[String; 2]) -> Vec<f64> {
        self.write(&programs[0]);
        self.time(command);
        let mut added: Vec<f64> = (0..TIMES)
            .map(|_| {
                let [without, with] = [0, 1].map(|place| {
                    self.write(&programs[place]);
                    self.time(command)
                });
                with - without
            })
            .collect();
        added.sort_by(f64::total_cmp);
        added
    }

    /// Returns the output of the built program.
    pub fn run(&self) -> String {
        let output = process::Command::new(self.0.join("target/debug/scratch"))
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the bytes of machine code in the release build.
    pub fn code(&self) -> u64 {
        let program = self.0.join("target/release/scratch");
        let output = process::Command::new("size")
            .arg("-A")
            .arg(program)
            .output()
            .expect("`size` of binutils runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text
            .lines()
            .find(|line| line.starts_with(".text"))
            .expect("a section of code");
        line.split_whitespace()
            .nth(1)
            .and_then(|it| it.parse().ok())
            .expect("its size")
    }

    fn cargo(&self) -> process::Command {
        let mut cargo = process::Command::new("cargo");
        self.surround(&mut cargo);
        cargo
    }

    fn surround(&self, command: &mut process::Command) {
        command
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .env("CARGO_INCREMENTAL", "0");
    }
}

/// The directory may have gigabytes.
impl Drop for Project {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the median, with the minimum and the maximum in brackets.
pub fn range(sorted: &[f64]) -> String {
    format!(
        "{:.1} ({:.1}–{:.1})",
        sorted[sorted.len() / 2],
        sorted[0],
        sorted[sorted.len() - 1]
    )
}
