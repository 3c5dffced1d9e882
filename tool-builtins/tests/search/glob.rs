//! `Glob`: newest first, within the workspace, without ignored files.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::folder::TestFolder;

/// Sets the time of the last change, in seconds before now.
fn set_age(folder: &TestFolder, name: &str, seconds: u64) {
    let file = File::options().append(true).open(folder.path.join(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
        .unwrap();
}

#[tokio::test]
async fn files_are_found_newest_first() {
    let folder = TestFolder::searching();
    for (name, age) in [
        ("a.rs", 30),
        ("src/b.rs", 10),
        ("src/deep/c.rs", 20),
        ("src/d.py", 5),
        ("README", 1),
    ] {
        folder.write(name, "");
        set_age(&folder, name, age);
    }
    let all = folder.call("Glob", json!({ "pattern": "**/*.rs" })).await;
    assert_eq!(all.ok(), "src/b.rs\nsrc/deep/c.rs\na.rs");
    // `*` does not match `/`, and the pattern is matched below `path`.
    assert_eq!(
        folder.call("Glob", json!({ "pattern": "*.rs" })).await.ok(),
        "a.rs"
    );
    let part = folder
        .call(
            "Glob",
            json!({ "pattern": "*.{rs,py}", "path": folder.path.join("src") }),
        )
        .await;
    assert_eq!(part.ok(), "src/d.py\nsrc/b.rs");
    assert_eq!(
        folder.call("Glob", json!({ "pattern": "*.PY" })).await.ok(),
        "no file below `.` matches `*.PY` (5 files were compared); `**/*.PY` also matches in folders"
    );
    for (pattern, path, code) in [
        ("a[", ".", "invalid_pattern"),
        ("/etc/*", ".", "invalid_pattern"),
        ("*", "none", "not_found"),
        ("*", "a.rs", "not_found"),
        ("*", "..", "outside_workspace"),
    ] {
        let failed = folder
            .call("Glob", json!({ "pattern": pattern, "path": path }))
            .await;
        assert_eq!(failed.code(), code, "{pattern} {path}");
    }
}

#[tokio::test]
async fn ignored_and_denied_files_are_left_out() {
    let folder = TestFolder::searching_with(|options| options.deny(["**/.env*"]));
    for name in [
        "a.txt",
        "b.log",
        "target/c.txt",
        ".git/d.txt",
        ".hidden/e.txt",
        ".env",
        "sub/.env.txt",
    ] {
        folder.write(name, "");
        set_age(&folder, name, 10);
    }
    folder.write(".gitignore", "/target\n*.log\n");
    set_age(&folder, ".gitignore", 20);
    let all = folder.call("Glob", json!({ "pattern": "**/*" })).await;
    assert_eq!(
        all.ok(),
        ".hidden/e.txt\na.txt\n.gitignore\n(left out: 1 ignored files that match, and 1 ignored folders; send an ignored folder as `path` to search it)"
    );
    let ignored = folder
        .call("Glob", json!({ "pattern": "*", "path": "target" }))
        .await;
    assert_eq!(ignored.ok(), "target/c.txt");
}

#[tokio::test]
async fn at_most_100_files_are_listed() {
    let folder = TestFolder::searching();
    for at in 0..150 {
        folder.write(&format!("f{at:03}"), "");
        set_age(&folder, &format!("f{at:03}"), 1_000 - at);
    }
    let all = folder.call("Glob", json!({ "pattern": "*" })).await;
    assert_eq!(all.ok().lines().count(), 101);
    assert!(all.text().starts_with("f149\nf148\n"), "{}", all.text());
    assert!(
        all.text()
            .ends_with("\n(100 of 150 files; send a narrower glob or a `path` for others)")
    );
}

#[cfg(unix)]
#[tokio::test]
async fn links_to_files_inside_are_files() {
    let outer = TestFolder::searching();
    outer.write("secret.txt", "");
    outer.write("root/a/b.txt", "");
    let root = outer.path.join("root");
    std::os::unix::fs::symlink("a/b.txt", root.join("link.txt")).unwrap();
    std::os::unix::fs::symlink("../secret.txt", root.join("out.txt")).unwrap();
    std::os::unix::fs::symlink("a", root.join("folder.txt")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("etc")).unwrap();
    let folder = TestFolder::searching_at(&root);
    let all = folder.call("Glob", json!({ "pattern": "**/*.txt" })).await;
    let mut names: Vec<&str> = all.ok().lines().collect();
    names.sort_unstable();
    assert_eq!(names, ["a/b.txt", "link.txt"]);
    let _ = fs::metadata(&root);
}
