//! Local files, each of them whole or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::writer::{FileWriter, Writing};

/// Writes local files: first a temporary one beside the place, then a rename. A reader sees the old content or the
/// new one, never a part, also when two processes write the same file. Needs a tokio runtime.
///
/// The content is not forced onto the disk (`fsync`): after a power failure a file may be gone.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalWriter;

impl FileWriter for LocalWriter {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        let (file, content) = (file.to_owned(), content.to_owned());
        Box::pin(async move {
            // In one piece on another thread: a caller who stops waiting does not leave a half-written file.
            tokio::task::spawn_blocking(move || replace(&file, content.as_bytes())).await??;
            Ok(())
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
