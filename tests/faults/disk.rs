//! Offloading to real disks that refuse in earnest: the kernel says no, to root as well.
//!
//! Limits of writing hold for a whole process, and a disk is mounted for it alone, so each such test runs in a separate process. A disk of
//! a few KiB takes the right to mount one; without that right, the two tests that want it say so, loudly, and with `FAULT_TESTS=required`
//! in the environment that is a failure.

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
use crate::own_process::{STORY, tell, told_to};
use crate::processes::{directory, everything_in};
use crate::rows::{Row, row};
use crate::telemetry;

/// More than the small disks hold.
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

/// The result is back as it was, and below the directory is nothing but directories.
async fn is_refused(row: &Row, directory: &Path) {
    let outcome = offloaded(row, directory).await;
    row.check_whole(directory, &outcome, &content());
}

/// The model gets a pointer to a file that has it all, beside which lies only what was there before.
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

/// No file may grow beyond a few KiB (`ulimit -f` counts blocks), and the signal that says so is ignored: `write`
/// fails after its first part.
#[tokio::test]
async fn file_size_limit() {
    const NAME: &str = "disk::file_size_limit";
    let row = row(NAME);
    if let Some(directory) = told_to() {
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
        assert_eq!(tell(NAME, &["sh", "-c", limited]), Ok(()));
    }
}

/// Content that does not fit on a disk of 32 KiB is refused and leaves nothing behind.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn full() {
    const NAME: &str = "disk::full";
    let row = row(NAME);
    if let Some(directory) = told_to() {
        is_refused(&row, &directory).await;
        assert_eq!(everything_in(&directory), [directory.join("s")]);
        // The disk is as empty as before: what was written of the content is gone again.
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
    if let Some(directory) = told_to() {
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

/// The link is not followed: what it leads to is somebody else's.
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

/// Somebody tidies up while contents are written. Each call either has its file, whole at the time, or its result.
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

/// A relative directory is below the current one, which may be gone.
#[tokio::test]
async fn no_current_directory() {
    const NAME: &str = "disk::no_current_directory";
    let row = row(NAME);
    if told_to().is_some() {
        let outcome = offloaded(&row, Path::new(".offload")).await;
        row.check_whole(Path::new("/DIR"), &outcome, &content());
    } else {
        let gone = format!("cd \"${}\" && rmdir \"$PWD\" && exec \"$0\" \"$@\"", STORY);
        assert_eq!(tell(NAME, &["sh", "-c", &gone]), Ok(()));
    }
}
