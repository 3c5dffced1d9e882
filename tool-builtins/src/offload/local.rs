//! Local files, each of them whole or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Handle;

use super::writer::{FileWriter, Writing};

/// Writes local files: first a temporary one beside the place, then a rename. A reader sees the old content or the
/// new one, never a part, also when two processes write the same file. Needs a tokio runtime; without one, or when it
/// is shut down before the write began, that is the error.
///
/// The content is not forced onto the disk (`fsync`): after a power failure a file may be gone.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalWriter;

impl FileWriter for LocalWriter {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        let (file, content) = (file.to_owned(), content.to_owned());
        Box::pin(async move {
            // In one piece on another thread: a caller who stops waiting does not leave a half-written file.
            let write = move || replace(&file, content.as_bytes());
            let runtime = Handle::try_current().map_err(|_| "there is no tokio runtime to write on")?;
            match runtime.spawn_blocking(write).await {
                Ok(written) => Ok(written?),
                Err(ended) if ended.is_cancelled() => {
                    Err("the tokio runtime was shut down before the write began".into())
                }
                Err(panicked) => Err(panicked.into()),
            }
        })
    }
}

fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let directory = file.parent().unwrap_or(file);
    fs::create_dir_all(directory)?;
    let (temporary, mut handle) = Temporary::create(directory)?;
    handle.write_all(content)?;
    // Windows does not rename what is open.
    drop(handle);
    temporary.persist(file)
}

/// A file that is removed unless it got its name.
struct Temporary {
    path: PathBuf,
    persisted: bool,
}

impl Temporary {
    fn create(directory: &Path) -> io::Result<(Self, File)> {
        loop {
            let number = CREATED.fetch_add(1, Ordering::Relaxed);
            // Short, whatever the id's length; no result has this name, theirs end in `.md`.
            let path = directory.join(format!(".offload-{}-{number}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(handle) => {
                    return Ok((
                        Self {
                            path,
                            persisted: false,
                        },
                        handle,
                    ));
                }
                // Another machine's process with the same id, on a shared disk, or one that was killed.
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
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.persisted {
            // The error that brought us here is the one to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Numbers temporary files, so that two writes of one process never share one.
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
    fn a_write_that_ends_midway_leaves_nothing() {
        let directory = directory("midway");
        let (temporary, mut handle) = Temporary::create(&directory).unwrap();
        handle.write_all(b"the first half").unwrap();
        assert_eq!(names_in(&directory).len(), 1);
        drop(handle);
        drop(temporary);
        assert!(names_in(&directory).is_empty());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let directory = directory("taken");
        // What processes with our id on other machines may have left.
        let next = CREATED.load(Ordering::Relaxed);
        for number in next..next + 50 {
            let name = format!(".offload-{}-{number}.tmp", std::process::id());
            fs::write(directory.join(name), "theirs").unwrap();
        }
        replace(&directory.join("toolu_1.md"), b"ours").unwrap();
        assert_eq!(fs::read(directory.join("toolu_1.md")).unwrap(), b"ours");
        assert_eq!(names_in(&directory).len(), 51);
        for name in names_in(&directory).iter().filter(|name| name.starts_with('.')) {
            assert_eq!(fs::read(directory.join(name)).unwrap(), b"theirs");
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_is_there_stays_until_the_new_content_is_whole() {
        let directory = directory("old");
        let file = directory.join("toolu_1.md");
        replace(&file, b"old").unwrap();
        let (temporary, mut handle) = Temporary::create(&directory).unwrap();
        handle.write_all(b"ne").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        handle.write_all(b"w").unwrap();
        drop(handle);
        temporary.persist(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(names_in(&directory), ["toolu_1.md"]);
        fs::remove_dir_all(directory).unwrap();
    }
}
