//! [`WorkspaceOptions`]: what the tools may do in a workspace.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use encoding_rs::Encoding;
use thiserror::Error;

use super::denied_paths::DeniedPaths;
use super::file_locks::FileLocks;
use super::folder::Folder;
use super::limits::WorkspaceLimits;
use super::state::Workspace;

/// Options of a [`Workspace`]. Without options, the tools read and write every file of the root folder.
///
/// ```
/// use tool_builtins::workspace::WorkspaceOptions;
///
/// let workspace = WorkspaceOptions::new(std::env::temp_dir())
///     .read_only()
///     .deny(["**/.env*", "**/*.pem"])
///     .open()?;
/// assert!(!workspace.is_writable());
/// # Ok::<(), tool_builtins::workspace::InvalidWorkspace>(())
/// ```
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    root: PathBuf,
    is_writable: bool,
    denied: Vec<String>,
    denied_for_writing: Vec<String>,
    extras: Vec<ExtraFolder>,
    limits: WorkspaceLimits,
    legacy: Option<String>,
    is_exact: bool,
    is_durable: bool,
}

#[derive(Debug, Clone)]
struct ExtraFolder {
    path: PathBuf,
    is_writable: bool,
}

/// Error of [`WorkspaceOptions::open`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidWorkspace {
    /// A folder cannot be opened.
    #[error("the folder {path:?} cannot be opened: {error}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A glob is invalid.
    #[error("invalid glob: {0}")]
    Glob(#[from] globset::Error),
    /// An encoding is unknown.
    #[error(
        "unknown encoding `{0}`; expected a label of the WHATWG's Encoding Standard, such as `windows-1252`"
    )]
    Encoding(String),
}

impl WorkspaceOptions {
    /// Creates options of a workspace with this root folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            is_writable: true,
            denied: Vec::new(),
            denied_for_writing: Vec::new(),
            extras: Vec::new(),
            limits: WorkspaceLimits::default(),
            legacy: None,
            is_exact: false,
            is_durable: false,
        }
    }

    /// Refuses all writes.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_writable = false;
        self
    }

    /// Denies all access to paths below the root that match a glob. The letters' case has no meaning, `*` does not match `/`, and a
    /// glob that matches a folder holds for everything inside. Links are followed first, so that a link to a denied file is denied.
    ///
    /// A glob after a `!` is an exception to the globs before it, as in `.gitignore`: the last glob that matches a path decides, and nothing
    /// in a denied folder is an exception. `{!}` is the letter.
    #[must_use]
    pub fn deny<S: Into<String>>(mut self, globs: impl IntoIterator<Item = S>) -> Self {
        self.denied.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Denies writing to paths below the root that match a glob.
    #[must_use]
    pub fn deny_write<S: Into<String>>(mut self, globs: impl IntoIterator<Item = S>) -> Self {
        self.denied_for_writing.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Adds a folder outside of the root that tools may read, such as a folder of long outputs. Its files have absolute paths.
    #[must_use]
    pub fn extra(mut self, folder: impl Into<PathBuf>) -> Self {
        self.extras.push(ExtraFolder {
            path: folder.into(),
            is_writable: false,
        });
        self
    }

    /// Adds a folder outside of the root that tools may read and, unless the workspace is read-only, write.
    #[must_use]
    pub fn writable_extra(mut self, folder: impl Into<PathBuf>) -> Self {
        self.extras.push(ExtraFolder {
            path: folder.into(),
            is_writable: true,
        });
        self
    }

    /// Sets the limits of the tools.
    #[must_use]
    pub fn limits(mut self, limits: WorkspaceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the encoding of files that are neither UTF-8 nor UTF-16: a label of the Encoding Standard, such as `windows-1252`.
    #[must_use]
    pub fn legacy_encoding(mut self, label: impl Into<String>) -> Self {
        self.legacy = Some(label.into());
        self
    }

    /// Accepts only quotes that are exactly in the file, in `Edit` and `MultiEdit`.
    #[must_use]
    pub fn exact_edits(mut self) -> Self {
        self.is_exact = true;
        self
    }

    /// Waits after each write until the disk has the file and its folder.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.is_durable = true;
        self
    }

    /// Opens the folders.
    ///
    /// # Errors
    ///
    /// If a folder cannot be opened, or a glob or the encoding is invalid.
    pub fn open(&self) -> Result<Workspace, InvalidWorkspace> {
        let open = |path: &PathBuf, is_writable| {
            Folder::open(path, is_writable).map_err(|error| InvalidWorkspace::Folder {
                path: path.clone(),
                error,
            })
        };
        let extras = self
            .extras
            .iter()
            .map(|extra| open(&extra.path, extra.is_writable && self.is_writable));
        Ok(Workspace {
            root: open(&self.root, self.is_writable)?,
            extras: extras.collect::<Result<_, _>>()?,
            denied: Arc::new(DeniedPaths::new(&self.denied, &self.denied_for_writing)?),
            limits: self.limits.clone(),
            legacy: self.legacy.as_deref().map(encoding).transpose()?,
            is_exact: self.is_exact,
            is_durable: self.is_durable,
            locks: Arc::new(FileLocks::default()),
            #[cfg(test)]
            before_rename: None,
        })
    }
}

impl Workspace {
    /// Opens a folder whose files the tools may read and write. [`WorkspaceOptions`] has further options.
    ///
    /// # Errors
    ///
    /// If the folder cannot be opened.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, InvalidWorkspace> {
        WorkspaceOptions::new(root).open()
    }
}

fn encoding(label: &str) -> Result<&'static Encoding, InvalidWorkspace> {
    Encoding::for_label(label.as_bytes()).ok_or_else(|| InvalidWorkspace::Encoding(label.to_owned()))
}
