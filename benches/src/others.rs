//! Programs in other languages that do the same work: each keeps running, does the work as often as it is told, and
//! says how long that took.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::clock::Contender;

/// npm's `jsonrepair`, installed on first use; `None`, said loudly, where there is no npm.
pub fn jsonrepair(file: &Path) -> Option<Contender<'static>> {
    let folder = here().join("jsonrepair");
    if !folder.join("node_modules").exists() {
        let installed = Command::new("npm")
            .args(["ci", "--silent", "--no-audit", "--no-fund"])
            .current_dir(&folder)
            .stdout(Stdio::null())
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            eprintln!(
                "LEFT OUT: jsonrepair, which `npm ci` could not install in {}",
                folder.display()
            );
            return None;
        }
    }
    started(Command::new("node").arg(folder.join("timed.mjs")).arg(file))
}

/// Python's `ast.literal_eval`.
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

fn started(command: &mut Command) -> Option<Contender<'static>> {
    let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!(
                "LEFT OUT: {}, which cannot be started: {error}",
                command.get_program().display()
            );
            return None;
        }
    };
    let asked = child.stdin.take()?;
    let answers = BufReader::new(child.stdout.take()?);
    let mut other = Other {
        child,
        asked,
        answers,
    };
    if other.ask(1).is_none() {
        eprintln!("LEFT OUT: {}, which ended early", command.get_program().display());
        return None;
    }
    Some(Box::new(move |times| other.ask(times).unwrap_or(Duration::MAX)))
}

struct Other {
    child: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Other {
    fn ask(&mut self, times: u64) -> Option<Duration> {
        writeln!(self.asked, "{times}").ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        Some(Duration::from_nanos(answer.trim().parse().ok()?))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
