//! Output on a terminal: colours, and the progress of long commands. `script` (util-linux) provides the terminal. Without `script`, these
//! tests are ignored with a message, or fail if `REPAIR_TESTS=required` is set.

#![cfg(target_os = "linux")]

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use crate::program::Directory;

/// Returns the output of a shell command on a terminal. Without `script`, prints a message and returns `None`.
fn seen(command: &str, directory: &Directory, variables: &[(&str, &str)]) -> Option<String> {
    let program = crate::PROGRAM;
    let command = command.replace("tool-cli", program);
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(directory.path())
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .env_remove("NO_COLOR")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(error) => {
            let ignored =
                format!("IGNORED: `script` (util-linux) cannot be run, so nothing is a terminal: {error}\n");
            assert!(
                env::var_os("REPAIR_TESTS").is_none_or(|said| said != "required"),
                "{ignored}"
            );
            io::stderr().write_all(ignored.as_bytes()).unwrap(); // directly, since the test harness captures printed output
            None
        }
    }
}

#[test]
fn terminals_get_colours_unless_disabled() {
    let directory = Directory::new();
    directory.file("answer.txt", "{'a': 1}");
    let command = "tool-cli repair --explain answer.txt > answer.json";
    let Some(colored) = seen(command, &directory, &[]) else {
        return;
    };
    assert!(
        colored.starts_with("answer.txt: \u{1b}[1;33mrepaired\u{1b}[0m"),
        "{colored:?}"
    );
    for unwanted in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = seen(command, &directory, &[unwanted]).unwrap();
        assert!(plain.starts_with("answer.txt: repaired, 1 fix"), "{plain:?}");
    }
}

#[test]
fn long_jobs_show_progress_on_a_terminal() {
    let directory = Directory::new();
    let call = r#"{"id": 1, "schema": {"type": "object"}, "raw": "{}"}"#;
    directory.file("calls.jsonl", format!("{call}\n").repeat(100));
    let command = "(cat calls.jsonl; sleep 2; cat calls.jsonl) | tool-cli check --jsonl > report.jsonl";
    let Some(shown) = seen(command, &directory, &[]) else {
        return;
    };
    assert!(shown.starts_with("\r128 lines, 0 MB\u{1b}[K\r"), "{shown:?}");
    let summary = "\r\u{1b}[K200 calls: 200 clean, 0 with warnings, 0 refused\r\n";
    assert!(shown.ends_with(summary), "{shown:?}");
    let dumb = seen(command, &directory, &[("TERM", "dumb")]).unwrap();
    assert!(dumb.starts_with("200 calls: "), "{dumb:?}");
}

#[test]
fn short_jobs_show_no_progress() {
    let directory = Directory::new();
    directory.file(
        "calls.jsonl",
        r#"{"id": 1, "schema": {"type": "object"}, "raw": "{}"}"#,
    );
    let command = "tool-cli check --jsonl calls.jsonl > report.jsonl";
    if let Some(shown) = seen(command, &directory, &[]) {
        assert_eq!(shown, "1 call: 1 clean, 0 with warnings, 0 refused\r\n");
    }
}

#[test]
fn reading_from_a_terminal_is_announced() {
    let directory = Directory::new();
    directory.file("answer.txt", "{}");
    let message = "reading from the terminal; end the input with Ctrl-D on a separate line\r\n";
    for command in [
        "repair",
        "repair -",
        "repair --jsonl",
        "repair --sse chat",
        "check",
    ] {
        let Some(shown) = seen(&format!("tool-cli {command} > out"), &directory, &[]) else {
            return;
        };
        assert!(shown.contains(message), "{command}: {shown:?}");
    }
    for command in ["repair answer.txt", "repair < answer.txt", "repair 2> shown"] {
        let shown = seen(&format!("tool-cli {command} > out"), &directory, &[]).unwrap();
        assert!(!shown.contains("reading"), "{command}: {shown:?}");
    }
}

#[test]
fn progress_is_not_written_between_results() {
    let directory = Directory::new();
    let call = r#"{"id": 1, "schema": {"type": "object"}, "raw": "{}"}"#;
    directory.file("calls.jsonl", format!("{call}\n").repeat(100));
    let command = "(cat calls.jsonl; sleep 2; cat calls.jsonl) | tool-cli check --jsonl";
    if let Some(shown) = seen(command, &directory, &[]) {
        assert!(
            shown.starts_with("{\"id\":1,") && !shown.contains("\u{1b}[K"),
            "{shown:?}"
        );
        assert!(shown.contains("200 calls: 200 clean"), "{shown:?}");
    }
}

#[test]
fn messages_begin_on_a_new_line() {
    let directory = Directory::new();
    for (text, wanted) in [
        ("hello", "hello\r\nstdin:1:1: "),
        ("hello\\n", "hello\r\nstdin:1:1: "),
        ("", "stdin:1:1: "),
    ] {
        let command = format!("printf '{text}' | tool-cli repair --color never");
        let Some(shown) = seen(&command, &directory, &[]) else {
            return;
        };
        assert!(shown.starts_with(wanted), "{shown:?}");
    }
    let shown = seen(
        "printf '[1,]' | tool-cli repair --explain --color never",
        &directory,
        &[],
    );
    assert!(shown.unwrap().starts_with("[1]\r\nstdin: repaired, "));
    let shown = seen(
        "printf '\\377' | tool-cli repair --color never | od -c",
        &directory,
        &[],
    );
    assert!(shown.unwrap().starts_with("error: "));
    for alone in [
        "printf '[1]' | tool-cli repair",
        "printf hello | tool-cli repair 2> shown",
    ] {
        let shown = seen(alone, &directory, &[]).unwrap();
        assert!(!shown.contains('\n'), "{shown:?}");
    }
}
