//! Memory of calls with a file of line ends, which has the most lines for its size.

use serde_json::json;

use crate::folder::TestFolder;

/// Returns the most memory that this process ever had, in MiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

#[tokio::test]
async fn read_has_a_few_bytes_for_each_line() {
    let folder = TestFolder::new();
    folder.write("f", "\n".repeat(16 << 20));
    let before = peak();
    let answer = folder.call("Read", json!({ "file_path": "f", "limit": 1 })).await;
    assert_eq!(
        answer.ok(),
        "1\t\n(lines 1 to 1 of 16777216; continue with `offset` 2)"
    );
    println!("{} MiB", peak() - before);
    assert!(peak() - before < 8 * 16, "{} MiB", peak() - before);
}

#[tokio::test]
async fn edit_has_a_few_bytes_for_each_line() {
    let folder = TestFolder::new();
    folder.write("f", "\r\n".repeat(8 << 20) + "end\r\n");
    let before = peak();
    let edit = json!({ "file_path": "f", "old_string": "end", "new_string": "new" });
    folder.call("Edit", edit).await.ok();
    println!("{} MiB", peak() - before);
    assert!(peak() - before < 10 * 16, "{} MiB", peak() - before);
}
