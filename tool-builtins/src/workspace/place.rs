//! [`Place`]: a file or folder of a workspace, found on handles and component by component, so that neither a link nor a race leads out.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, FileType};
use tool_runtime::ToolError;

use super::denied_paths::DeniedPaths;
use super::error::ErrorCode;
use super::folder::Folder;

/// Maximum number of folders of a path below the root: each open one has a file descriptor.
pub(crate) const MAX_DEPTH: usize = 200;
/// Maximum number of links in a path, as in Linux.
const MAX_LINKS: usize = 40;

/// A place in an open folder.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) target: Target,
    /// Path below the folder without links, `.` and `..`.
    pub(crate) path: PathBuf,
    /// The path for answers.
    pub(crate) shown: String,
    /// Absolute path of the folder, unless the folder is the root of the workspace.
    pub(crate) folder: Option<PathBuf>,
    /// Whether tools may write in the folder.
    pub(crate) is_writable: bool,
    /// Denied paths of the folder, which errors do not name.
    pub(crate) denied: Option<Arc<DeniedPaths>>,
}

/// Target of a path.
#[derive(Debug)]
pub(crate) enum Target {
    Directory(Dir),
    /// A file, device, pipe or socket in its folder.
    Entry {
        parent: Dir,
        name: OsString,
        kind: FileType,
    },
    /// A name that does not exist, and the missing folders in front of the name.
    Missing {
        parent: Dir,
        folders: Vec<OsString>,
        name: OsString,
    },
    /// A link to a name that does not exist.
    DanglingLink,
}

impl Place {
    /// Finds the place of a path below a folder.
    ///
    /// The kernel is asked for one name at a time, relative to the handle of its folder and without following links. Another process
    /// may exchange names meanwhile: the call then fails, or finds another place inside.
    pub(crate) fn find(folder: &Folder, path: &Path, sent: &str) -> Result<Self, ToolError> {
        let mut search = PathSearch::new(folder, path)?;
        let target = search.run(sent)?;
        let path: PathBuf = search.names().chain(target.names()).collect();
        Ok(Self {
            target,
            path,
            shown: String::new(),
            folder: None,
            is_writable: folder.is_writable(),
            denied: None,
        })
    }
}

impl Place {
    /// Returns a path in the folder for answers.
    pub(crate) fn show(&self, path: &Path) -> String {
        let path = match &self.folder {
            Some(folder) => &folder.join(path),
            None if path == Path::new("") => return ".".to_owned(),
            None => path,
        };
        let text = path.display().to_string();
        if cfg!(windows) {
            text.replace('\\', "/")
        } else {
            text
        }
    }
}

impl Target {
    /// Returns the names below the last folder that exists.
    fn names(&self) -> impl Iterator<Item = &OsStr> {
        let (folders, name): (&[OsString], Option<&OsString>) = match self {
            Self::Directory(_) | Self::DanglingLink => (&[], None),
            Self::Entry { name, .. } => (&[], Some(name)),
            Self::Missing { folders, name, .. } => (folders, Some(name)),
        };
        folders.iter().chain(name).map(OsString::as_os_str)
    }
}

/// A component that has not been opened.
struct Pending {
    name: OsString,
    /// Whether the component is from the target of a link.
    is_from_link: bool,
}

/// Opened folders from the root downwards, and the remaining components.
struct PathSearch<'f> {
    folder: &'f Folder,
    root: Dir,
    opened: Vec<(OsString, Dir)>,
    /// Remaining components, the last one first.
    pending: Vec<Pending>,
    links: usize,
}

impl<'f> PathSearch<'f> {
    fn new(folder: &'f Folder, path: &Path) -> Result<Self, ToolError> {
        let root = folder.dir().try_clone();
        let mut search = Self {
            folder,
            root: root.map_err(|error| ErrorCode::from_io(&error, "."))?,
            opened: Vec::new(),
            pending: Vec::new(),
            links: 0,
        };
        search.push(path, false);
        Ok(search)
    }

    /// Puts the components of a path in front of the remaining ones.
    fn push(&mut self, path: &Path, is_from_link: bool) {
        let components = path.components().rev().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        });
        self.pending
            .extend(components.map(|name| Pending { name, is_from_link }));
    }

    fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.opened.iter().map(|(name, _)| name.as_os_str())
    }

    fn current(&self) -> &Dir {
        self.opened.last().map_or(&self.root, |(_, dir)| dir)
    }

    fn run(&mut self, sent: &str) -> Result<Target, ToolError> {
        let failed = |error: io::Error| ErrorCode::from_io(&error, sent);
        while let Some(Pending { name, is_from_link }) = self.pending.pop() {
            if name == ".." {
                if self.opened.pop().is_none() {
                    return Err(ErrorCode::outside(sent));
                }
                continue;
            }
            let metadata = match self.current().symlink_metadata(&name) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return self.missing(name, is_from_link, sent);
                }
                Err(error) => return Err(failed(error)),
            };
            if metadata.is_symlink() {
                self.follow(&name, sent)?;
            } else if metadata.is_dir() {
                if self.opened.len() >= MAX_DEPTH {
                    return Err(too_deep());
                }
                let dir = self.current().open_dir_nofollow(&name).map_err(failed)?;
                self.opened.push((name, dir));
            } else if self.pending.is_empty() {
                let parent = self.current().try_clone().map_err(failed)?;
                let kind = metadata.file_type();
                return Ok(Target::Entry { parent, name, kind });
            } else {
                return Err(ErrorCode::NotFound.error(format_args!(
                    "`{sent}` does not exist: `{}` is not a folder",
                    name.display()
                )));
            }
        }
        Ok(Target::Directory(self.current().try_clone().map_err(failed)?))
    }

    fn follow(&mut self, name: &OsStr, sent: &str) -> Result<(), ToolError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(ErrorCode::Io.error(format_args!("`{sent}` has too many symbolic links")));
        }
        let target = self.current().read_link_contents(name);
        let target = target.map_err(|error| ErrorCode::from_io(&error, sent))?;
        if target.has_root() {
            let Some(inside) = self.folder.relative(&target) else {
                return Err(ErrorCode::OutsideWorkspace.error(format_args!(
                    "`{sent}` is outside of the workspace: `{}` is a symbolic link that leads out",
                    name.display()
                )));
            };
            let inside = inside.to_owned();
            self.opened.clear();
            self.push(&inside, true);
        } else {
            self.push(&target, true);
        }
        Ok(())
    }

    /// Returns the target of a path whose component `first` does not exist.
    fn missing(&mut self, first: OsString, is_from_link: bool, sent: &str) -> Result<Target, ToolError> {
        if is_from_link {
            return Ok(Target::DanglingLink);
        }
        let parent = self.current().try_clone();
        let parent = parent.map_err(|error| ErrorCode::from_io(&error, sent))?;
        let mut folders = vec![first];
        folders.extend(self.pending.drain(..).rev().map(|pending| pending.name));
        if folders.iter().any(|name| name == "..") {
            return Err(ErrorCode::NotFound.error(format_args!("`{sent}` does not exist")));
        }
        if self.opened.len() + folders.len() > MAX_DEPTH + 1 {
            return Err(too_deep());
        }
        let name = folders.pop().unwrap_or_default();
        Ok(Target::Missing {
            parent,
            folders,
            name,
        })
    }
}

fn too_deep() -> ToolError {
    ErrorCode::TooLarge.error(format_args!(
        "the path has more than {MAX_DEPTH} folders; use a path with fewer folders, or ask the user to open a folder further below as the workspace"
    ))
}
