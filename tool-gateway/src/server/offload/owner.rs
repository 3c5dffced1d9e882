//! File with the client of a session, in the session's directory of offloaded files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::session::Digest;

/// Name of the file. Offloaded files have an extension.
const NAME: &str = "client";

/// Records the client of a session, if the session has a directory.
pub(super) fn record(directory: &Path, client: Digest) -> io::Result<()> {
    let file = directory.join(NAME);
    if !directory.is_dir() || file.is_file() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(mut file) => file.write_all(client.to_hex().as_bytes()),
        // Another gateway has recorded the client.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the client of a session, if the client was recorded.
pub(super) fn client(directory: &Path) -> Option<Digest> {
    Digest::from_hex(&fs::read_to_string(directory.join(NAME)).ok()?)
}

/// Removes the file, so that the session's directory has only offloaded files.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
