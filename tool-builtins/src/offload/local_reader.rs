//! [`LocalReader`]: reads local files without following links.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::reader::{FilePart, FileReader, Reading};
use super::threads::{ThreadError, on_thread};

/// Reads the files of a [`LocalWriter`](super::LocalWriter). Needs a tokio runtime.
///
/// Symbolic links are never followed, neither to a file nor to the directory of a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalReader;

impl FileReader for LocalReader {
    fn read<'a>(&'a self, file: &'a Path, offset: u64, limit: usize) -> Reading<'a, Option<FilePart>> {
        let file = file.to_owned();
        on_another_thread(move || none_if_missing(part(&file, offset, limit)))
    }

    fn names<'a>(&'a self, directory: &'a Path) -> Reading<'a, Vec<String>> {
        let directory = directory.to_owned();
        on_another_thread(move || Ok(none_if_missing(names(&directory))?.unwrap_or_default()))
    }
}

fn on_another_thread<'a, T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Reading<'a, T> {
    Box::pin(async move {
        match on_thread(read).await {
            Ok(read) => Ok(read?),
            Err(ThreadError::NoRuntime(_)) => Err("there is no tokio runtime to read on".into()),
            Err(ThreadError::Join(error)) => Err(error.into()),
        }
    })
}

fn none_if_missing<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn part(path: &Path, offset: u64, limit: usize) -> io::Result<FilePart> {
    check_directory(path.parent().unwrap_or(path))?;
    // The kind of the file is checked before the file is opened, since opening a pipe waits for a writer.
    let expected = fs::symlink_metadata(path)?;
    if !expected.is_file() {
        return Err(io::Error::other("expected a file, got a link or another kind"));
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !is_same(&expected, &metadata) {
        return Err(io::Error::other("the file was replaced while it was opened"));
    }
    let mut bytes = Vec::new();
    // Some systems do not allow seeking beyond the end.
    if offset < metadata.len() {
        file.seek(SeekFrom::Start(offset))?;
        file.take(limit as u64).read_to_end(&mut bytes)?;
    }
    Ok(FilePart::new(bytes, metadata.len()))
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    check_directory(directory)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            // The names of offloaded files are UTF-8, so other names are skipped.
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

fn check_directory(directory: &Path) -> io::Result<()> {
    if fs::symlink_metadata(directory)?.is_dir() {
        return Ok(());
    }
    Err(io::Error::other(
        "the session's directory is a link or is not a directory",
    ))
}

/// Returns whether the opened file is the checked file, and not a file that has replaced it.
#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, other: &Metadata) -> bool {
    other.is_file()
}
