//! [`remove_session`]: removes the local files of a session, and no other files.

use std::fs;
use std::io;
use std::path::Path;

use super::file_path;
use super::local::is_temporary;

/// Removes the files of a session below the output directory, including temporary files of processes that have ended,
/// and then the session's directory. The function blocks, so call it in `tokio::task::spawn_blocking`.
///
/// Links are not followed. Files that offloading did not write are kept, and the error states that the directory is not
/// empty.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use tool_builtins::offload::{FileWriter, LocalWriter, remove_session};
///
/// # let directory = std::env::temp_dir().join(format!("offload-session-docs-{}", std::process::id()));
/// LocalWriter.write(&directory.join("session-1").join("toolu_01.md"), "a long text").await?;
/// remove_session(&directory, "session-1")?;
/// assert!(!directory.join("session-1").exists());
/// # std::fs::remove_dir(directory)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Returns an error if the id is not a plain name, if the directory does not exist, is a link or has other files, or
/// if the files cannot be removed.
pub fn remove_session(output_dir: &Path, session_id: &str) -> io::Result<()> {
    let directory = file_path::directory(output_dir, session_id)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    if !fs::symlink_metadata(&directory)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    for entry in fs::read_dir(&directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_offloaded = |name: &str| file_path::name_of(name).is_some() || is_temporary(name);
        if entry.file_type()?.is_file() && name.to_str().is_some_and(is_offloaded) {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(directory)
}
