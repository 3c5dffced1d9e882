//! [`OutputFolder`]: the folder with the output of all sessions, which one process uses at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;

use super::output_file::create_private_folder;
use super::processes::Filter;
use super::random_name::{is_random_name, random_name};

/// Name of the file that is locked. The file has the mark of the commands that use the folder.
const LOCK: &str = "lock";
/// Age at which the files of sessions of an earlier process are removed.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// Time in which the commands of an earlier process are killed.
const KILL_TIME: Duration = Duration::from_secs(2);

/// Folder with the output of commands.
#[derive(Debug)]
pub(super) struct OutputFolder {
    path: PathBuf,
    /// Start of the marks of all commands that use the folder.
    mark: String,
    /// Locked until the process ends.
    _lock: File,
}

impl OutputFolder {
    /// Opens a folder, ends the commands that an earlier process has left, and removes old files.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Without a `/` at the end, which would make the system follow a link.
        let path: PathBuf = path.components().collect();
        create_private_folder(&path)?;
        // Before links are resolved: in a folder for all users, such as `/tmp`, another user may have put a link to a private folder of
        // this user, whose files would then count as outputs.
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_dir() {
            return Err(io::Error::other(
                "a symbolic link is at the place of the folder; remove the link, or name another folder",
            ));
        }
        if metadata.uid() != geteuid().as_raw() {
            return Err(io::Error::other(
                "the folder belongs to another user; name another folder",
            ));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other(
                "other users may use the folder; run `chmod 700` on it",
            ));
        }
        let path = path.canonicalize()?;
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut lock = options
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            rustix::io::Errno::WOULDBLOCK => io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another process uses the folder; name another one",
            ),
            error => error.into(),
        })?;
        let mut mark = String::new();
        (&lock).take(64).read_to_string(&mut mark)?;
        if is_random_name(&mark) {
            let marked = Filter::MarkStartsWith(format!("{mark}-"));
            if !marked.kill_until(Instant::now() + KILL_TIME) {
                tracing::warn!(folder = %path.display(), "commands of an earlier process could not be ended");
            }
            // A folder without a mark was not used for outputs before, and may have folders of the user.
            remove_old(&path);
        } else {
            mark = random_name()?;
            lock.set_len(0)?;
            lock.rewind()?;
            lock.write_all(mark.as_bytes())?;
        }
        Ok(Self {
            path,
            mark,
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the mark of a command.
    pub(super) fn mark(&self, session: &str, number: usize) -> String {
        format!("{}-{session}-{number}", self.mark)
    }
}

/// Removes the folders of sessions of an earlier process in which no file was written for a day. A session that continues may
/// read its earlier output until then.
fn remove_old(path: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.map(|written| SystemTime::now().duration_since(written).unwrap_or_default());
        age.is_ok_and(|age| age > MAX_AGE)
    };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let is_of_session = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(is_random_name);
    for entry in entries.filter(|entry| is_of_session(entry) && is_old(entry)) {
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::warn!(folder = %entry.path().display(), %error, "old output was not removed");
        }
    }
}
