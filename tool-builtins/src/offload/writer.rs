//! What offloading needs of a store: one method.

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
}

/// The answer of [`FileWriter::write`].
pub type Writing<'a> = Pin<Box<dyn Future<Output = Result<(), WriteError>> + Send + 'a>>;

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
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
