//! [`FileWriter`]: interface of a store that writes files, and either overwrites existing files or keeps them.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

/// Stores offloaded contents: in local files ([`LocalWriter`](super::LocalWriter)), in memory
/// ([`MemoryWriter`](super::MemoryWriter)), or elsewhere.
///
/// ```
/// use std::path::Path;
/// use tool_builtins::offload::{FileWriter, Writing};
///
/// struct Full;
///
/// impl FileWriter for Full {
///     fn write<'a>(&'a self, _file: &'a Path, _content: &'a str) -> Writing<'a> {
///         Box::pin(async { Err("no space left".into()) })
///     }
/// }
/// ```
pub trait FileWriter: Send + Sync + 'static {
    /// Writes `content` to `file`, an absolute path. An existing file is overwritten, and missing directories are created.
    ///
    /// The write is atomic: a reader never sees a part of the content, and after an error `file` has no part of the content.
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a>;

    /// Creates `file` with `content`, as [`write`](Self::write) does. Returns `false` and leaves the file unchanged if it
    /// already exists.
    ///
    /// The operation is atomic: if several calls create the same `file` concurrently, in one or several processes, exactly
    /// one call returns `true`. A check before the write is not atomic. Stores have an atomic operation (`O_EXCL` or `link`
    /// on a disk, `If-None-Match: *` in an object store).
    ///
    /// [`OffloadLayer`](super::OffloadLayer) calls this method, unless it is
    /// [`overwriting`](super::OffloadLayer::overwriting). The default implementation writes no file and returns an error.
    /// A writer that wraps another writer has to forward the call.
    fn create_new<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a, bool> {
        let _ = (file, content);
        Box::pin(async { Err(ONLY_OVERWRITES.into()) })
    }
}

const ONLY_OVERWRITES: &str =
    "this writer only overwrites; implement `FileWriter::create_new`, or let the layer be `overwriting()`";

/// Future of a [`FileWriter`]'s method.
pub type Writing<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, WriteError>> + Send + 'a>>;

/// Error of a writer.
pub type WriteError = Box<dyn Error + Send + Sync>;

/// Any [`FileWriter`], as state of a registry: `.with_state(Writer::new(LocalWriter))`.
#[derive(Clone)]
pub struct Writer(Arc<dyn FileWriter>);

impl Writer {
    /// Wraps a writer.
    pub fn new(writer: impl FileWriter) -> Self {
        Self(Arc::new(writer))
    }
}

impl FileWriter for Writer {
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a> {
        self.0.write(file, content)
    }

    fn create_new<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a, bool> {
        self.0.create_new(file, content)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
