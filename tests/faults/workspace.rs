//! Tools for files on disks that return errors of the kernel, and in folders that change meanwhile.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tool_builtins::workspace::Workspace;
use tool_builtins::{files, search};
use tool_runtime::{ToolCall, ToolOutcome, ToolRegistry};

#[cfg(target_os = "linux")]
use crate::own_process::{CHILD_DIRECTORY, child_directory, directory_of, on_a_small_disk, run_in_child};
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

/// Runs a test as a user who owns nothing, since root may do everything. Other users are refused access to their files by the mode alone.
#[cfg(target_os = "linux")]
fn as_an_ordinary_user(test: &str, check: impl FnOnce(&Path)) {
    if let Some(folder) = child_directory() {
        return check(&folder);
    }
    if !rustix::process::geteuid().is_root() {
        let folder = directory_of(test);
        check(&folder);
        return fs::remove_dir_all(folder).unwrap();
    }
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let run = |script: &str| {
        let open = format!("chmod 777 \"${CHILD_DIRECTORY}\" && ");
        run_in_child(test, &["sh", "-c", &(open + script)])
    };
    // The user may have no access to the folder of the build.
    if run(&format!("{user} test -x \"$0\" && exit 0")).is_err() {
        let ignored = format!("\nIGNORED: {test}, since another user cannot be used\n");
        assert!(
            std::env::var_os("FAULT_TESTS").is_none_or(|said| said != "required"),
            "{ignored}"
        );
        return std::io::stderr().write_all(ignored.as_bytes()).unwrap();
    }
    assert_eq!(run(&format!("exec {user} \"$0\" \"$@\"")), Ok(()));
}

#[cfg(target_os = "linux")]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs a call to its end.
#[cfg(target_os = "linux")]
fn call(row: &Row, folder: &Path, tool: &str, arguments: Value) -> ToolOutcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(called(row, folder, tool, arguments))
}

#[test]
#[cfg(target_os = "linux")]
fn file_may_not_be_read() {
    const NAME: &str = "workspace::file_may_not_be_read";
    as_an_ordinary_user(NAME, |folder| {
        let row = row(NAME);
        fs::write(folder.join("a"), "one\n").unwrap();
        set_mode(&folder.join("a"), 0o200);
        row.check_in(folder, &call(&row, folder, "Read", json!({ "file_path": "a" })));
    });
}

/// The file is writable, but its folder cannot have the temporary file.
#[test]
#[cfg(target_os = "linux")]
fn folder_may_not_be_written() {
    const NAME: &str = "workspace::folder_may_not_be_written";
    as_an_ordinary_user(NAME, |folder| {
        let row = row(NAME);
        fs::create_dir(folder.join("sub")).unwrap();
        fs::write(folder.join("sub/a"), "one\n").unwrap();
        set_mode(&folder.join("sub"), 0o500);
        let edit = json!({ "file_path": "sub/a", "old_string": "one", "new_string": "two" });
        row.check_in(folder, &call(&row, folder, "Edit", edit));
        assert_eq!(fs::read_to_string(folder.join("sub/a")).unwrap(), "one\n");
        set_mode(&folder.join("sub"), 0o700);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn parts_of_a_folder_may_not_be_read() {
    const NAME: &str = "workspace::parts_of_a_folder_may_not_be_read";
    as_an_ordinary_user(NAME, |folder| {
        let row = row(NAME);
        fs::create_dir(folder.join("closed")).unwrap();
        for name in ["closed/a", "b", "c"] {
            fs::write(folder.join(name), "needle\n").unwrap();
        }
        set_mode(&folder.join("closed"), 0);
        set_mode(&folder.join("b"), 0);
        fs::write(folder.join("c"), "other\n").unwrap();
        row.check_in(
            folder,
            &call(&row, folder, "Grep", json!({ "pattern": "needle" })),
        );
        set_mode(&folder.join("closed"), 0o700);
    });
}

/// A logger that panics. The rules of a `.gitignore` are compiled with a line for the log.
#[cfg(target_os = "linux")]
struct PanickingLogger(AtomicBool);

#[cfg(target_os = "linux")]
impl log::Log for PanickingLogger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, _: &log::Record<'_>) {
        assert!(!self.0.load(Ordering::Relaxed), "the logger is broken");
    }

    fn flush(&self) {}
}

/// The walk of one call panics; the next call in the same registry has its answer.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn walk_panics() {
    const NAME: &str = "workspace::walk_panics";
    static LOGGER: PanickingLogger = PanickingLogger(AtomicBool::new(false));
    let Some(folder) = child_directory() else {
        return assert_eq!(run_in_child(NAME, &["env"]), Ok(()));
    };
    let row = row(NAME);
    fs::write(folder.join("stable"), "needle\n").unwrap();
    fs::write(folder.join(".gitignore"), "*.o\n").unwrap();
    let workspace = Workspace::open(&folder).unwrap();
    let mut registry = ToolRegistry::new().with_state(workspace);
    registry.register_all(files::tools()).unwrap();
    registry.register_all(search::tools()).unwrap();
    log::set_logger(&LOGGER).unwrap();
    log::set_max_level(log::LevelFilter::Debug);
    let grep = |id: String| ToolCall::new(id, "Grep", json!({ "pattern": "needle" }));
    LOGGER.0.store(true, Ordering::Relaxed);
    row.check_in(&folder, &registry.call(grep(row.id())).await);
    LOGGER.0.store(false, Ordering::Relaxed);
    let outcome = registry.call(grep("toolu_after_the_panic".to_owned())).await;
    assert_eq!(outcome.result.text(), Some("stable"));
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
