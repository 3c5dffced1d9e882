//! [`FileLocks`]: a lock for each file, so that concurrent calls of a turn do not lose each other's changes.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of locks. Two files may share a lock: a call holds one lock only, so that it waits, and no more.
const LOCKS: usize = 64;

#[derive(Debug)]
pub(crate) struct FileLocks {
    locks: [Mutex<()>; LOCKS],
    hasher: RandomState,
}

impl Default for FileLocks {
    fn default() -> Self {
        Self {
            locks: [const { Mutex::new(()) }; LOCKS],
            hasher: RandomState::new(),
        }
    }
}

impl FileLocks {
    /// Waits until no other call writes the file with this path.
    pub(crate) fn lock(&self, path: &Path) -> Option<FileLock<'_>> {
        let index = usize::try_from(self.hasher.hash_one(path) % LOCKS as u64).unwrap_or_default();
        let lock = self.locks.get(index)?;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        Some(FileLock { _guard: guard })
    }
}

/// The lock of a file, until dropped.
#[derive(Debug)]
pub(crate) struct FileLock<'l> {
    _guard: MutexGuard<'l, ()>,
}
