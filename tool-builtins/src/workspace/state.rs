//! [`Workspace`]: the state of the tools that touch the machine.

use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;
use encoding_rs::Encoding;
use tool_runtime::ToolError;

use super::denied_paths::{DeniedPaths, lexical};
use super::error::ErrorCode;
use super::file_locks::{FileLock, FileLocks};
use super::folder::Folder;
use super::limits::WorkspaceLimits;
use super::place::Place;

/// A root folder whose files the tools read and write, and further folders. No path, link or race leads out of them: each folder is open,
/// and files are opened relative to its handle.
#[derive(Debug)]
pub struct Workspace {
    pub(super) root: Folder,
    pub(super) extras: Vec<Folder>,
    pub(super) denied: Arc<DeniedPaths>,
    pub(super) limits: WorkspaceLimits,
    pub(super) legacy: Option<&'static Encoding>,
    pub(super) is_exact: bool,
    pub(super) is_durable: bool,
    pub(super) locks: Arc<FileLocks>,
    /// Runs between the read and the rename of a write.
    #[cfg(test)]
    pub(super) before_rename: Option<Hook>,
}

impl Workspace {
    /// Returns the absolute path of the root folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the absolute paths of the further folders that tools may read.
    pub fn extras(&self) -> impl Iterator<Item = &Path> {
        self.extras.iter().map(Folder::path)
    }

    /// Returns the handle of the root folder.
    pub(crate) fn root_dir(&self) -> &Dir {
        self.root.dir()
    }

    /// Returns whether tools may write.
    pub fn is_writable(&self) -> bool {
        self.root.is_writable()
    }

    /// Returns the limits of the tools.
    pub fn limits(&self) -> &WorkspaceLimits {
        &self.limits
    }

    /// Returns whether only exact quotes are accepted in edits.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    pub(crate) fn legacy_encoding(&self) -> Option<&'static Encoding> {
        self.legacy
    }

    /// Finds a file or folder that a tool reads: an absolute path in an open folder, or a path relative to the root.
    pub(crate) fn find(&self, sent: &str) -> Result<Place, ToolError> {
        if sent.is_empty() {
            return Err(ErrorCode::NotFound.error("the path is empty; `.` is the root of the workspace"));
        }
        if sent.contains('\0') {
            return Err(ErrorCode::NotFound.error("the path has a NUL character; no file has such a name"));
        }
        let path = Path::new(sent);
        if !path.has_root() {
            return self.find_in_root(path, sent);
        }
        if let Some(relative) = self.root.relative(path) {
            return self.find_in_root(relative, sent);
        }
        let extra = self
            .extras
            .iter()
            .find_map(|folder| Some((folder, folder.relative(path)?)));
        let (folder, relative) = extra.ok_or_else(|| {
            ErrorCode::OutsideWorkspace.error(format_args!(
                "`{sent}` is outside of the workspace {}; send a path inside, relative to this folder",
                self.root().display()
            ))
        })?;
        let mut place = Place::find(folder, relative, sent)?;
        if place.path.as_os_str().is_empty() {
            return Err(ErrorCode::Denied.error(format_args!(
                "`{sent}` has files of several sessions and cannot be listed; send the path of a file in it"
            )));
        }
        place.folder = Some(folder.path().to_owned());
        place.shown = place.show(&place.path);
        Ok(place)
    }

    fn find_in_root(&self, relative: &Path, sent: &str) -> Result<Place, ToolError> {
        let denied = |path: &Path| {
            self.denied.denying_glob(path).map(|glob| {
                ErrorCode::Denied.error(format_args!(
                    "`{sent}` is denied by the glob `{glob}` in the configuration of the host; use another file, or ask the user to change \
                     the configuration"
                ))
            })
        };
        // Before the place is found: an error about a denied file must not depend on the file.
        if let Some(error) = denied(&lexical(relative)) {
            return Err(error);
        }
        let mut place = Place::find(&self.root, relative, sent)?;
        if let Some(error) = denied(&place.path) {
            return Err(error);
        }
        place.shown = place.show(&place.path);
        place.denied = Some(Arc::clone(&self.denied));
        Ok(place)
    }

    /// Finds a file that a tool writes.
    fn find_for_writing(&self, sent: &str) -> Result<Place, ToolError> {
        let place = self.find(sent)?;
        let is_below_root = place.folder.is_none();
        let relative = self.root.relative(Path::new(sent)).unwrap_or(Path::new(sent));
        let relative = lexical(relative);
        let denying = [&place.path, &relative]
            .into_iter()
            .find_map(|path| self.denied.write_denying_glob(path));
        if let Some(glob) = denying.filter(|_| is_below_root) {
            return Err(ErrorCode::Denied.error(format_args!(
                "writing to `{}` is denied by the glob `{glob}` in the configuration of the host; nothing was changed",
                place.shown
            )));
        }
        if !place.is_writable {
            return Err(ErrorCode::ReadOnly.error(format_args!(
                "`{}` cannot be changed: the workspace is read-only",
                place.shown
            )));
        }
        Ok(place)
    }

    /// Finds a file that a tool writes, and waits until no other call writes the file.
    pub(crate) fn lock_for_writing(&self, sent: &str) -> Result<(Place, Option<FileLock<'_>>), ToolError> {
        let place = self.find_for_writing(sent)?;
        let lock = self.locks.lock(Path::new(&place.shown));
        // A call that waited for the file may find another state than before.
        Ok((self.find_for_writing(sent)?, lock))
    }

    /// Returns whether no tool may see a path below the root.
    pub(crate) fn is_denied(&self, path: &Path) -> bool {
        self.denied.is_denied(path)
    }

    /// Sets a function that runs between the read and the rename of a write.
    #[cfg(test)]
    pub(crate) fn set_hook(&mut self, hook: Hook) {
        self.before_rename = Some(hook);
    }
}

/// Function of a test that runs in the middle of a write.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<dyn Fn() + Send + Sync>);

#[cfg(test)]
impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").finish_non_exhaustive()
    }
}
