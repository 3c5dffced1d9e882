//! Paths: no path, link or race leads out of the workspace, and only regular files are opened.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::folder::TestFolder;
use crate::swapped_folder::SwappedFolder;

/// Calls every tool with a path.
async fn codes(folder: &TestFolder, path: &str) -> Vec<String> {
    let mut codes = Vec::new();
    for (tool, arguments) in [
        ("Read", json!({ "file_path": path })),
        ("LS", json!({ "path": path })),
        ("Write", json!({ "file_path": path, "content": "changed" })),
        (
            "Edit",
            json!({ "file_path": path, "old_string": "secret", "new_string": "changed" }),
        ),
        (
            "Edit",
            json!({ "file_path": path, "old_string": "", "new_string": "changed" }),
        ),
        (
            "MultiEdit",
            json!({ "file_path": path, "edits": [{ "old_string": "secret", "new_string": "changed" }] }),
        ),
    ] {
        let answer = folder.call(tool, arguments).await;
        assert!(answer.0.result.is_error, "{tool} {path}: {}", answer.text());
        assert!(
            !answer.text().contains("hidden content"),
            "{tool} {path}: {}",
            answer.text()
        );
        codes.push(answer.code().to_owned());
    }
    codes
}

#[tokio::test]
async fn paths_and_links_out_of_the_workspace_are_refused() {
    let outer = TestFolder::new();
    outer.write("secret", "hidden content secret");
    outer.write("root/in", "in\n");
    outer.write("root-evil/secret", "hidden content secret");
    fs::create_dir(outer.path.join("root/sub")).unwrap();
    let root = outer.path.join("root");
    let folder = TestFolder::at(&root);
    let link = |target: &Path, name: &str| symlink(target, root.join(name)).unwrap();
    link(&outer.path.join("secret"), "absolute");
    link(Path::new("../secret"), "relative");
    link(&outer.path, "folder");
    link(Path::new("folder"), "chain");
    link(Path::new("sub/../.."), "above");
    link(Path::new("/proc/self/environ"), "environ");
    let secret = outer.path.join("secret").display().to_string();
    let evil = outer.path.join("root-evil/secret").display().to_string();
    let dots = root.join("../secret").display().to_string();
    for path in [
        "../secret",
        "sub/../../secret",
        "absolute",
        "relative",
        "folder/secret",
        "chain/secret",
        "above/secret",
        "./sub/../chain/secret",
        "/etc/hostname",
        "/proc/self/environ",
        "environ",
        &secret,
        &evil,
        &dots,
    ] {
        let codes = codes(&folder, path).await;
        assert!(
            codes.iter().all(|code| code == "outside_workspace"),
            "{path}: {codes:?}"
        );
    }
    assert_eq!(outer.text("secret"), "hidden content secret");
    assert_eq!(outer.text("root-evil/secret"), "hidden content secret");
    // Links inside work, also with an absolute target.
    link(&root.join("in"), "inside");
    link(Path::new("sub/../in"), "inside_too");
    for path in ["inside", "inside_too", "sub/../in"] {
        assert_eq!(
            folder.call("Read", json!({ "file_path": path })).await.ok(),
            "1\tin"
        );
    }
    symlink("loop", root.join("loop")).unwrap();
    assert_eq!(
        folder.call("Read", json!({ "file_path": "loop" })).await.code(),
        "io"
    );
    for path in ["", "a\0b"] {
        assert_eq!(
            folder.call("Read", json!({ "file_path": path })).await.code(),
            "not_found"
        );
    }
}

#[tokio::test]
async fn pipes_devices_and_sockets_are_not_opened() {
    let folder = TestFolder::new();
    let pipe = Command::new("mkfifo")
        .arg(folder.path.join("pipe"))
        .status()
        .unwrap();
    assert!(pipe.success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path.join("socket")).unwrap();
    symlink("/dev/zero", folder.path.join("zero")).unwrap();
    for path in ["pipe", "socket"] {
        assert_eq!(
            folder.call("Read", json!({ "file_path": path })).await.code(),
            "not_a_file"
        );
        let edit = json!({ "file_path": path, "old_string": "a", "new_string": "b" });
        assert_eq!(folder.call("Edit", edit).await.code(), "not_a_file");
        let write = json!({ "file_path": path, "content": "b" });
        assert_eq!(folder.call("Write", write).await.code(), "not_a_file");
    }
    assert_eq!(
        folder.call("Read", json!({ "file_path": "zero" })).await.code(),
        "outside_workspace"
    );
    // A device inside, where the test may create one.
    let device = Command::new("mknod")
        .args([folder.path.join("null").to_str().unwrap(), "c", "1", "3"])
        .stderr(std::process::Stdio::null())
        .status();
    if device.is_ok_and(|status| status.success()) {
        assert_eq!(
            folder.call("Read", json!({ "file_path": "null" })).await.code(),
            "not_a_file"
        );
    }
}

#[tokio::test]
async fn unusual_names_are_names() {
    let folder = TestFolder::new();
    let long = "n".repeat(255);
    for name in [
        "with space",
        "日本.txt",
        "line\nbreak",
        "~",
        "-rf",
        "a'b\"c",
        &long,
        "tab\t",
    ] {
        let write = json!({ "file_path": name, "content": "one\n" });
        folder.call("Write", write).await.ok();
        assert_eq!(
            folder.call("Read", json!({ "file_path": name })).await.ok(),
            "1\tone"
        );
        let edit = json!({ "file_path": name, "old_string": "one", "new_string": "two" });
        folder.call("Edit", edit).await.ok();
        assert_eq!(folder.text(name), "two\n");
    }
    let too_long = json!({ "file_path": "n".repeat(256), "content": "" });
    assert!(folder.call("Write", too_long).await.0.result.is_error);
}

#[tokio::test]
async fn further_folder_is_read_by_its_absolute_path() {
    let extra = TestFolder::new();
    extra.write("output", "one\n");
    let folder = TestFolder::with(|options| options.extra(&extra.path));
    let path = extra.path.join("output").display().to_string();
    assert_eq!(
        folder.call("Read", json!({ "file_path": path })).await.ok(),
        "1\tone"
    );
    let edit = json!({ "file_path": path, "old_string": "one", "new_string": "two" });
    assert_eq!(folder.call("Edit", edit).await.code(), "read_only");
    // The folder has the files of several sessions.
    let list = json!({ "path": extra.path });
    assert_eq!(folder.call("LS", list).await.code(), "denied");
    let folder = TestFolder::with(|options| options.writable_extra(&extra.path));
    let edit = json!({ "file_path": path, "old_string": "one", "new_string": "two" });
    folder.call("Edit", edit).await.ok();
    assert_eq!(extra.text("output"), "two\n");
}

/// A second thread exchanges a folder for a link that leads out, and back, while the tools use paths in it: 10,000 calls.
#[tokio::test]
async fn folder_that_is_swapped_for_a_link_leads_nowhere() {
    let outer = TestFolder::new();
    outer.write("outside/file", "hidden content");
    outer.write("root/name/file", "one\n");
    let root = outer.path.join("root");
    let folder = TestFolder::at(&root);
    let swapped = SwappedFolder::start(&outer);
    let (mut found, mut refused) = (0, 0);
    for at in 0..2_000 {
        for (tool, arguments) in [
            ("Read", json!({ "file_path": "name/file" })),
            (
                "Write",
                json!({ "file_path": format!("name/new{at}"), "content": "x" }),
            ),
            (
                "Edit",
                json!({ "file_path": "name/file", "old_string": "one", "new_string": "one" }),
            ),
            ("LS", json!({ "path": "name" })),
            (
                "Edit",
                json!({ "file_path": "name/file", "old_string": "hidden content", "new_string": "changed" }),
            ),
        ] {
            let answer = folder.call(tool, arguments).await;
            assert!(!answer.text().contains("hidden content"), "{}", answer.text());
            if answer.0.result.is_error {
                refused += 1;
            } else {
                found += 1;
            }
        }
    }
    let swaps = swapped.stop();
    assert!(found > 0 && refused > 0 && swaps > 0);
    println!("{found} calls found the folder, {refused} were refused, {swaps} swaps");
    assert_eq!(outer.text("outside/file"), "hidden content");
    assert_eq!(outer.names("outside"), ["file"]);
}

#[tokio::test]
async fn path_of_too_many_folders_is_an_error_with_a_remedy() {
    let folder = TestFolder::new();
    let deep = |folders: usize| "d/".repeat(folders) + "f";
    let mut dir = folder.path.clone();
    (0..210).for_each(|_| dir.push("d"));
    fs::create_dir_all(&dir).unwrap();
    folder.write(&deep(200), "text\n");
    folder.write(&deep(201), "text\n");
    assert_eq!(
        folder.call("Read", json!({ "file_path": deep(200) })).await.ok(),
        "1\ttext"
    );
    for path in [
        deep(201),
        "n/".repeat(1_200) + "f",
        deep(150) + &"/../n".repeat(100),
    ] {
        for (tool, arguments) in [
            ("Read", json!({ "file_path": path })),
            ("Write", json!({ "file_path": path, "content": "x" })),
            ("LS", json!({ "path": path })),
        ] {
            let answer = folder.call(tool, arguments).await;
            assert!(answer.0.result.is_error, "{tool} {path}");
        }
    }
    let answer = folder.call("Read", json!({ "file_path": deep(201) })).await;
    assert_eq!(answer.code(), "too_large");
    assert!(answer.text().contains("as the workspace"), "{}", answer.text());
    let new = folder
        .call(
            "Write",
            json!({ "file_path": "n/".repeat(1_200) + "f", "content": "x" }),
        )
        .await;
    assert_eq!(new.code(), "too_large");
    assert!(!folder.path.join("n").exists());
}
