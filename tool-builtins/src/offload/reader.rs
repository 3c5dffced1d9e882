//! [`FileReader`]: interface of a store that reads a part of a file, and lists the files of a session.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

/// Reads files that a [`FileWriter`](super::FileWriter) wrote: local files ([`LocalReader`](super::LocalReader)),
/// files in memory ([`MemoryWriter`](super::MemoryWriter)), or files of another store.
///
/// ```
/// use std::path::Path;
/// use tool_builtins::offload::{FilePart, FileReader, Reading};
///
/// /// Has one text under every name.
/// struct Same(&'static str);
///
/// impl FileReader for Same {
///     fn read<'a>(&'a self, _file: &'a Path, offset: u64, limit: usize) -> Reading<'a, Option<FilePart>> {
///         Box::pin(async move { Ok(Some(FilePart::from_content(self.0.as_bytes(), offset, limit))) })
///     }
/// }
/// ```
pub trait FileReader: Send + Sync + 'static {
    /// Reads `limit` bytes of `file`, an absolute path, from the byte `offset` on. Returns fewer bytes only at the end of the
    /// file. `None` if the file does not exist.
    ///
    /// A file is `<directory>/<session>/<name>`. A link, or any other redirection, is an error.
    fn read<'a>(&'a self, file: &'a Path, offset: u64, limit: usize) -> Reading<'a, Option<FilePart>>;

    /// Returns the names of the files in the directory of a session, in any order, for the error about a missing
    /// file. The default implementation returns no names.
    fn names<'a>(&'a self, directory: &'a Path) -> Reading<'a, Vec<String>> {
        let _ = directory;
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePart {
    /// Bytes of the part.
    pub bytes: Vec<u8>,
    /// Number of bytes of the whole file.
    pub size: u64,
}

impl FilePart {
    /// Creates a part of a file of this size.
    pub fn new(bytes: Vec<u8>, size: u64) -> Self {
        Self { bytes, size }
    }

    /// Creates the part of a whole content that [`FileReader::read`] returns for `offset` and `limit`.
    pub fn from_content(content: &[u8], offset: u64, limit: usize) -> Self {
        let start = usize::try_from(offset).map_or(content.len(), |offset| offset.min(content.len()));
        let end = start.saturating_add(limit).min(content.len());
        Self {
            bytes: content.get(start..end).unwrap_or_default().to_owned(),
            size: content.len() as u64,
        }
    }
}

/// Future of a [`FileReader`]'s method.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReadError>> + Send + 'a>>;

/// Error of a reader.
pub type ReadError = Box<dyn Error + Send + Sync>;

/// Any [`FileReader`], as state of a registry: `.with_state(Reader::new(LocalReader))`.
#[derive(Clone)]
pub struct Reader(Arc<dyn FileReader>);

impl Reader {
    /// Wraps a reader.
    pub fn new(reader: impl FileReader) -> Self {
        Self(Arc::new(reader))
    }
}

impl FileReader for Reader {
    fn read<'a>(&'a self, file: &'a Path, offset: u64, limit: usize) -> Reading<'a, Option<FilePart>> {
        self.0.read(file, offset, limit)
    }

    fn names<'a>(&'a self, directory: &'a Path) -> Reading<'a, Vec<String>> {
        self.0.names(directory)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
