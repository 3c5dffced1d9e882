//! `Write`, `MultiEdit`, and how files are saved.

use std::fs;
use std::sync::Arc;

use serde_json::json;
use tool_builtins::workspace::WorkspaceOptions;

use crate::folder::TestFolder;

#[tokio::test]
async fn file_is_created_with_its_folders() {
    let folder = TestFolder::new();
    let created = folder
        .call(
            "Write",
            json!({ "file_path": "a/b/c.txt", "content": "one\r\ntwo" }),
        )
        .await;
    assert_eq!(created.ok(), "created a/b/c.txt (2 lines)");
    assert_eq!(folder.bytes("a/b/c.txt"), b"one\r\ntwo");
    // The model knows what it wrote.
    let replaced = folder
        .call("Write", json!({ "file_path": "a/b/c.txt", "content": "three\n" }))
        .await;
    assert_eq!(
        replaced.ok(),
        "replaced a/b/c.txt (1 lines)\nNote: the lines end with CRLF, as before."
    );
    assert_eq!(folder.names("a/b"), ["c.txt"]);
}

#[tokio::test]
async fn file_that_was_not_read_completely_is_not_replaced() {
    let folder = TestFolder::new();
    folder.write("a", "1\n2\n3\n");
    let write = json!({ "file_path": "a", "content": "new\n" });
    assert_eq!(folder.call("Write", write.clone()).await.code(), "not_read");
    folder
        .call("Read", json!({ "file_path": "a", "limit": 2 }))
        .await
        .ok();
    assert_eq!(folder.call("Write", write.clone()).await.code(), "not_read");
    folder
        .call("Read", json!({ "file_path": "a", "offset": 3 }))
        .await
        .ok();
    // Another session has not read the file.
    assert_eq!(
        folder.call_in("s-2", "Write", write.clone()).await.code(),
        "not_read"
    );
    folder.write("a", "1\n2\nfour\n");
    assert_eq!(folder.call("Write", write.clone()).await.code(), "changed");
    assert_eq!(folder.text("a"), "1\n2\nfour\n");
    folder.call("Read", json!({ "file_path": "a" })).await.ok();
    folder.call("Write", write.clone()).await.ok();
    assert_eq!(folder.text("a"), "new\n");
    folder.write("long", format!("{}\n", "a".repeat(3_000)));
    folder.call("Read", json!({ "file_path": "long" })).await.ok();
    let long = json!({ "file_path": "long", "content": "short\n" });
    assert_eq!(folder.call("Write", long).await.code(), "not_read");
    folder.write("empty", "");
    folder
        .call("Write", json!({ "file_path": "empty", "content": "x" }))
        .await
        .ok();
}

#[tokio::test]
async fn encoding_and_line_ends_stay() {
    let folder = TestFolder::new();
    let units: Vec<u8> = "\u{feff}a\r\nb\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    folder.write("utf16", &units);
    folder.call("Read", json!({ "file_path": "utf16" })).await.ok();
    let answer = folder
        .call("Write", json!({ "file_path": "utf16", "content": "c\nd\n" }))
        .await;
    assert_eq!(
        answer.ok(),
        "replaced utf16 (2 lines)\nNote: the lines end with CRLF, as before."
    );
    let expected: Vec<u8> = "\u{feff}c\r\nd\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(folder.bytes("utf16"), expected);
    folder.write("mixed", "\u{feff}a\r\nb\n");
    folder.call("Read", json!({ "file_path": "mixed" })).await.ok();
    folder
        .call("Write", json!({ "file_path": "mixed", "content": "c\nd\n" }))
        .await
        .ok();
    assert_eq!(folder.text("mixed"), "\u{feff}c\nd\n");
}

/// Each of thirty edits doubles the text, which would have a gigabyte.
#[tokio::test]
async fn edits_do_not_grow_a_file_beyond_its_limit() {
    let folder = TestFolder::new();
    let double = json!({ "old_string": "a", "new_string": "aa", "replace_all": true });
    let mut edits = vec![json!({ "old_string": "", "new_string": "a" })];
    edits.extend(std::iter::repeat_n(double, 30));
    let failed = folder
        .call("MultiEdit", json!({ "file_path": "a", "edits": edits }))
        .await;
    assert_eq!(failed.code(), "too_large");
    let text = failed.text();
    assert!(
        text.starts_with(
            "too_large: /edits/18: old_string is more than 100000 times in `a`; nothing was changed"
        ),
        "{text}"
    );
    assert!(!folder.path.join("a").exists());
    folder.write("b", "a ".repeat(50_000));
    let edit =
        json!({ "file_path": "b", "old_string": "a", "new_string": "a".repeat(2_000), "replace_all": true });
    let failed = folder.call("Edit", edit).await;
    assert_eq!(failed.code(), "too_large");
    assert!(
        failed
            .text()
            .contains("would have 100050000 bytes after the edit; expected at most 52428800"),
        "{}",
        failed.text()
    );
}

/// The lines between the places of one edit are not known, so the file cannot be replaced.
#[tokio::test]
async fn edits_at_both_ends_of_a_file_do_not_show_the_file() {
    for edits_tool in [true, false] {
        let folder = TestFolder::new();
        folder.write("a", format!("x\n{}x\n", "unseen\n".repeat(10)));
        let (tool, edit) = if edits_tool {
            let edit = |old: &str, new: &str| json!({ "old_string": old, "new_string": new });
            let edits = [edit("x\nunseen", "y\nunseen"), edit("unseen\nx", "unseen\ny")];
            ("MultiEdit", json!({ "file_path": "a", "edits": edits }))
        } else {
            (
                "Edit",
                json!({ "file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true }),
            )
        };
        folder.call(tool, edit).await.ok();
        let write = json!({ "file_path": "a", "content": "new" });
        assert_eq!(folder.call("Write", write).await.code(), "not_read", "{tool}");
    }
}

#[tokio::test]
async fn several_edits_are_all_or_none() {
    let folder = TestFolder::new();
    folder.write("a", "one\ntwo  \nthree\n");
    folder.call("Read", json!({ "file_path": "a" })).await.ok();
    let edit = |old: &str, new: &str| json!({ "old_string": old, "new_string": new });
    let failed = folder
        .call(
            "MultiEdit",
            json!({ "file_path": "a", "edits": [edit("one", "uno"), edit("uno", "eins"), edit("four", "4")] }),
        )
        .await;
    assert_eq!(failed.code(), "no_match");
    assert!(
        failed
            .text()
            .starts_with("no_match: /edits/2: `a` was not changed: "),
        "{}",
        failed.text()
    );
    assert!(
        failed.text().ends_with("; no edit was written"),
        "{}",
        failed.text()
    );
    assert_eq!(folder.text("a"), "one\ntwo  \nthree\n");
    let edits = [edit("one", "uno"), edit("uno\ntwo\nthree", "eins\ntwo\ndrei")];
    let edited = folder
        .call("MultiEdit", json!({ "file_path": "a", "edits": edits }))
        .await;
    assert_eq!(
        edited.ok(),
        "edited a with 2 edits\nNote: old_string of /edits/1 differed from the file in blanks at the ends of lines.\n1\teins\n2\ttwo  \n3\tdrei"
    );
    assert_eq!(folder.text("a"), "eins\ntwo  \ndrei\n");
    let edits = [edit("", "x\ny\n"), edit("y", "z")];
    folder
        .call("MultiEdit", json!({ "file_path": "new/b", "edits": edits }))
        .await
        .ok();
    assert_eq!(folder.text("new/b"), "x\nz\n");
    let none = folder
        .call("MultiEdit", json!({ "file_path": "a", "edits": [] }))
        .await;
    assert!(
        none.text().contains("expected at least 1 item, got 0"),
        "{}",
        none.text()
    );
}

#[tokio::test]
async fn parallel_edits_of_one_file_are_all_there() {
    let folder = Arc::new(TestFolder::new());
    let lines: Vec<String> = (0..20).map(|at| format!("line {at}.\n")).collect();
    folder.write("a", lines.concat());
    let calls: Vec<_> = (0..20)
        .map(|at| {
            let folder = Arc::clone(&folder);
            let (old, new) = (format!("line {at}."), format!("changed {at}."));
            tokio::spawn(async move {
                let edit = json!({ "file_path": "a", "old_string": old, "new_string": new });
                folder.call("Edit", edit).await.ok().to_owned()
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let expected: Vec<String> = (0..20).map(|at| format!("changed {at}.\n")).collect();
    assert_eq!(folder.text("a"), expected.concat());
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_and_links_stay() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let folder = TestFolder::new();
    let mode = |name: &str| fs::metadata(folder.path.join(name)).unwrap().mode() & 0o7777;
    let edit = |name: &str| json!({ "file_path": name, "old_string": "one", "new_string": "two" });
    folder.write("script", "one\n");
    fs::set_permissions(folder.path.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    folder.call("Edit", edit("script")).await.ok();
    assert_eq!(mode("script"), 0o755);
    // The mode of a new file is the one that the process gives to all files.
    folder.write("by_std", "");
    folder
        .call("Write", json!({ "file_path": "new", "content": "" }))
        .await
        .ok();
    assert_eq!(mode("new"), mode("by_std"));
    folder.write("target", "one\n");
    symlink("target", folder.path.join("link")).unwrap();
    assert!(
        folder
            .call("Edit", edit("link"))
            .await
            .ok()
            .starts_with("edited target at line 1")
    );
    assert!(folder.path.join("link").is_symlink());
    assert_eq!(folder.text("target"), "two\n");
    folder.write("first", "one\n");
    fs::hard_link(folder.path.join("first"), folder.path.join("second")).unwrap();
    let answer = folder.call("Edit", edit("first")).await;
    assert!(
        answer
            .ok()
            .contains("written in place, since it has several names (hard links)"),
        "{}",
        answer.text()
    );
    assert_eq!(folder.text("second"), "two\n");
    symlink("nowhere", folder.path.join("dangling")).unwrap();
    let dangling = folder
        .call("Write", json!({ "file_path": "dangling", "content": "" }))
        .await;
    assert!(
        dangling
            .text()
            .contains("a symbolic link to a file that does not exist"),
        "{}",
        dangling.text()
    );
    assert!(!folder.path.join("nowhere").exists());
    let names = folder.names(".");
    assert!(!names.iter().any(|name| name.starts_with(".tmp")), "{names:?}");
}

/// Returns the entries of an access control list in the form of the kernel: tag, permissions and id of each.
#[cfg(target_os = "linux")]
fn access_list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entries = entries.iter().flat_map(|(tag, permissions, id)| {
        [
            tag.to_le_bytes().to_vec(),
            permissions.to_le_bytes().to_vec(),
            id.to_le_bytes().to_vec(),
        ]
        .concat()
    });
    2_u32.to_le_bytes().into_iter().chain(entries).collect()
}

/// An edited file has the access control list and the attributes of the old one, and none that its folder gives to new files.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn access_lists_and_attributes_stay() {
    use rustix::fs::{XattrFlags, getxattr_query, setxattr};
    use std::os::unix::fs::MetadataExt as _;

    const NO_ID: u32 = u32::MAX;
    const ACCESS: &str = "system.posix_acl_access";
    let folder = TestFolder::new();
    folder.write("a", "one\n");
    folder.write("plain", "one\n");
    let path = |name: &str| folder.path.join(name);
    let set = |name: &str, attribute: &str, value: &[u8]| {
        setxattr(path(name), attribute, value, XattrFlags::empty())
    };
    let value = |name: &str, attribute: &str| {
        let mut value = vec![0; getxattr_query(path(name), attribute).ok()?];
        rustix::fs::getxattr(path(name), attribute, &mut value[..]).ok()?;
        Some(value)
    };
    // Owner, user 12345, group, mask and others.
    let list = access_list(&[
        (1, 6, NO_ID),
        (2, 4, 12345),
        (4, 0, NO_ID),
        (16, 4, NO_ID),
        (32, 0, NO_ID),
    ]);
    if set("a", ACCESS, &list)
        .and_then(|()| set("a", "user.note", b"mine"))
        .is_err()
    {
        eprintln!("SKIPPED: the file system has no access control lists or attributes");
        return;
    }
    let default = access_list(&[
        (1, 7, NO_ID),
        (2, 7, 4711),
        (4, 0, NO_ID),
        (16, 7, NO_ID),
        (32, 0, NO_ID),
    ]);
    set(".", "system.posix_acl_default", &default).unwrap();
    let mode = |name: &str| fs::metadata(path(name)).unwrap().mode();
    let before = [mode("a"), mode("plain")];
    for name in ["a", "plain"] {
        let edit = json!({ "file_path": name, "old_string": "one", "new_string": "two" });
        let answer = folder.call("Edit", edit).await;
        assert!(!answer.ok().contains("in place"), "{}", answer.text());
        assert_eq!(folder.text(name), "two\n");
    }
    assert_eq!([mode("a"), mode("plain")], before);
    assert_eq!(value("a", ACCESS), Some(list));
    assert_eq!(value("a", "user.note").as_deref(), Some(&b"mine"[..]));
    assert_eq!(value("plain", ACCESS), None);
}

#[tokio::test]
async fn read_only_workspace_and_denied_paths_are_not_written() {
    let folder = TestFolder::with(WorkspaceOptions::read_only);
    folder.write("a", "one\n");
    let write = json!({ "file_path": "b", "content": "x" });
    assert_eq!(folder.call("Write", write.clone()).await.code(), "read_only");
    let edit = json!({ "file_path": "a", "old_string": "one", "new_string": "two" });
    assert_eq!(folder.call("Edit", edit.clone()).await.code(), "read_only");
    let folder = TestFolder::with(|options| options.deny_write(["**/.git"]).deny(["*.pem"]));
    folder.write(".git/config", "one\n");
    folder.write("sub/file", "");
    for path in [".git/config", ".git/hooks/new", "sub/../.git/config", "sub/.git"] {
        let edit = json!({ "file_path": path, "content": "x" });
        assert_eq!(folder.call("Write", edit).await.code(), "denied", "{path}");
    }
    folder
        .call("Read", json!({ "file_path": ".git/config" }))
        .await
        .ok();
    folder.write("key.pem", "secret");
    for (tool, arguments) in [
        ("Read", json!({ "file_path": "key.pem" })),
        (
            "Edit",
            json!({ "file_path": "key.pem", "old_string": "secret", "new_string": "x" }),
        ),
        ("Write", json!({ "file_path": "other.pem", "content": "x" })),
        ("LS", json!({ "path": "key.pem" })),
    ] {
        assert_eq!(folder.call(tool, arguments).await.code(), "denied", "{tool}");
    }
    assert_eq!(
        folder.call("LS", json!({})).await.ok(),
        ".git/ (version control, 1 entries)\nsub/\nsub/file"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn write_protected_file_is_not_replaced() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TestFolder::new();
    for mode in [0o444, 0o400, 0o464] {
        folder.write("f", "one\n");
        folder.call("Read", json!({ "file_path": "f" })).await.ok();
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path.join("f"), permissions).unwrap();
        let edit = json!({ "file_path": "f", "old_string": "one", "new_string": "two" });
        let answer = folder.call("Edit", edit).await;
        assert_eq!(answer.code(), "read_only", "{mode:o}");
        assert!(answer.text().contains("chmod u+w"), "{}", answer.text());
        let write = json!({ "file_path": "f", "content": "two\n" });
        assert_eq!(folder.call("Write", write).await.code(), "read_only", "{mode:o}");
        assert_eq!(folder.text("f"), "one\n");
        fs::remove_file(folder.path.join("f")).unwrap();
    }
}
