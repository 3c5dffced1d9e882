//! Commands of the documents: every command in a `console` block is run.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tool-cli -p tool-gateway` writes the actual output into the documents; review the difference.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Directory;

/// A document, with its text after its commands were run again.
struct Held {
    path: PathBuf,
    commands: usize,
    is: String,
    anew: String,
}

/// Runs the commands of a document. A command begins with `$ `, in a block that begins with `console`.
fn rerun(path: &str) -> Held {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let is = fs::read_to_string(&path).unwrap();
    let directory = Directory::new();
    let (mut anew, mut commands) = (String::new(), 0);
    let mut lines = is.lines().peekable();
    let mut inside = false;
    while let Some(line) = lines.next() {
        anew.push_str(line);
        anew.push('\n');
        if line.starts_with("```") {
            inside = line == "```console";
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| inside) else {
            continue;
        };
        commands += 1;
        let mut printed = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && *line != "```") {
            printed.push_str(line);
            printed.push('\n');
        }
        // `cat` shows a file of the test.
        if let Some(file) = command.strip_prefix("cat ") {
            directory.file(file, &printed);
            anew.push_str(&printed);
        } else {
            anew.push_str(&output(command, directory.path()));
        }
    }
    Held {
        path,
        commands,
        is,
        anew,
    }
}

/// Returns the output of a command, on both streams.
fn output(command: &str, directory: &Path) -> String {
    let program = Path::new(crate::PROGRAM);
    let others = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(directory)
        .env(
            "PATH",
            format!("{}:{others}", program.parent().unwrap().display()),
        )
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn hold(path: &str, least: usize) {
    let held = rerun(path);
    assert!(held.commands >= least, "{path} shows {} commands", held.commands);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(held.path, held.anew).unwrap();
        return;
    }
    let differs = held
        .is
        .lines()
        .zip(held.anew.lines())
        .find(|(is, anew)| is != anew);
    assert!(
        held.is == held.anew,
        "{path} does not show what happens; the first difference:\n  is    {}\n  shown {}\n\
         To write it anew: UPDATE_GOLDEN=1 cargo test -p {} --test command readme",
        differs.map_or("(at the end)", |it| it.1),
        differs.map_or("(at the end)", |it| it.0),
        env!("CARGO_PKG_NAME"),
    );
}

#[test]
fn examples_of_the_reference_run_as_shown() {
    hold(
        concat!(env!("CARGO_PKG_NAME"), "/README.md"),
        crate::README_COMMANDS,
    );
}
