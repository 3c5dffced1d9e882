//! Tools for files on disks that return errors of the kernel, and in folders that change meanwhile.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tool_builtins::workspace::Workspace;
use tool_builtins::{files, search};
use tool_runtime::{ToolCall, ToolOutcome, ToolRegistry};

#[cfg(target_os = "linux")]
use crate::own_process::{child_directory, on_a_small_disk};
use crate::processes::{directory, everything_in};
use crate::rows::{Row, row};

/// Calls a tool in a workspace with this folder.
async fn called(row: &Row, folder: &Path, tool: &str, arguments: Value) -> ToolOutcome {
    let workspace = Workspace::open(folder).unwrap();
    let mut registry = ToolRegistry::new().with_state(workspace);
    registry.register_all(files::tools()).unwrap();
    registry.register_all(search::tools()).unwrap();
    registry.call(ToolCall::new(row.id(), tool, arguments)).await
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn disk_is_full_for_a_new_file() {
    const NAME: &str = "workspace::disk_is_full_for_a_new_file";
    let row = row(NAME);
    if let Some(folder) = child_directory() {
        let write = json!({ "file_path": "new", "content": "x".repeat(64 << 10) });
        row.check_in(&folder, &called(&row, &folder, "Write", write).await);
        assert!(everything_in(&folder).is_empty());
    } else {
        on_a_small_disk(NAME, "size=32k");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn disk_is_full_for_an_edit() {
    const NAME: &str = "workspace::disk_is_full_for_an_edit";
    let row = row(NAME);
    if let Some(folder) = child_directory() {
        fs::write(folder.join("a"), "one\n").unwrap();
        let edit = json!({ "file_path": "a", "old_string": "one", "new_string": "x".repeat(64 << 10) });
        row.check_in(&folder, &called(&row, &folder, "Edit", edit).await);
        assert_eq!(everything_in(&folder), [folder.join("a")]);
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "one\n");
    } else {
        on_a_small_disk(NAME, "size=32k");
    }
}

/// A file with several hard links is overwritten in place, and has its old bytes after an error.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn disk_is_full_for_a_file_with_hard_links() {
    const NAME: &str = "workspace::disk_is_full_for_a_file_with_hard_links";
    let row = row(NAME);
    if let Some(folder) = child_directory() {
        fs::write(folder.join("a"), "one\n").unwrap();
        fs::hard_link(folder.join("a"), folder.join("b")).unwrap();
        let edit = json!({ "file_path": "a", "old_string": "one", "new_string": "x".repeat(64 << 10) });
        row.check_in(&folder, &called(&row, &folder, "Edit", edit).await);
        assert_eq!(fs::read_to_string(folder.join("b")).unwrap(), "one\n");
    } else {
        on_a_small_disk(NAME, "size=32k");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn disk_is_read_only() {
    const NAME: &str = "workspace::disk_is_read_only";
    let row = row(NAME);
    if let Some(folder) = child_directory() {
        let write = json!({ "file_path": "new", "content": "x" });
        row.check_in(&folder, &called(&row, &folder, "Write", write).await);
    } else {
        on_a_small_disk(NAME, "size=32k,ro");
    }
}

/// Another process creates and removes files between the list of a folder and the search of its files.
#[tokio::test]
async fn files_vanish_during_a_search() {
    let row = row("workspace::files_vanish_during_a_search");
    let folder = directory(&row);
    fs::write(folder.join("stable"), "needle\n").unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let changing = {
        let (folder, is_done) = (folder.clone(), Arc::clone(&is_done));
        std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                for name in ["a", "b", "z"] {
                    let path = folder.join(name);
                    fs::write(&path, "other\n").unwrap();
                    fs::remove_file(&path).unwrap();
                    fs::create_dir(&path).unwrap();
                    fs::remove_dir(&path).unwrap();
                }
            }
        })
    };
    for _ in 0..200 {
        let outcome = called(&row, &folder, "Grep", json!({ "pattern": "needle" })).await;
        row.check_in(&folder, &outcome);
    }
    is_done.store(true, Ordering::Relaxed);
    changing.join().unwrap();
    fs::remove_dir_all(folder).unwrap();
}
