//! [`MemoryWriter`]: a store in memory, for tests without a disk.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::reader::{FilePart, FileReader, Reading};
use super::writer::{FileWriter, Writing};

/// Keeps contents in memory, and reads them; clones share the contents.
#[derive(Debug, Clone, Default)]
pub struct MemoryWriter {
    files: Arc<Mutex<BTreeMap<PathBuf, String>>>,
}

impl MemoryWriter {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the content of `file`.
    pub fn read(&self, file: impl AsRef<Path>) -> Option<String> {
        self.lock().get(file.as_ref()).cloned()
    }

    /// Returns all contents by file.
    pub fn files(&self) -> BTreeMap<PathBuf, String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, String>> {
        // No panic can leave a partial change, so the value of a poisoned lock is valid.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileWriter for MemoryWriter {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        Box::pin(async move {
            self.lock().insert(file.to_owned(), content.to_owned());
            Ok(())
        })
    }

    fn create_new<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a, bool> {
        Box::pin(async move {
            match self.lock().entry(file.to_owned()) {
                Entry::Occupied(_) => Ok(false),
                Entry::Vacant(free) => {
                    free.insert(content.to_owned());
                    Ok(true)
                }
            }
        })
    }
}

impl FileReader for MemoryWriter {
    fn read<'a>(&'a self, file: &'a Path, offset: u64, limit: usize) -> Reading<'a, Option<FilePart>> {
        Box::pin(async move {
            let files = self.lock();
            Ok(files
                .get(file)
                .map(|content| FilePart::from_content(content.as_bytes(), offset, limit)))
        })
    }

    fn names<'a>(&'a self, directory: &'a Path) -> Reading<'a, Vec<String>> {
        Box::pin(async move {
            let files = self.lock();
            let files = files.keys().filter(|file| file.parent() == Some(directory));
            let names = files.filter_map(|file| Some(file.file_name()?.to_str()?.to_owned()));
            Ok(names.collect())
        })
    }
}
