//! [`LocalWriter`] and [`PrivateWriter`]: write local files atomically, with the permissions of the process, or only for its owner.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::threads::{ThreadError, on_thread};
use super::writer::{FileWriter, Writing};

/// Writes local files. A temporary file in the same directory is written and then renamed, so a reader sees either the old
/// content or the new content, even if two processes write the same file. The writer needs a tokio runtime: without a
/// runtime, or if the runtime is shut down before the write begins, the result is an error.
///
/// A hard link decides whether a name is free ([`create_new`](FileWriter::create_new)). On a disk without hard links
/// (FAT, some network disks), an empty file reserves the name until it is replaced by the content.
///
/// The content is not synced to the disk (`fsync`), so a file may be missing after a power failure.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalWriter;

impl FileWriter for LocalWriter {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        write(file, content, Access::Process)
    }

    fn create_new<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a, bool> {
        write_new(file, content, Access::Process)
    }
}

/// Writes local files as [`LocalWriter`] does, but only for the owner of the process: on Unix, files have the mode
/// 0600, and new directories 0700. Existing directories keep their mode.
///
/// ```
/// use tool_builtins::offload::{OffloadLayer, OffloadOptions, PrivateWriter};
///
/// let layer = OffloadLayer::new(OffloadOptions::new("no-session", ".offload")).with_writer(PrivateWriter);
/// # let _ = layer;
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PrivateWriter;

impl FileWriter for PrivateWriter {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        write(file, content, Access::Owner)
    }

    fn create_new<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a, bool> {
        write_new(file, content, Access::Owner)
    }
}

/// Permissions of new files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Permissions from the `umask` of the process.
    Process,
    Owner,
}

fn write<'a>(file: &Path, content: &str, access: Access) -> Writing<'a> {
    let (file, content) = (file.to_owned(), content.to_owned());
    on_another_thread(move || replace(&file, content.as_bytes(), access))
}

fn write_new<'a>(file: &Path, content: &str, access: Access) -> Writing<'a, bool> {
    let (file, content) = (file.to_owned(), content.to_owned());
    on_another_thread(move || create_new(&file, content.as_bytes(), access))
}

/// Runs work on another thread to its end, so a dropped future does not leave a partial file.
fn on_another_thread<'a, T: Send + 'static>(
    write: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Writing<'a, T> {
    Box::pin(async move {
        match on_thread(write).await {
            Ok(written) => Ok(written?),
            Err(ThreadError::NoRuntime(_)) => Err("there is no tokio runtime to write on".into()),
            Err(ThreadError::Join(ended)) if ended.is_cancelled() => {
                Err("the tokio runtime was shut down before the write began".into())
            }
            Err(ThreadError::Join(panicked)) => Err(panicked.into()),
        }
    })
}

fn replace(file: &Path, content: &[u8], access: Access) -> io::Result<()> {
    Temporary::beside(file, content, access)?.persist(file)
}

fn create_new(file: &Path, content: &[u8], access: Access) -> io::Result<bool> {
    // The check avoids a write of the content for each existing name. `persist_new` decides whether the name is free.
    if fs::symlink_metadata(file).is_ok() {
        return Ok(false);
    }
    let temporary = Temporary::beside(file, content, access)?;
    temporary.persist_new(file, |temporary, file| fs::hard_link(temporary, file))
}

fn create_directories(directory: &Path, access: Access) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if access == Access::Owner {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    #[cfg(not(unix))]
    let _ = access;
    builder.create(directory)
}

/// Returns options that create a new file.
fn new_file(access: Access) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if access == Access::Owner {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = access;
    options
}

const TEMPORARY_START: &str = ".offload-";
const TEMPORARY_END: &str = ".tmp";

/// Returns whether a name belongs to a temporary file of any process, running or ended.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY_START) && name.ends_with(TEMPORARY_END)
}

/// A file that is removed on drop unless it was renamed.
struct Temporary {
    path: PathBuf,
    persisted: bool,
}

impl Temporary {
    /// Writes the content to a temporary file in the directory of `file`.
    fn beside(file: &Path, content: &[u8], access: Access) -> io::Result<Self> {
        let directory = file.parent().unwrap_or(file);
        create_directories(directory, access)?;
        let (temporary, mut handle) = Self::create(directory, access)?;
        handle.write_all(content)?;
        // Windows does not rename open files.
        drop(handle);
        Ok(temporary)
    }

    fn create(directory: &Path, access: Access) -> io::Result<(Self, File)> {
        loop {
            let number = CREATED.fetch_add(1, Ordering::Relaxed);
            // The name has a fixed length for any id. Files with results end in `.md`, so no result has this name.
            let path = directory.join(format!(
                "{TEMPORARY_START}{}-{number}{TEMPORARY_END}",
                std::process::id()
            ));
            match new_file(access).open(&path) {
                Ok(handle) => {
                    return Ok((
                        Self {
                            path,
                            persisted: false,
                        },
                        handle,
                    ));
                }
                // The file may belong to a process with this id on another machine with the same disk, or to a killed
                // process.
                Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn persist(mut self, file: &Path) -> io::Result<()> {
        fs::rename(&self.path, file)?;
        self.persisted = true;
        Ok(())
    }

    /// Renames the file unless the new name exists; returns whether it was renamed.
    fn persist_new(self, file: &Path, link: impl Fn(&Path, &Path) -> io::Result<()>) -> io::Result<bool> {
        let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        match link(&self.path, file) {
            Ok(()) => return Ok(true),
            Err(error) if is_taken(&error) => return Ok(false),
            // Some disks have no hard links, and the error of `hard_link` depends on the system.
            Err(_) => {}
        }
        // The new file is empty until the rename below replaces it.
        match new_file(Access::Owner).open(file) {
            Ok(_) => {}
            Err(error) if is_taken(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.persist(file).map(|()| true).inspect_err(|_| {
            // The file only reserved the name. The error of the rename is returned, not an error of the removal.
            let _ = fs::remove_file(file);
        })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.persisted {
            // An error of the removal is ignored: the caller gets the error of the write.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Counter for the names of temporary files, so that no two writes of a process share a name.
static CREATED: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(test: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("offload-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn names_in(directory: &Path) -> Vec<String> {
        fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn interrupted_write_leaves_no_file() {
        let directory = directory("midway");
        let (temporary, mut handle) = Temporary::create(&directory, Access::Process).unwrap();
        handle.write_all(b"the first half").unwrap();
        assert_eq!(names_in(&directory).len(), 1);
        drop(handle);
        drop(temporary);
        assert!(names_in(&directory).is_empty());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn existing_temporary_files_are_kept() {
        let directory = directory("taken");
        // Processes with this id on other machines may have left these files.
        let next = CREATED.load(Ordering::Relaxed);
        for number in next..next + 50 {
            let name = format!(".offload-{}-{number}.tmp", std::process::id());
            fs::write(directory.join(name), "theirs").unwrap();
        }
        replace(&directory.join("toolu_1.md"), b"ours", Access::Process).unwrap();
        assert_eq!(fs::read(directory.join("toolu_1.md")).unwrap(), b"ours");
        assert_eq!(names_in(&directory).len(), 51);
        for name in names_in(&directory).iter().filter(|name| name.starts_with('.')) {
            assert_eq!(fs::read(directory.join(name)).unwrap(), b"theirs");
        }
        fs::remove_dir_all(directory).unwrap();
    }

    fn no_links(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    #[test]
    fn concurrent_writers_create_a_name_once() {
        for (test, has_links) in [("links", true), ("no-links", false)] {
            let directory = directory(test);
            let file = directory.join("call_0.md");
            let create = |writer: usize| {
                let content = writer.to_string();
                if has_links {
                    create_new(&file, content.as_bytes(), Access::Process).unwrap()
                } else {
                    let temporary = Temporary::beside(&file, content.as_bytes(), Access::Process).unwrap();
                    temporary.persist_new(&file, no_links).unwrap()
                }
            };
            for _ in 0..50 {
                let created: Vec<bool> = std::thread::scope(|scope| {
                    let writers = [0, 1, 2, 3].map(|writer| scope.spawn(move || create(writer)));
                    writers.map(|writer| writer.join().unwrap()).into()
                });
                let first = created.iter().position(|&created| created).unwrap();
                assert_eq!(created.iter().filter(|&&created| created).count(), 1);
                assert_eq!(fs::read_to_string(&file).unwrap(), first.to_string());
                assert_eq!(names_in(&directory), ["call_0.md"]);
                fs::remove_file(&file).unwrap();
            }
            fs::remove_dir_all(directory).unwrap();
        }
    }

    #[test]
    fn existing_file_is_replaced_atomically() {
        let directory = directory("old");
        let file = directory.join("toolu_1.md");
        replace(&file, b"old", Access::Process).unwrap();
        let (temporary, mut handle) = Temporary::create(&directory, Access::Process).unwrap();
        handle.write_all(b"ne").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        handle.write_all(b"w").unwrap();
        drop(handle);
        temporary.persist(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(names_in(&directory), ["toolu_1.md"]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn private_files_have_the_mode_0600() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = directory("private");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = directory.join("out/s/toolu_1.md");
        for _ in 0..2 {
            create_new(&file, b"content", Access::Owner).unwrap();
            assert_eq!((mode(&file), mode(&directory.join("out/s"))), (0o600, 0o700));
            assert_eq!(mode(&directory.join("out")), 0o700);
            replace(&file, b"content", Access::Owner).unwrap();
        }
        let temporary = Temporary::beside(&directory.join("out/s/x.md"), b"content", Access::Owner).unwrap();
        assert_eq!(mode(&temporary.path), 0o600);
        temporary
            .persist_new(&directory.join("out/s/x.md"), no_links)
            .unwrap();
        assert_eq!(mode(&directory.join("out/s/x.md")), 0o600);
        fs::remove_dir_all(directory).unwrap();
    }
}
