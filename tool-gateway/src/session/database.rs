//! [`FileDatabase`]: the file of a store, which is reopened after a disk failure.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use redb::backends::FileBackend;
use redb::{Database, DatabaseError, StorageError, WriteTransaction};

use super::store::StoreError;

/// A database in a file. After a failed write, redb needs the file to be reopened. The reopened file has the committed data.
#[derive(Debug)]
pub(super) struct FileDatabase {
    path: PathBuf,
    open_storage: OpenStorage,
    state: RwLock<State>,
}

/// Function that opens a database whose pages are in a file.
type OpenStorage = fn(&redb::Builder, File) -> Result<Database, DatabaseError>;

#[derive(Debug)]
enum State {
    Open {
        database: Database,
        since: Instant,
    },
    /// Closed after a failure.
    Closed {
        error: StoreError,
        since: Instant,
    },
}

/// Time for which the file stays closed after a failure, since opening reads the whole file.
const PAUSE: Duration = Duration::from_millis(500);

/// Size of redb's cache; the operating system caches more.
const CACHE_BYTES: usize = 64 << 20;

impl FileDatabase {
    /// Opens or creates a file. The file and a new folder are accessible only to the owner. A file that another program has changed is an
    /// error.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, |builder, file| {
            FileBackend::new(file).and_then(|file| builder.create_with_backend(file))
        })
    }

    /// Opens or creates a file as [`open`](Self::open) does, with another function that opens the pages.
    pub(super) fn open_with(path: &Path, open_storage: OpenStorage) -> Result<Self, StoreError> {
        Ok(Self {
            path: path.to_owned(),
            open_storage,
            state: RwLock::new(State::Open {
                database: open(path, open_storage, true)?,
                since: Instant::now(),
            }),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the file.
    pub(super) fn bytes(&self) -> Result<u64, StoreError> {
        let file = fs::metadata(&self.path);
        Ok(file.map_err(|error| store_error(&self.path, &error))?.len())
    }

    /// Runs `work` with the database. An error contains the name of the file.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T, Failed>) -> Result<T, StoreError> {
        self.open_again();
        let (error, opened) = {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            let (database, opened) = match &*state {
                State::Open { database, since } => (database, *since),
                State::Closed { error, .. } => return Err(error.clone()),
            };
            // redb may panic on pages that another program has changed.
            match catch_unwind(AssertUnwindSafe(|| work(database))) {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(Failed::Store(StoreError(error)))) => return Err(store_error(&self.path, &error)),
                Ok(Err(Failed::File(error))) => (store_error(&self.path, &error), opened),
                Err(_) => (store_error(&self.path, &CORRUPTED), opened),
            }
        };
        self.close(opened, &error);
        Err(error)
    }

    /// Runs `work` in one write transaction.
    pub(super) fn write<T>(
        &self,
        write: impl FnOnce(&WriteTransaction) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        })
    }

    /// Closes the database that was opened at `opened`, unless another thread has already reopened the file.
    fn close(&self, opened: Instant, error: &StoreError) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&*state, State::Open { since, .. } if *since == opened) {
            return;
        }
        let closed = State::Closed {
            error: error.clone(),
            since: Instant::now(),
        };
        let before = std::mem::replace(&mut *state, closed);
        // The drop writes to the file, and may panic.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(before)));
    }

    /// Reopens the file if it has been closed for at least [`PAUSE`].
    fn open_again(&self) {
        let is_due = |state: &State| matches!(state, State::Closed { since, .. } if since.elapsed() >= PAUSE);
        if !is_due(&self.state.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if is_due(&state) {
            let opened = open(&self.path, self.open_storage, false);
            let since = Instant::now();
            *state = match opened {
                Ok(database) => State::Open { database, since },
                Err(error) => State::Closed { error, since },
            };
        }
    }
}

const CORRUPTED: &str = "the file is corrupted; specify another file, or restore it from a backup";

/// Builds an error that names the file.
fn store_error(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError(format!("{}: {error}", path.display()))
}

fn open(path: &Path, open_storage: OpenStorage, creates: bool) -> Result<Database, StoreError> {
    let failed = |error: &dyn std::fmt::Display| store_error(path, error);
    let file = if creates {
        create(path, sync_folder)
    } else {
        open_existing(path)
    };
    let file = file.map_err(|error| failed(&error))?;
    let open = || {
        let mut builder = Database::builder();
        builder
            .set_check_integrity_on_open(true)
            .set_cache_size(CACHE_BYTES);
        open_storage(&builder, file)
    };
    let opened = catch_unwind(AssertUnwindSafe(open)).map_err(|_| failed(&CORRUPTED))?;
    opened.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => {
            failed(&"another process has the file open; stop that process, or specify another file")
        }
        error => failed(&format_args!(
            "{error}; specify another file, or restore it from a backup"
        )),
    })
}

/// Opens a file, or creates the file and its folder. `sync` must write the entries of a folder to the disk, so that a new file survives a
/// loss of power.
fn create(path: &Path, mut sync: impl FnMut(&Path) -> io::Result<()>) -> io::Result<File> {
    let folders = || path.ancestors().skip(1).map(current_if_empty);
    let missing = folders().take_while(|folder| !folder.exists()).count();
    if let Some(folder) = folders().next().filter(|_| missing > 0) {
        create_folder(folder)?;
    }
    let file = match open_existing(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => create_new(path)?,
        opened => opened?,
    };
    // The folder of an existing file is synced, too, since the process that created the file may have been killed before the sync.
    for folder in folders().take(missing + 1) {
        sync(folder)?;
    }
    Ok(file)
}

/// Creates a file that only the owner may read. A link in place of the file is not followed.
fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// Opens an existing file. A symbolic link is an error, and so is a file that other users may read, since sessions contain messages of
/// users.
fn open_existing(path: &Path) -> io::Result<File> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Err(io::Error::other(
            "expected a file, got a symbolic link; name the file itself",
        ));
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let opened = file.metadata()?;
        // A link may have replaced the file since the first check.
        if (opened.dev(), opened.ino()) != (found.dev(), found.ino()) {
            return Err(io::Error::other("another file has replaced the file; try again"));
        }
        if opened.mode() & 0o077 != 0 {
            let remedy = format!(
                "other users may read the file; run `chmod 600 {}`",
                path.display()
            );
            return Err(io::Error::other(remedy));
        }
    }
    Ok(file)
}

/// Replaces the empty path, which is the last ancestor of a relative path, by `.`.
fn current_if_empty(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

/// Writes the entries of a folder to the disk. Without this sync, a loss of power may remove a new file whose content is on the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Only Unix can open a folder as a file.
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder may be unreadable, and some file systems cannot sync folders.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::InvalidInput
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

/// Creates a folder and its parents, accessible only to the owner. Existing folders are not changed.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Error of a read or a write of the file.
pub(super) enum Failed {
    Store(StoreError),
    File(redb::Error),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

macro_rules! from_file_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for Failed {
            fn from(error: $error) -> Self {
                Self::File(error.into())
            }
        })*
    };
}

from_file_errors!(
    StorageError,
    redb::TableError,
    redb::TransactionError,
    redb::CommitError
);

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn rejects_links_and_files_that_others_may_read() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let root = std::env::temp_dir().join(format!("tool-gateway-private-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir(&root).unwrap();
        let path = root.join("sessions.redb");
        let open = || {
            FileDatabase::open(&path)
                .map(drop)
                .map_err(|StoreError(error)| error)
        };
        open().unwrap();
        for mode in [0o640, 0o604, 0o666, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let path = path.display();
            let expected = format!("{path}: other users may read the file; run `chmod 600 {path}`");
            assert_eq!(open(), Err(expected), "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        open().unwrap();
        // A dangling link is an error, too, since its target would be created.
        let target = root.join("target.redb");
        fs::rename(&path, &target).unwrap();
        symlink(&target, &path).unwrap();
        for _ in 0..2 {
            let error = open().unwrap_err();
            assert!(
                error.ends_with("expected a file, got a symbolic link; name the file itself"),
                "{error}"
            );
            let _ = fs::remove_file(&target);
        }
        assert!(!target.exists());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn names_of_a_new_file_and_of_its_folders_are_synced() {
        let root = std::env::temp_dir().join(format!("tool-gateway-synced-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir(&root).unwrap();
        let synced = |name: &str| {
            let mut synced = Vec::new();
            let sync = |folder: &Path| {
                synced.push(folder.strip_prefix(&root).unwrap().to_owned());
                sync_folder(folder)
            };
            create(&root.join(name), sync).unwrap();
            synced
        };
        assert_eq!(synced("sessions.redb"), [Path::new("")]);
        let new = ["new/er", "new", ""].map(Path::new);
        assert_eq!(synced("new/er/sessions.redb"), new);
        assert_eq!(synced("new/er/sessions.redb"), [Path::new("new/er")]);
        fs::remove_dir_all(root).unwrap();
        // Relative paths have a folder, too.
        let names = |path| {
            Path::new(path)
                .ancestors()
                .skip(1)
                .map(current_if_empty)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("sessions.redb"), [Path::new(".")]);
        assert_eq!(names("a/sessions.redb"), [Path::new("a"), Path::new(".")]);
    }
}
