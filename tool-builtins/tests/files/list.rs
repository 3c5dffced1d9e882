//! `LS`: breadth first, with what is left out as numbers.

use serde_json::json;

use crate::folder::TestFolder;

#[tokio::test]
async fn names_are_listed_nearest_first() {
    let folder = TestFolder::new();
    for name in [
        "b/deep/er",
        "b/x.log",
        "a",
        ".hidden",
        "target/debug/x",
        "target/y",
        ".git/config",
        "c.log",
    ] {
        folder.write(name, "");
    }
    folder.write(".gitignore", "target/\n*.log\n!b/x.log\n");
    let all = folder.call("LS", json!({})).await;
    assert_eq!(
        all.ok(),
        ".git/ (version control, 1 entries)\n.gitignore\n.hidden\na\nb/\nc.log (ignored)\ntarget/ (ignored, 2 entries)\nb/deep/\nb/x.log\nb/deep/er"
    );
    let part = folder
        .call("LS", json!({ "path": folder.path.join("b"), "ignore": ["deep"] }))
        .await;
    assert_eq!(part.ok(), "b/x.log");
    // An ignored folder that is named is listed.
    assert_eq!(
        folder.call("LS", json!({ "path": "target" })).await.ok(),
        "target/debug/\ntarget/y\ntarget/debug/x"
    );
    let invalid = folder.call("LS", json!({ "ignore": ["{a"] })).await;
    assert_eq!(invalid.code(), "invalid_pattern");
    assert_eq!(
        folder.call("LS", json!({ "path": "a" })).await.code(),
        "not_found"
    );
    assert_eq!(
        folder.call("LS", json!({ "path": "none" })).await.code(),
        "not_found"
    );
}

#[tokio::test]
async fn long_list_ends_with_what_is_missing() {
    let folder = TestFolder::new();
    for at in 0..30 {
        for name in 0..50 {
            folder.write(&format!("f{at:02}/n{name:02}"), "");
        }
    }
    let list = folder.call("LS", json!({})).await;
    assert_eq!(list.ok().lines().count(), 1_001);
    assert!(
        list.text().ends_with("\n(530 more, in f20/ (50), f21/ (50), f22/ (50), f23/ (50), f24/ (50) …; list one of these folders, or leave names out with `ignore`)"),
        "{}",
        list.text().lines().last().unwrap()
    );
}

/// A process that may open few files lists many folders: at the top, and one in another.
#[cfg(unix)]
#[test]
fn few_files_are_open_at_a_time() {
    const NAME: &str = "list::few_files_are_open_at_a_time";
    const CHILD: &str = "LIST_WITH_FEW_FILES";
    if std::env::var_os(CHILD).is_none() {
        // In another process, since the limit holds for all tests of this one.
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -n 48 && exec \"$0\" --exact \"$1\" --nocapture"])
            .arg(std::env::current_exe().unwrap())
            .arg(NAME)
            .env(CHILD, "1")
            .output()
            .unwrap();
        return assert!(output.status.success(), "{output:?}");
    }
    let folder = TestFolder::new();
    for at in 0..400 {
        folder.write(&format!("f{at:03}/n"), "needle");
    }
    let deep: String = (0..100).map(|_| "d/").collect();
    folder.write(&format!("{deep}n"), "needle");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let list = runtime.unwrap().block_on(folder.call("LS", json!({})));
    assert_eq!(list.ok().lines().count(), 400 * 2 + 101, "{}", list.text());
    assert!(!list.text().contains("cannot be listed"), "{}", list.text());
}

#[cfg(unix)]
#[tokio::test]
async fn links_show_their_target() {
    let folder = TestFolder::new();
    folder.write("a/b", "");
    std::os::unix::fs::symlink("/etc", folder.path.join("etc")).unwrap();
    std::os::unix::fs::symlink("a", folder.path.join("link")).unwrap();
    assert_eq!(
        folder.call("LS", json!({})).await.ok(),
        "a/\netc -> /etc\nlink -> a\na/b"
    );
    assert_eq!(
        folder.call("LS", json!({ "path": "etc" })).await.code(),
        "outside_workspace"
    );
    assert_eq!(folder.call("LS", json!({ "path": "link" })).await.ok(), "a/b");
}
