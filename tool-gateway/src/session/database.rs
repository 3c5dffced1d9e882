//! [`FileDatabase`]: the file of a store, opened again after a failure of the disk.

use std::fs::{self, OpenOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use redb::backends::FileBackend;
use redb::{Database, DatabaseError, StorageError};

use super::store::StoreError;

/// A database in a file. Behind a failed write, redb serves nothing more until its file is opened again: with what was committed.
#[derive(Debug)]
pub(super) struct FileDatabase {
    path: PathBuf,
    state: RwLock<State>,
}

#[derive(Debug)]
enum State {
    Open {
        database: Database,
        since: Instant,
    },
    /// Behind a failure.
    Closed {
        error: StoreError,
        since: Instant,
    },
}

/// How long the file is left alone after a failure: opening it reads all of it.
const PAUSE: Duration = Duration::from_millis(500);

/// How much of the file is kept in memory; the system keeps more.
const CACHE_BYTES: usize = 64 << 20;

impl FileDatabase {
    /// Opens a file, or creates it: for its owner alone, as its folder. A file that was changed otherwise than by a database is
    /// refused.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            path: path.to_owned(),
            state: RwLock::new(State::Open {
                database: open(path, true)?,
                since: Instant::now(),
            }),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How large the file is.
    pub(super) fn bytes(&self) -> Result<u64, StoreError> {
        let file = fs::metadata(&self.path);
        Ok(file.map_err(|error| named(&self.path, &error))?.len())
    }

    /// Works with the database. An error has the name of the file.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T, Failed>) -> Result<T, StoreError> {
        self.open_again();
        let (error, opened) = {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            let (database, opened) = match &*state {
                State::Open { database, since } => (database, *since),
                State::Closed { error, .. } => return Err(error.clone()),
            };
            // Of pages that something else has changed, redb may think the impossible.
            match catch_unwind(AssertUnwindSafe(|| work(database))) {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(Failed::Store(StoreError(error)))) => return Err(named(&self.path, &error)),
                Ok(Err(Failed::File(error))) => (named(&self.path, &error), opened),
                Err(_) => (named(&self.path, &CORRUPTED), opened),
            }
        };
        self.close(opened, &error);
        Err(error)
    }

    /// Closes what was opened then; others may have done so, and opened it again.
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
        // It writes to the end.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(before)));
    }

    /// Opens the file again, if it was closed long enough ago.
    fn open_again(&self) {
        let is_due = |state: &State| matches!(state, State::Closed { since, .. } if since.elapsed() >= PAUSE);
        if !is_due(&self.state.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if is_due(&state) {
            let opened = open(&self.path, false);
            let since = Instant::now();
            *state = match opened {
                Ok(database) => State::Open { database, since },
                Err(error) => State::Closed { error, since },
            };
        }
    }
}

const CORRUPTED: &str = "the file is corrupted; name another file, or restore it from a backup";

fn named(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError(format!("{}: {error}", path.display()))
}

fn open(path: &Path, creates: bool) -> Result<Database, StoreError> {
    let failed = |error: &dyn std::fmt::Display| named(path, error);
    if let Some(folder) = path
        .parent()
        .filter(|folder| creates && !folder.as_os_str().is_empty() && !folder.exists())
    {
        create_folder(folder).map_err(|error| failed(&error))?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(creates);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path).map_err(|error| failed(&error))?;
    let open = || {
        let mut builder = Database::builder();
        builder
            .set_check_integrity_on_open(true)
            .set_cache_size(CACHE_BYTES);
        FileBackend::new(file).and_then(|file| builder.create_with_backend(file))
    };
    let opened = catch_unwind(AssertUnwindSafe(open)).map_err(|_| failed(&CORRUPTED))?;
    opened.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => {
            failed(&"another process has it open; stop that one, or name another file")
        }
        error => failed(&format_args!(
            "{error}; name another file, or restore it from a backup"
        )),
    })
}

/// Creates a folder and its parents, for the owner alone. One that is there stays as it is.
pub(crate) fn create_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Why the file could not be read or written.
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
