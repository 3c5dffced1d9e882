//! Offloading when the disk says no: the kernel refuses in earnest, also for root.
//!
//! Each story runs in a process of its own, because what a process may write is limited for the whole process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::error::Error as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tool_builtins::offload::{OffloadOptions, offload_to_files};
use tool_runtime::message::Message;
use tool_runtime::serde_json::{self, json};

/// Which story a process tells; without it, it starts the processes.
const STORY: &str = "OFFLOAD_DISK_STORY";

/// 64 KiB in the middle of which the disk is full.
#[test]
fn a_disk_that_fills_up_in_the_middle_of_a_write() {
    match std::env::var_os(STORY) {
        // No file may grow beyond a few KiB (`ulimit -f` counts blocks), and the signal that says so is ignored:
        // `write` fails after its first part, as on a full disk.
        None => tell_in(
            "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"",
            "a_disk_that_fills_up_in_the_middle_of_a_write",
        ),
        Some(directory) => {
            let directory = PathBuf::from(directory);
            let error = refused(&directory);
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{error}");
            assert!(
                files_below(&directory).is_empty(),
                "{:?}",
                files_below(&directory)
            );
        }
    }
}

/// A directory that nobody may write into: `/proc` on Linux, for root as well.
#[test]
#[cfg(target_os = "linux")]
fn a_directory_that_is_read_only() {
    let error = refused(Path::new("/proc/self"));
    assert!(
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        ),
        "{error}"
    );
}

/// Two processes that write the same id: the file is one's or the other's, whole.
#[test]
fn two_processes_and_one_id() {
    const ROUNDS: usize = 200;
    let content = |letter: &str| letter.repeat(50_000);
    match std::env::var(STORY) {
        Err(_) => {
            let directory = fresh("two_processes");
            let writers: Vec<_> = ["a", "b"]
                .into_iter()
                .map(|letter| {
                    let story = format!("{letter}{}", directory.display());
                    this_test("two_processes_and_one_id")
                        .env(STORY, story)
                        .stdout(Stdio::null())
                        .spawn()
                        .unwrap()
                })
                .collect();
            let file = directory.join("s").join("toolu_1.md");
            let whole = [content("a"), content("b")];
            let mut read = 0;
            for mut writer in writers {
                while writer.try_wait().unwrap().is_none() {
                    if let Ok(text) = fs::read_to_string(&file) {
                        assert!(whole.contains(&text), "a mix of {} bytes", text.len());
                        read += 1;
                    }
                }
                assert!(writer.wait().unwrap().success());
            }
            assert!(read > 0, "nothing was read");
            assert_eq!(files_below(&directory), [file]);
            fs::remove_dir_all(directory).unwrap();
        }
        Ok(story) => {
            let (letter, directory) = story.split_at(1);
            for _ in 0..ROUNDS {
                offload(Path::new(directory), &content(letter)).unwrap();
            }
        }
    }
}

/// Offloads into `directory`, which fails; the message is as it was.
fn refused(directory: &Path) -> io::Error {
    let content = "x".repeat(64 << 10);
    let message = message(&content);
    let error = run(offload_to_files(&message, OffloadOptions::new("s", directory))).unwrap_err();
    assert_eq!(message, self::message(&content));
    let source = error.source().unwrap_or_else(|| panic!("{error} has no source"));
    let kind = source.downcast_ref::<io::Error>().map(io::Error::kind);
    io::Error::new(kind.unwrap_or(io::ErrorKind::Other), source.to_string())
}

fn offload(directory: &Path, content: &str) -> Result<(), String> {
    let options = OffloadOptions::new("s", directory);
    run(offload_to_files(message(content), options))
        .map(drop)
        .map_err(|error| error.to_string())
}

fn message(content: &str) -> Message {
    let block = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": content });
    serde_json::from_value(json!({ "role": "user", "content": [block] })).unwrap()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Runs one test of this file again, below a shell with limits, in a directory of its own.
fn tell_in(shell: &str, test: &str) {
    let directory = fresh(test);
    let again = this_test(test);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", shell])
        .arg(again.get_program())
        .args(again.get_args())
        .env(STORY, &directory);
    let told = limited.output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
    fs::remove_dir_all(directory).unwrap();
}

fn this_test(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--quiet"]);
    command
}

fn fresh(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("tool-builtins-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}
