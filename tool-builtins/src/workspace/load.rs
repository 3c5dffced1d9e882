//! [`LoadedFile`]: opens the file of a place, and reads its bytes.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_fs_ext::{FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use tool_runtime::ToolError;

use super::error::ErrorCode;
use super::place::{Place, Target};

/// Maximum size in bytes of a file that is read completely. A higher limit of the host is reduced to this size.
///
/// Positions in texts are `u32`. Invalid UTF-8 can become a text of three times the size, since U+FFFD has three bytes.
pub(crate) const MAX_LOADED: u64 = 1 << 30;
/// Maximum number of names that are compared with the name of a missing file.
const COMPARED_NAMES: usize = 2_000;

/// Identity and version of a file, to notice a change by another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    length: u64,
    modified: Option<SystemTime>,
    links: u64,
}

impl FileVersion {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            links: metadata.nlink(),
        }
    }

    /// Returns whether the file has several hard links.
    pub(crate) fn has_hard_links(&self) -> bool {
        self.links > 1
    }
}

/// A regular file that is open for reading.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
}

/// A file with its bytes.
#[derive(Debug)]
pub(crate) struct LoadedFile {
    pub(crate) parent: Dir,
    pub(crate) name: OsString,
    pub(crate) shown: String,
    pub(crate) metadata: Metadata,
    pub(crate) version: FileVersion,
    pub(crate) bytes: Vec<u8>,
}

impl Place {
    /// Opens the place for reading. Only a regular file is opened: a pipe or a device could block, or never end.
    pub(crate) fn open(&self) -> Result<OpenedFile, ToolError> {
        let shown = &self.shown;
        match &self.target {
            Target::Directory(_) => Err(ErrorCode::IsADirectory.error(format_args!(
                "`{shown}` is a folder; LS lists a folder, and Glob and Grep search it"
            ))),
            Target::Entry { parent, name, kind } => {
                if !kind.is_file() {
                    return Err(not_a_file(shown));
                }
                let opened = OpenedFile::open(parent, name);
                let opened = opened.map_err(|error| ErrorCode::from_io(&error, shown))?;
                opened.ok_or_else(|| not_a_file(shown))
            }
            Target::Missing { .. } => Err(self.not_found()),
            Target::DanglingLink => Err(ErrorCode::NotFound.error(format_args!(
                "`{shown}` is a symbolic link to a file that does not exist"
            ))),
        }
    }

    /// Reads the complete file; a file with more than `limit` bytes is an error.
    pub(crate) fn load(&self, limit: u64) -> Result<LoadedFile, ToolError> {
        let limit = limit.min(MAX_LOADED);
        let opened = self.open()?;
        let length = opened.metadata.len();
        if length > limit {
            return Err(self.too_large(length, limit));
        }
        let Target::Entry { parent, name, .. } = &self.target else {
            return Err(self.not_found());
        };
        let failed = |error: io::Error| ErrorCode::from_io(&error, &self.shown);
        let bytes = opened.read(limit).map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(self.too_large(bytes.len() as u64, limit));
        }
        Ok(LoadedFile {
            parent: parent.try_clone().map_err(failed)?,
            name: name.clone(),
            shown: self.shown.clone(),
            version: FileVersion::new(&opened.metadata),
            metadata: opened.metadata,
            bytes,
        })
    }

    fn too_large(&self, length: u64, limit: u64) -> ToolError {
        ErrorCode::TooLarge.error(format_args!(
            "`{}` has {length} bytes; expected at most {limit}",
            self.shown
        ))
    }

    /// Returns the error for a place that does not exist. The message lists similar names in the folder of the first missing component.
    pub(crate) fn not_found(&self) -> ToolError {
        let shown = &self.shown;
        let Target::Missing {
            parent,
            folders,
            name,
        } = &self.target
        else {
            return ErrorCode::NotFound.error(format_args!("`{shown}` does not exist"));
        };
        let wanted = folders.first().unwrap_or(name);
        let missing = folders.iter().chain([name]).count();
        let above: PathBuf = self
            .path
            .ancestors()
            .nth(missing)
            .unwrap_or(Path::new(""))
            .to_owned();
        let mut similar = similar_names(parent, wanted);
        similar.retain(|name| {
            let path = above.join(name);
            !self.denied.as_ref().is_some_and(|denied| denied.is_denied(&path))
        });
        let mut message = format!("`{shown}` does not exist");
        if !folders.is_empty() {
            let _ = write!(message, ", nor does its folder `{}`", wanted.display());
        }
        if !similar.is_empty() {
            let _ = write!(message, "; similar existing names: {}", similar.join(", "));
        }
        ErrorCode::NotFound.error(message)
    }
}

impl OpenedFile {
    /// Opens an entry of a folder without following a link; `None` if it is not a regular file.
    pub(crate) fn open(parent: &Dir, name: &OsStr) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            // Avoids blocking if a pipe has replaced the file since the look-up.
            let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
            options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
        }
        let file = parent.open_with(name, &options)?;
        let metadata = file.metadata()?;
        Ok(metadata.is_file().then_some(Self { file, metadata }))
    }

    /// Reads at most `limit` + 1 bytes, so that the caller notices a longer file.
    pub(crate) fn read(&self, limit: u64) -> io::Result<Vec<u8>> {
        let capacity = self.metadata.len().min(limit).saturating_add(1);
        let mut bytes = Vec::with_capacity(usize::try_from(capacity).unwrap_or_default());
        (&self.file)
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn not_a_file(shown: &str) -> ToolError {
    ErrorCode::NotAFile.error(format_args!(
        "`{shown}` is a device, a pipe or a socket; expected a regular file"
    ))
}

/// Returns up to three names in a folder that are similar to a name.
fn similar_names(folder: &Dir, wanted: &OsStr) -> Vec<String> {
    let wanted = wanted.to_string_lossy().to_lowercase();
    let Ok(entries) = folder.entries() else {
        return Vec::new();
    };
    let mut similar: Vec<(f64, String)> = entries
        .take(COMPARED_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .map(|name| (similarity(&wanted, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= 0.6)
        .collect();
    similar.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
    similar.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns the similarity of two names, from 0 to 1; at least 0.9 if the names differ only in their extensions.
fn similarity(wanted: &str, name: &str) -> f64 {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let is_same_stem = !stem(wanted).is_empty() && stem(wanted) == stem(name);
    let by_letters = strsim::normalized_damerau_levenshtein(wanted, name);
    if is_same_stem {
        by_letters.max(0.9)
    } else {
        by_letters
    }
}
