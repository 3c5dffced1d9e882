//! What offloading needs of a store: to write a file, over another one or beside it.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

/// Stores offloaded contents: in local files ([`LocalWriter`](super::LocalWriter)), in memory
/// ([`MemoryWriter`](super::MemoryWriter)), in whatever else.
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
    /// Writes `content` to `file`, an absolute path, over whatever is there; makes the directories it needs.
    ///
    /// All or nothing: after an error there is no part of the content at `file`, and nobody ever sees one.
    fn write<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a>;

    /// Writes `content` to `file` only if nothing is there: `true` if it did, `false` if the name is taken, and then
    /// what has it stays as it is. Else as [`write`](Self::write).
    ///
    /// One step: of two calls with the same `file`, also from two processes, one gets `true`. Looking first and then
    /// writing is not enough; stores have an operation for it (`O_EXCL` or `link` on a disk, `If-None-Match: *` in an
    /// object store).
    ///
    /// [`OffloadLayer`](super::OffloadLayer) needs it, unless it is [`overwriting`](super::OffloadLayer::overwriting).
    /// As provided, it is an error and writes nothing. A writer that wraps another one has to pass it on.
    fn create_new<'a>(&'a self, file: &'a Path, content: &'a str) -> Writing<'a, bool> {
        let _ = (file, content);
        Box::pin(async { Err(ONLY_OVERWRITES.into()) })
    }
}

const ONLY_OVERWRITES: &str =
    "this writer only overwrites; implement `FileWriter::create_new`, or let the layer be `overwriting()`";

/// The answer of a [`FileWriter`].
pub type Writing<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, WriteError>> + Send + 'a>>;

/// Why a writer failed.
pub type WriteError = Box<dyn Error + Send + Sync>;

/// Any [`FileWriter`]; what the host puts into a registry's state: `.with_state(Writer::new(LocalWriter))`.
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
