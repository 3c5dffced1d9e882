//! [`Folder`]: a folder of the host that tools may use, as an open handle.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// An open folder. All files in the folder are opened relative to its handle, so that no path leads out of the folder.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: Dir,
    /// Absolute path, as the host has given the path.
    path: PathBuf,
    /// Path without symbolic links.
    canonical: PathBuf,
    is_writable: bool,
}

impl Folder {
    pub(crate) fn open(path: &Path, is_writable: bool) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let canonical = path.canonicalize()?;
        Ok(Self {
            dir: Dir::open_ambient_dir(&canonical, ambient_authority())?,
            path,
            canonical,
            is_writable,
        })
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Returns the part of an absolute path below the folder; compares whole components, so that `/root-evil` is not below `/root`.
    pub(crate) fn relative<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.path)
            .or_else(|_| path.strip_prefix(&self.canonical))
            .ok()
    }
}
