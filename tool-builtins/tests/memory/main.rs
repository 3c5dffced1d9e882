//! Memory of calls with a file of line ends, which has the most lines for its size. These tests have a separate process, and run one after
//! another.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::fs;

use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use crate::folder::TestFolder;

#[path = "../files/folder.rs"]
#[allow(dead_code, reason = "the tests of files use more")]
mod folder;

static ALONE: Mutex<()> = Mutex::const_new(());

/// Most memory of this process since a test began.
struct Peak {
    before: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Peak {
    async fn new() -> Self {
        let alone = ALONE.lock().await;
        // Resets the peak (proc_pid_clear_refs(5)).
        fs::write("/proc/self/clear_refs", "5").unwrap();
        Self {
            before: peak(),
            _alone: alone,
        }
    }

    fn assert_at_most(&self, mebibytes: usize) {
        let more = peak().saturating_sub(self.before) / 1024;
        println!("{more} MiB");
        assert!(more <= mebibytes, "{more} MiB");
    }
}

/// Returns the most memory that this process had, in KiB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn read_has_a_few_bytes_for_each_line() {
    let folder = TestFolder::new();
    folder.write("f", "\n".repeat(4 << 20));
    let peak = Peak::new().await;
    let answer = folder.call("Read", json!({ "file_path": "f", "limit": 1 })).await;
    assert_eq!(
        answer.ok(),
        "1\t\n(lines 1 to 1 of 4194304; continue with `offset` 2)"
    );
    peak.assert_at_most(8 * 4);
}

#[tokio::test]
async fn edit_has_a_few_bytes_for_each_line() {
    let folder = TestFolder::new();
    folder.write("f", "\r\n".repeat(2 << 20) + "end\r\n");
    let peak = Peak::new().await;
    let edit = json!({ "file_path": "f", "old_string": "end", "new_string": "new" });
    folder.call("Edit", edit).await.ok();
    peak.assert_at_most(10 * 4);
}

#[tokio::test]
async fn search_keeps_no_skipped_lines() {
    let folder = TestFolder::searching();
    folder.write("f", "x\n".repeat(1 << 19));
    let peak = Peak::new().await;
    let skipping = json!({ "pattern": "x", "output_mode": "content", "offset": 100_000_000 });
    let answer = folder.call("Grep", skipping).await;
    assert_eq!(answer.ok(), "no more results at `offset` 100000000");
    // One match that spans all lines.
    let all = json!({ "pattern": "(?s).+", "output_mode": "content", "multiline": true, "head_limit": 1, "path": "f" });
    let answer = folder.call("Grep", all).await;
    assert_eq!(
        answer.ok(),
        "f:1:x\n(results 1 to 1 lines; continue with `offset` 1)"
    );
    peak.assert_at_most(16);
}
