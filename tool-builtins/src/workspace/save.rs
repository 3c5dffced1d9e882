//! Saving: a file is replaced completely or not at all, with its permissions, links, owner and extended attributes.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Seek as _, SeekFrom, Write as _};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use tool_runtime::{CancellationToken, ToolError};

#[cfg(any(target_os = "linux", target_os = "macos"))]
use super::attributes::FileAttributes;
use super::error::ErrorCode;
use super::load::{FileVersion, LoadedFile, OpenedFile};
use super::place::{Place, Target};
use super::state::Workspace;

/// Attempts to find a name for a temporary file.
const NAMES: usize = 16;

/// A finished write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saved {
    /// The file was replaced by a rename, or created.
    Replaced,
    /// The bytes of the file were overwritten, since the file has several names, or an owner or attributes that a new file cannot have.
    InPlace,
}

impl Workspace {
    /// Replaces the bytes of a file that was loaded.
    ///
    /// The new bytes are written to a temporary file in the folder, which is renamed. A file that another process changed since it was
    /// loaded is an error, unless it still has the loaded bytes.
    pub(crate) fn replace(
        &self,
        loaded: &LoadedFile,
        bytes: &[u8],
        cancel: &CancellationToken,
    ) -> Result<Saved, ToolError> {
        let failed = |error: io::Error| ErrorCode::from_io(&error, &loaded.shown);
        // A rename needs only the right to write in the folder, and the user protected this file.
        if is_write_protected(&loaded.metadata) {
            return Err(ErrorCode::ReadOnly.error(format_args!(
                "`{}` is write-protected by its permissions; nothing was written: make the file writable first, such as with `chmod u+w`",
                loaded.shown
            )));
        }
        if loaded.version.has_hard_links() {
            return self.overwrite(loaded, bytes, cancel);
        }
        let mut temporary = TemporaryFile::create(&loaded.parent, true).map_err(failed)?;
        temporary.write(bytes, self.is_durable).map_err(failed)?;
        if !temporary.adopt(loaded).map_err(failed)? {
            drop(temporary);
            return self.overwrite(loaded, bytes, cancel);
        }
        #[cfg(test)]
        self.run_hook();
        loaded.check_unchanged(cancel)?;
        temporary.rename(&loaded.name).map_err(failed)?;
        self.sync(&loaded.parent).map_err(failed)?;
        Ok(Saved::Replaced)
    }

    /// Creates a file, and the missing folders in front of it. A file that exists meanwhile is an error.
    pub(crate) fn create(
        &self,
        place: &Place,
        bytes: &[u8],
        cancel: &CancellationToken,
    ) -> Result<Saved, ToolError> {
        let failed = |error: io::Error| ErrorCode::from_io(&error, &place.shown);
        let (parent, folders, name) = match &place.target {
            Target::Missing {
                parent,
                folders,
                name,
            } => (parent, folders, name),
            Target::DanglingLink => {
                return Err(ErrorCode::NotFound.error(format_args!(
                    "`{}` is a symbolic link to a file that does not exist; nothing was written",
                    place.shown
                )));
            }
            Target::Directory(_) | Target::Entry { .. } => return Err(exists(&place.shown)),
        };
        check_cancelled(cancel)?;
        let mut parent = parent.try_clone().map_err(failed)?;
        for folder in folders {
            match parent.create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
                _ => {}
            }
            parent = parent.open_dir_nofollow(folder).map_err(failed)?;
        }
        let mut temporary = TemporaryFile::create(&parent, false).map_err(failed)?;
        temporary.write(bytes, self.is_durable).map_err(failed)?;
        #[cfg(test)]
        self.run_hook();
        check_cancelled(cancel)?;
        temporary.link(name).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&place.shown),
            _ => failed(error),
        })?;
        self.sync(&parent).map_err(failed)?;
        Ok(Saved::Replaced)
    }

    /// Writes into the existing file, so that all its names have the new bytes. After an error the file has its old bytes again.
    fn overwrite(
        &self,
        loaded: &LoadedFile,
        bytes: &[u8],
        cancel: &CancellationToken,
    ) -> Result<Saved, ToolError> {
        let failed = |error: io::Error| ErrorCode::from_io(&error, &loaded.shown);
        let mut options = OpenOptions::new();
        options.write(true).follow(FollowSymlinks::No);
        #[cfg(test)]
        self.run_hook();
        loaded.check_unchanged(cancel)?;
        let mut file = loaded.parent.open_with(&loaded.name, &options).map_err(failed)?;
        if FileVersion::new(&file.metadata().map_err(failed)?) != loaded.version {
            return Err(changed(&loaded.shown));
        }
        if let Err(error) = write_all(&mut file, bytes) {
            // The old bytes fit, since the file still has their blocks.
            return Err(match write_all(&mut file, &loaded.bytes) {
                Ok(()) => failed(error),
                Err(restore) => ErrorCode::Io.error(format_args!(
                    "`{}` was written in part ({error}), and its old content could not be restored ({restore})",
                    loaded.shown
                )),
            });
        }
        if self.is_durable {
            file.sync_all().map_err(failed)?;
        }
        Ok(Saved::InPlace)
    }

    fn sync(&self, folder: &Dir) -> io::Result<()> {
        if self.is_durable {
            folder.try_clone()?.into_std_file().sync_all()?;
        }
        Ok(())
    }

    #[cfg(test)]
    fn run_hook(&self) {
        if let Some(hook) = &self.before_rename {
            (hook.0)();
        }
    }
}

impl LoadedFile {
    /// Checks that the file has the loaded bytes, immediately before it is replaced.
    fn check_unchanged(&self, cancel: &CancellationToken) -> Result<(), ToolError> {
        check_cancelled(cancel)?;
        let metadata = self.parent.symlink_metadata(&self.name);
        let metadata = metadata.map_err(|_| changed(&self.shown))?;
        if FileVersion::new(&metadata) == self.version {
            return Ok(());
        }
        // Another process may have touched the file, or replaced it by an equal one.
        let limit = self.bytes.len() as u64;
        let again = OpenedFile::open(&self.parent, &self.name).ok().flatten();
        let is_same = again.is_some_and(|again| {
            FileVersion::new(&again.metadata).has_hard_links() == self.version.has_hard_links()
                && again.read(limit).is_ok_and(|bytes| bytes == self.bytes)
        });
        if is_same {
            Ok(())
        } else {
            Err(changed(&self.shown))
        }
    }
}

/// Returns whether the owner of a file has no right to write it.
fn is_write_protected(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        metadata.mode() & 0o200 == 0
    }
    #[cfg(not(unix))]
    {
        metadata.permissions().readonly()
    }
}

fn changed(shown: &str) -> ToolError {
    ErrorCode::Changed.error(format_args!(
        "`{shown}` was changed by another process during the call; nothing was written: read the file again"
    ))
}

fn exists(shown: &str) -> ToolError {
    ErrorCode::Changed.error(format_args!(
        "`{shown}` was created by another process during the call; nothing was written: read the file first"
    ))
}

/// Returns an error if the call was cancelled: a cancelled call does not write.
fn check_cancelled(cancel: &CancellationToken) -> Result<(), ToolError> {
    if cancel.is_cancelled() {
        return Err(ErrorCode::TimedOut.error("the call was stopped; nothing was written"));
    }
    Ok(())
}

fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

/// A file under a temporary name, which is removed when dropped.
struct TemporaryFile<'d> {
    folder: &'d Dir,
    name: OsString,
    file: File,
    is_renamed: bool,
}

impl<'d> TemporaryFile<'d> {
    /// Creates an empty file. A `private` one is accessible to its owner only, until it has the permissions of the file that it replaces.
    fn create(folder: &'d Dir, private: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if private {
            use cap_std::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let random = RandomState::new();
        let mut error = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..NAMES {
            let name = OsString::from(format!(".tmp-{:016x}", random.hash_one(attempt)));
            match folder.open_with(&name, &options) {
                Ok(file) => {
                    return Ok(Self {
                        folder,
                        name,
                        file,
                        is_renamed: false,
                    });
                }
                Err(other) if other.kind() == io::ErrorKind::AlreadyExists => error = other,
                Err(other) => return Err(other),
            }
        }
        Err(error)
    }

    fn write(&mut self, bytes: &[u8], is_durable: bool) -> io::Result<()> {
        self.file.write_all(bytes)?;
        if is_durable {
            self.file.sync_all()?;
        }
        Ok(())
    }

    /// Gives the file the owner, the extended attributes and the permissions of another file. Returns `false` if it cannot have them.
    fn adopt(&self, loaded: &LoadedFile) -> io::Result<bool> {
        let original = &loaded.metadata;
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            let own = self.file.metadata()?;
            if (own.uid(), own.gid()) != (original.uid(), original.gid()) {
                let owner = rustix::fs::Uid::from_raw(original.uid());
                let group = rustix::fs::Gid::from_raw(original.gid());
                if rustix::fs::fchown(&self.file, Some(owner), Some(group)).is_err() {
                    return Ok(false);
                }
            }
        }
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            let opened = OpenedFile::open(&loaded.parent, &loaded.name)?;
            let attributes = opened.map(|opened| FileAttributes::read(&opened.file));
            if attributes.is_some_and(|attributes| {
                attributes
                    .and_then(|attributes| attributes.apply(&self.file))
                    .is_err()
            }) {
                return Ok(false);
            }
        }
        // After the owner and the attributes: a change of the owner clears bits.
        self.file.set_permissions(original.permissions())?;
        Ok(true)
    }

    /// Gives the file its name, in place of an existing file.
    fn rename(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.is_renamed = true;
        Ok(())
    }

    /// Gives the file its name, unless a file with this name exists.
    fn link(self, name: &OsStr) -> io::Result<()> {
        match self.folder.hard_link(&self.name, self.folder, name) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // File systems without hard links, such as FAT.
            Err(_) if self.folder.symlink_metadata(name).is_err() => self.rename(name),
            Err(error) => Err(error),
        }
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}
