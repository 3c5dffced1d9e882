//! Repairers in other languages. Each program keeps running, and answers each line with a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::clock::Contender;

/// Starts npm's `jsonrepair` for timing. Returns `None`, with a message, without npm.
pub fn jsonrepair(file: &Path) -> Option<Contender<'static>> {
    let folder = jsonrepair_installed()?;
    started(Command::new("node").arg(folder.join("timed.mjs")).arg(file))
}

/// Starts npm's `jsonrepair`. Returns `None`, with a message, without npm.
pub fn jsonrepair_of_npm() -> Option<Repairer> {
    let folder = jsonrepair_installed()?;
    Repairer::started(Command::new("node").arg(folder.join("repaired.mjs")))
}

/// Starts Python's `json_repair`, which is installed on first use. Returns `None`, with a message, without Python.
pub fn json_repair_of_python() -> Option<Repairer> {
    let folder = here().join("json_repair");
    let venv = folder.join("venv");
    let python = venv.join("bin/python");
    let succeeds = |command: &mut Command| {
        let status = command.stdout(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    // The marker is written last, so that an interrupted installation is repeated.
    let mark = venv.join("installed");
    let installed = mark.exists()
        || succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            && succeeds(
                Command::new(&python)
                    .args(["-m", "pip", "install", "--quiet", "--requirement"])
                    .arg(folder.join("requirements.txt")),
            )
            && std::fs::write(mark, "").is_ok();
    if !installed {
        eprintln!(
            "skipped json_repair: it could not be installed in {}",
            venv.display()
        );
        return None;
    }
    Repairer::started(Command::new(python).arg(folder.join("repaired.py")))
}

/// Returns the folder of `jsonrepair`, which is installed on first use.
fn jsonrepair_installed() -> Option<PathBuf> {
    let folder = here().join("jsonrepair");
    if !folder.join("node_modules").exists() {
        let installed = Command::new("npm")
            .args(["ci", "--silent", "--no-audit", "--no-fund"])
            .current_dir(&folder)
            .stdout(Stdio::null())
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            eprintln!(
                "skipped jsonrepair: `npm ci` could not install it in {}",
                folder.display()
            );
            return None;
        }
    }
    Some(folder)
}

/// Starts Python's `ast.literal_eval`.
pub fn literal_eval(file: &Path) -> Option<Contender<'static>> {
    started(
        Command::new("python3")
            .arg(here().join("literal_eval.py"))
            .arg(file),
    )
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A program that answers each line with a line.
pub struct Program {
    child: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts a program. Returns `None`, with a message, if the program cannot be started or does not answer the first line.
    pub fn started(command: &mut Command, first: &str) -> Option<Self> {
        let name = command.get_program().display().to_string();
        let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("skipped {name}: it cannot be started: {error}");
                return None;
            }
        };
        let asked = child.stdin.take()?;
        let answers = BufReader::new(child.stdout.take()?);
        let mut program = Self {
            child,
            asked,
            answers,
        };
        if program.ask(first).is_none_or(|answer| answer.is_empty()) {
            eprintln!("skipped {name}: it ended before its first answer");
            return None;
        }
        Some(program)
    }

    pub fn ask(&mut self, line: &str) -> Option<String> {
        writeln!(self.asked, "{line}").ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        Some(answer)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn started(command: &mut Command) -> Option<Contender<'static>> {
    let mut program = Program::started(command, "1")?;
    Some(Box::new(move |times| {
        let answer = program.ask(&times.to_string());
        let nanoseconds = answer.and_then(|answer| answer.trim().parse().ok());
        nanoseconds.map_or(Duration::MAX, Duration::from_nanos)
    }))
}

/// A repairer in another language.
pub struct Repairer(Program);

impl Repairer {
    fn started(command: &mut Command) -> Option<Self> {
        Program::started(command, "\"{}\"").map(Self)
    }

    /// Returns the result for a text; `None` if the repairer refuses it.
    pub fn repair(&mut self, text: &str) -> Option<String> {
        let line = serde_json::to_string(text).expect("a string is valid JSON");
        let answer = self.0.ask(&line).expect("the repairer is still running");
        serde_json::from_str(&answer).expect("the repairer answers with a string or null")
    }
}
