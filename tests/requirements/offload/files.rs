//! Files that are written, their names, and the absence of other files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tool_builtins::offload::{
    FileWriter as _, LocalWriter, MemoryWriter, OffloadError, OffloadOptions, offload_to_files,
    remove_session,
};

use super::{directory, message, offload_to, root, somewhere};

/// Returns all files and directories below a directory.
fn everything_in(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything_in(&path));
        }
        found.insert(path);
    }
    found
}

/// R-OFF-13
#[tokio::test]
async fn missing_directories_are_created() {
    let directory = directory("creates_directories");
    let options = OffloadOptions::new("s", directory.join("several/new/levels"));
    offload_to_files(message("toolu_1", "x"), options).await.unwrap();
    assert!(directory.join("several/new/levels/s/toolu_1.md").is_file());
}

/// R-OFF-11, R-OFF-12
#[tokio::test]
async fn file_is_named_after_session_and_id() {
    let ids = [
        "toolu_01AbCdEf",
        "call-7",
        "a.b",
        "日本語",
        "with space",
        #[cfg(not(windows))]
        "functions.search:0",
    ];
    for id in ids {
        let memory = MemoryWriter::new();
        let offloaded = offload_to(memory.clone(), &message(id, "x"), somewhere())
            .await
            .unwrap();
        assert_eq!(
            offloaded.file,
            root().join("session-abc123").join(format!("{id}.md"))
        );
        assert!(memory.read(&offloaded.file).is_some());
    }
}

/// R-OFF-14
#[tokio::test]
async fn offload_to_files_writes_local_files() {
    let directory = directory("convenience");
    let options = OffloadOptions {
        session_id: "s".to_owned(),
        output_dir: directory,
    };
    let original = message("toolu_1", "x");
    let short = offload_to_files(&original, &options).await.unwrap();
    let long = offload_to(LocalWriter, &original, options).await.unwrap();
    assert_eq!(short, long);
}

/// R-OFF-21
#[tokio::test]
async fn ids_that_are_not_file_names_are_rejected() {
    let directory = directory("ids");
    let inside = directory.join("inside");
    let ids = [
        "../up",
        "..",
        ".",
        "",
        "a/b",
        "/etc/x",
        "a\\b",
        "..\\up",
        #[cfg(windows)]
        "C:x",
        #[cfg(windows)]
        "functions.search:0",
        "nul\0",
        "a\nb",
        "x.",
        "NUL",
        &"x".repeat(300),
    ];
    for id in ids {
        let id_refused = offload_to_files(message(id, "x"), OffloadOptions::new("s", &inside))
            .await
            .unwrap_err();
        assert!(
            matches!(id_refused, OffloadError::InvalidComponent(_)),
            "{id:?}: {id_refused}"
        );
        assert!(
            id_refused.to_string().starts_with("the tool_use_id "),
            "{id_refused}"
        );
        let session_refused = offload_to_files(message("toolu_1", "x"), OffloadOptions::new(id, &inside))
            .await
            .unwrap_err();
        assert!(
            session_refused.to_string().starts_with("the session id "),
            "{session_refused}"
        );
    }
    assert!(
        everything_in(&directory).is_empty(),
        "nothing is written, no directory made"
    );
}

/// R-OFF-22
#[tokio::test]
async fn directory_without_an_absolute_path_as_text_is_rejected() {
    #[cfg(unix)]
    use std::os::unix::ffi::OsStringExt as _;
    let mut nameless = vec![PathBuf::new()];
    #[cfg(unix)]
    nameless.push(std::ffi::OsString::from_vec(b"/out/\xff".to_vec()).into());
    for output_dir in nameless {
        let memory = MemoryWriter::new();
        let options = OffloadOptions::new("s", &output_dir);
        let error = offload_to(memory.clone(), &message("toolu_1", "x"), options)
            .await
            .unwrap_err();
        assert!(matches!(error, OffloadError::OutputDir { .. }), "{error}");
        assert!(memory.files().is_empty());
    }
}

/// R-OFF-23
#[tokio::test]
async fn failed_write_leaves_no_file() {
    let directory = directory("no_partial_file");
    // A directory has this name, so the temporary file is written, and its rename fails.
    fs::create_dir_all(directory.join("s/toolu_1.md/in the way")).unwrap();
    let before = everything_in(&directory);
    let original = message("toolu_1", "x".repeat(100_000));
    let kept = original.clone();
    let error = offload_to_files(&original, OffloadOptions::new("s", &directory))
        .await
        .unwrap_err();
    assert!(matches!(error, OffloadError::Write { .. }), "{error}");
    assert_eq!(original, kept);
    assert_eq!(
        everything_in(&directory),
        before,
        "neither a part of the file nor a temporary file"
    );
}

/// R-OFF-24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writes_of_one_id_are_not_mixed() {
    let directory = directory("whole_files");
    let options = Arc::new(OffloadOptions::new("s", &directory));
    let contents: Vec<String> = (b'a'..=b'h')
        .map(|letter| char::from(letter).to_string().repeat(200_000))
        .collect();
    let writes: Vec<_> = contents
        .iter()
        .cloned()
        .map(|content| {
            let options = Arc::clone(&options);
            tokio::spawn(async move { offload_to_files(message("toolu_1", content), &*options).await })
        })
        .collect();
    let file = directory.join("s/toolu_1.md");
    while !writes.iter().all(tokio::task::JoinHandle::is_finished) {
        if let Ok(seen) = fs::read_to_string(&file) {
            assert!(contents.contains(&seen), "a file of {} bytes", seen.len());
        }
        tokio::task::yield_now().await;
    }
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert!(contents.contains(&fs::read_to_string(&file).unwrap()));
    let left: Vec<_> = fs::read_dir(directory.join("s")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left: {left:?}");
}

/// R-OFF-36
#[tokio::test]
async fn files_of_a_session_are_removed_and_no_others() {
    let directory = directory("removes_session");
    for file in [
        "s/call_0.md",
        "s/call_0-2.md",
        "t/call_0.md",
        "full/call_0.md",
        "full/more/call_0.md",
    ] {
        LocalWriter.write(&directory.join(file), "x").await.unwrap();
    }
    fs::write(directory.join("s/.offload-1-2.tmp"), "x").unwrap();
    fs::write(directory.join("full/notes.txt"), "x").unwrap();
    let before = everything_in(&directory);
    for session in ["..", "", "s/../t", ".", "nowhere"] {
        assert!(remove_session(&directory, session).is_err(), "{session:?}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(directory.join("t"), directory.join("link")).unwrap();
        assert!(remove_session(&directory, "link").is_err());
        fs::remove_file(directory.join("link")).unwrap();
    }
    assert_eq!(everything_in(&directory), before);
    remove_session(&directory, "s").unwrap();
    let error = remove_session(&directory, "full").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
    let left = [
        "full",
        "full/more",
        "full/more/call_0.md",
        "full/notes.txt",
        "t",
        "t/call_0.md",
    ];
    assert_eq!(
        everything_in(&directory),
        left.map(|path| directory.join(path)).into()
    );
}
