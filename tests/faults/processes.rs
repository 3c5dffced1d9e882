//! Faults that need a separate process: limits, aborts, and two processes that write one file.

use std::fs;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tool_builtins::offload::{OffloadLayer, OffloadOptions, offload_to_files};
use tool_runtime::ToolCall;
use tool_runtime::message::Message;

use crate::calls::{brewing, call_of};
use crate::disk::offloading_to;
use crate::own_process::{CHILD_DIRECTORY, child_directory, directory_of, run_in_child};
use crate::rows::{Row, row};

/// Creates an empty directory for a row.
pub fn directory(row: &Row) -> PathBuf {
    directory_of(&row.id())
}

/// Returns all files and directories below a directory, sorted.
pub fn everything_in(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(everything_in(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// A panic during the unwinding of another panic aborts the process.
#[tokio::test]
async fn panic_while_unwinding() {
    const NAME: &str = "processes::panic_while_unwinding";
    let row = row(NAME);
    if child_directory().is_some() {
        let registry = brewing(async |_, _| -> String {
            let _first = PanicsAlways;
            panic!("the first")
        });
        let outcome = registry.call(call_of(&row)).await;
        unreachable!("{outcome:?}");
    }
    let output = run_in_child(NAME, &["env"]).unwrap_err();
    assert!(
        output.contains("the first") && output.contains("the second"),
        "{output}"
    );
    assert!(
        !output.contains("test result"),
        "the process is at its end: {output}"
    );
    row.model_reads::<&str>([]);
    row.host_learns::<&str>([]);
}

struct PanicsAlways;

impl Drop for PanicsAlways {
    fn drop(&mut self) {
        panic!("the second");
    }
}

const ROUNDS: usize = 200;

fn content(letter: &str) -> String {
    letter.repeat(50_000)
}

fn message(content: &str) -> Message {
    let block = serde_json::json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": content });
    serde_json::from_value(serde_json::json!({ "role": "user", "content": [block] })).unwrap()
}

/// Writes one id repeatedly, in a separate process.
async fn write(letter: &str, directory: &Path, rounds: usize) {
    for _ in 0..rounds {
        offload_to_files(message(&content(letter)), OffloadOptions::new("s", directory))
            .await
            .unwrap();
    }
}

fn writing(test: &str, letter: &str, directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--quiet"])
        .env(CHILD_DIRECTORY, directory)
        .env("LETTER", letter)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Readers see the complete content of one of the writers.
#[tokio::test]
async fn write_one_id() {
    const NAME: &str = "processes::write_one_id";
    if let Some(directory) = child_directory() {
        return write(&std::env::var("LETTER").unwrap(), &directory, ROUNDS).await;
    }
    let row = row(NAME);
    let directory = directory(&row);
    let file = directory.join("s").join("toolu_1.md");
    let whole = [content("a"), content("b")];
    let mut writers = ["a", "b"].map(|letter| writing(NAME, letter, &directory));
    let mut read = 0;
    while writers
        .iter_mut()
        .any(|writer| writer.try_wait().unwrap().is_none())
    {
        if let Ok(text) = fs::read_to_string(&file) {
            assert!(whole.contains(&text), "a mix of {} bytes", text.len());
            read += 1;
        }
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert!(read > 0, "nothing was read");
    assert_eq!(everything_in(&directory), [directory.join("s"), file]);
    row.check_in(&directory, &offloading_to(&directory).call(call_of(&row)).await);
}

/// Runs two processes with the layer. Each process reads its pointers after it has all of them.
#[tokio::test]
async fn offload_one_id() {
    const NAME: &str = "processes::offload_one_id";
    let row = row(NAME);
    if let Some(directory) = child_directory() {
        let letter = std::env::var("LETTER").unwrap();
        let layer = OffloadLayer::new(OffloadOptions::new("s", &directory)).with_threshold(1);
        let cups_of = letter.clone();
        let brew = move |arguments: Value, _| ready(format!("{cups_of} {}", arguments["cup"]));
        let registry = brewing(brew).layer(layer);
        let mut pointers = Vec::new();
        for cup in 0..ROUNDS {
            let call = ToolCall::new(row.id(), "brew", format!(r#"{{ "cup": {cup} }}"#));
            pointers.push(registry.call(call).await.result.text().unwrap().to_owned());
        }
        for (cup, pointer) in pointers.iter().enumerate() {
            let file = pointer.strip_prefix("[Tool result offloaded to file: ");
            let file = file.and_then(|file| file.strip_suffix(']')).expect(pointer);
            assert_eq!(fs::read_to_string(file).unwrap(), format!("{letter} {cup}"));
        }
        return;
    }
    let directory = directory(&row);
    for mut process in ["a", "b"].map(|letter| writing(NAME, letter, &directory)) {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(fs::read_dir(directory.join("s")).unwrap().count(), 2 * ROUNDS);
    row.model_reads::<&str>([]);
    row.host_learns::<&str>([]);
}

/// A process that is killed during a write leaves at most a temporary file. The content is complete or missing.
#[tokio::test]
async fn killed_during_a_write() {
    const NAME: &str = "processes::killed_during_a_write";
    if let Some(directory) = child_directory() {
        return write("a", &directory, usize::MAX).await;
    }
    let row = row(NAME);
    let directory = directory(&row);
    let file = directory.join("s").join("toolu_1.md");
    for _ in 0..8 {
        let _ = fs::remove_file(&file);
        let mut writer = writing(NAME, "a", &directory);
        while !file.exists() {
            assert!(writer.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert!(fs::read_to_string(&file).unwrap() == content("a"));
    }
    for left in fs::read_dir(directory.join("s")).unwrap() {
        let name = left.unwrap().file_name().into_string().unwrap();
        let is_temporary = name.starts_with(".offload-") && name.ends_with(".tmp");
        assert!(name == "toolu_1.md" || is_temporary, "{name}");
    }
    row.model_reads::<&str>([]);
    row.host_learns::<&str>([]);
}
