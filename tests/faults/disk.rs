//! Offloading to real disks that return errors of the kernel, also to root.
//!
//! Write limits apply to a whole process, and a disk is mounted for one process, so each of these tests runs in a separate process.
//! Mounting a disk of a few KiB needs a privilege. Without it, two tests are skipped with a message, or fail if `FAULT_TESTS=required` is
//! set.

use std::error::Error as _;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use tool_builtins::offload::{OffloadLayer, OffloadOptions, offload_to_files};
use tool_runtime::message::Message;
use tool_runtime::{ToolCall, ToolOutcome, ToolRegistry};

use crate::calls::{brewing, call_of, meanwhile};
#[cfg(target_os = "linux")]
use crate::own_process::on_a_small_disk;
use crate::own_process::{CHILD_DIRECTORY, child_directory, run_in_child};
use crate::processes::{directory, everything_in};
use crate::rows::{Row, row};
use crate::telemetry;

/// Returns a number of bytes that exceeds the small disks.
fn content() -> String {
    "coffee, ".repeat(8 << 10)
}

pub fn offloading_to(directory: &Path) -> ToolRegistry {
    let layer = OffloadLayer::new(OffloadOptions::new("s", directory)).with_threshold(1);
    brewing(async |_, _| content()).layer(layer)
}

async fn offloaded(row: &Row, directory: &Path) -> ToolOutcome {
    offloading_to(directory).call(call_of(row)).await
}

fn file_of(row: &Row, directory: &Path) -> PathBuf {
    directory.join("s").join(format!("{}.md", row.id()))
}

/// Checks that the result is unchanged, and that the directory has only directories.
async fn is_refused(row: &Row, directory: &Path) {
    let outcome = offloaded(row, directory).await;
    row.check_whole(directory, &outcome, &content());
}

/// Checks that the pointer names a file with the whole content, and that the directory has no new file beside it.
async fn is_written(row: &Row, directory: &Path) {
    let mut expected = everything_in(directory);
    row.check_in(directory, &offloaded(row, directory).await);
    let is_taken = expected.contains(&file_of(row, directory));
    let number = if is_taken { "-2" } else { "" };
    let file = directory.join("s").join(format!("{}{number}.md", row.id()));
    assert_eq!(fs::read_to_string(&file).unwrap(), content());
    expected.extend([directory.join("s"), file]);
    expected.sort();
    expected.dedup();
    assert_eq!(everything_in(directory), expected);
}

/// No file may exceed a few KiB (`ulimit -f` counts blocks), and the signal for the limit is ignored, so `write` fails after its first
/// part.
#[tokio::test]
async fn file_size_limit() {
    const NAME: &str = "disk::file_size_limit";
    let row = row(NAME);
    if let Some(directory) = child_directory() {
        is_refused(&row, &directory).await;
        let block = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": content() });
        let message: Message = serde_json::from_value(json!({ "role": "user", "content": [block] })).unwrap();
        let by_hand = offload_to_files(message, OffloadOptions::new("s", &directory)).await;
        let by_hand = by_hand.unwrap_err();
        let source = by_hand
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::FileTooLarge));
        assert_eq!(everything_in(&directory), [directory.join("s")]);
    } else {
        let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        assert_eq!(run_in_child(NAME, &["sh", "-c", limited]), Ok(()));
    }
}

/// Content that exceeds a disk of 32 KiB is an error and leaves no file.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn full() {
    const NAME: &str = "disk::full";
    let row = row(NAME);
    if let Some(directory) = child_directory() {
        is_refused(&row, &directory).await;
        assert_eq!(everything_in(&directory), [directory.join("s")]);
        // The disk is empty again, without the partial content.
        fs::write(directory.join("rest"), "x".repeat(16 << 10)).unwrap();
    } else {
        on_a_small_disk(NAME, "size=32k");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn in_proc() {
    let row = row("disk::in_proc");
    is_refused(&row, Path::new("/proc/self")).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn read_only() {
    const NAME: &str = "disk::read_only";
    let row = row(NAME);
    if let Some(directory) = child_directory() {
        is_refused(&row, &directory).await;
        assert!(everything_in(&directory).is_empty());
    } else {
        on_a_small_disk(NAME, "size=32k,ro");
    }
}

#[tokio::test]
async fn file_in_place_of_a_directory() {
    let row = row("disk::file_in_place_of_a_directory");
    let directory = directory(&row);
    fs::write(directory.join("s"), "in the way").unwrap();
    is_refused(&row, &directory).await;
    assert_eq!(fs::read(directory.join("s")).unwrap(), b"in the way");
}

#[tokio::test]
async fn directory_in_place_of_a_file() {
    let row = row("disk::directory_in_place_of_a_file");
    let directory = directory(&row);
    fs::create_dir_all(file_of(&row, &directory).join("in the way")).unwrap();
    is_written(&row, &directory).await;
}

#[tokio::test]
async fn file_exists() {
    let row = row("disk::file_exists");
    let directory = directory(&row);
    fs::create_dir(directory.join("s")).unwrap();
    fs::write(file_of(&row, &directory), "an earlier turn's").unwrap();
    is_written(&row, &directory).await;
    assert_eq!(fs::read(file_of(&row, &directory)).unwrap(), b"an earlier turn's");
}

/// The link is not followed, since its target belongs to another user.
#[tokio::test]
async fn link_in_place_of_a_file() {
    let row = row("disk::link_in_place_of_a_file");
    let directory = directory(&row);
    fs::create_dir(directory.join("s")).unwrap();
    fs::write(directory.join("theirs"), "theirs").unwrap();
    symlink(directory.join("theirs"), file_of(&row, &directory)).unwrap();
    is_written(&row, &directory).await;
    assert_eq!(fs::read(directory.join("theirs")).unwrap(), b"theirs");
    assert!(file_of(&row, &directory).is_symlink());
}

#[tokio::test]
async fn missing_directory() {
    let row = row("disk::missing_directory");
    let directory = directory(&row).join("several/new/levels");
    row.check_in(&directory, &offloaded(&row, &directory).await);
    let file = file_of(&row, &directory);
    assert_eq!(fs::read_to_string(&file).unwrap(), content());
    assert_eq!(everything_in(&directory), [directory.join("s"), file]);
}

/// A concurrent process removes files while contents are written. Each call returns either a pointer to a complete file or its result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_is_removed_during_writes() {
    let row = row("disk::directory_is_removed_during_writes");
    let directory = directory(&row);
    let registry = offloading_to(&directory);
    let tidy_up = || {
        let _ = fs::remove_dir_all(directory.join("s"));
    };
    let calls = async {
        for n in 0..300 {
            let id = format!("{}_{n}", row.id());
            let outcome = registry.call(ToolCall::new(&id, "brew", "{}")).await;
            assert!(!outcome.result.is_error && outcome.failure.is_none());
            let text = outcome.result.text().unwrap();
            let is_offloaded = text.starts_with("[Tool result offloaded to file: ");
            assert!(is_offloaded || text == content(), "neither: {text:.300}");
            let warned = telemetry::of(&id).events;
            assert_eq!(warned.len(), usize::from(!is_offloaded), "{warned:?}");
        }
    };
    meanwhile(tidy_up, calls);
    row.model_reads::<&str>([]);
    row.host_learns::<&str>([]);
}

/// A relative directory is below the current directory, which may have been removed.
#[tokio::test]
async fn no_current_directory() {
    const NAME: &str = "disk::no_current_directory";
    let row = row(NAME);
    if child_directory().is_some() {
        let outcome = offloaded(&row, Path::new(".offload")).await;
        row.check_whole(Path::new("/DIR"), &outcome, &content());
    } else {
        let gone = format!(
            "cd \"${}\" && rmdir \"$PWD\" && exec \"$0\" \"$@\"",
            CHILD_DIRECTORY
        );
        assert_eq!(run_in_child(NAME, &["sh", "-c", &gone]), Ok(()));
    }
}
