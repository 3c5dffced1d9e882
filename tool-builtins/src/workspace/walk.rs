//! [`Walk`]: visits the files below a folder on handles, so that a folder that another process exchanges for a link leads nowhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, FileType};
use tool_runtime::CancellationToken;

use super::ignore_rules::{IgnoreRules, is_version_control};
use super::place::{MAX_DEPTH, Place, Target};
use super::state::Workspace;

/// Number of names of a folder between two checks of the time limit.
const STEPS: usize = 1_024;

/// A name in a folder.
#[derive(Debug)]
pub(crate) struct WalkEntry<'w> {
    pub(crate) parent: &'w Dir,
    pub(crate) name: &'w OsStr,
    /// Path below the root.
    pub(crate) path: &'w Path,
    pub(crate) kind: FileType,
    /// Whether the rules exclude the entry. An excluded folder is not entered.
    pub(crate) is_ignored: bool,
}

/// Numbers of names that were not visited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WalkCounts {
    /// Files that the rules exclude.
    pub(crate) ignored_files: usize,
    /// Folders that the rules exclude.
    pub(crate) ignored_folders: usize,
    /// Folders that could not be listed, or are too deep.
    pub(crate) unreadable: usize,
}

/// Reason why a walk ended before all files were visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    Complete,
    /// The visitor ended the walk.
    Stopped,
    Cancelled,
    /// The time was up.
    TimedOut,
}

/// A walk in the order of the bytes of the paths.
#[derive(Debug)]
pub(crate) struct Walk<'w> {
    pub(crate) workspace: &'w Workspace,
    pub(crate) cancel: &'w CancellationToken,
    pub(crate) deadline: Instant,
    pub(crate) counts: WalkCounts,
}

/// A name that was listed and not visited.
struct Listed {
    parent: Rc<Dir>,
    name: OsString,
    path: PathBuf,
    kind: FileType,
    rules: IgnoreRules,
    depth: usize,
}

impl<'w> Walk<'w> {
    pub(crate) fn new(workspace: &'w Workspace, cancel: &'w CancellationToken, deadline: Instant) -> Self {
        Self {
            workspace,
            cancel,
            deadline,
            counts: WalkCounts::default(),
        }
    }

    /// Visits everything below a folder, except for denied paths and folders of version control.
    pub(crate) fn run(
        &mut self,
        place: &Place,
        visit: &mut dyn FnMut(&WalkEntry<'_>) -> ControlFlow<()>,
    ) -> WalkEnd {
        let Target::Directory(dir) = &place.target else {
            return WalkEnd::Complete;
        };
        let rules = self.rules_above(place);
        let mut pending = Vec::new();
        match dir.try_clone() {
            Ok(dir) => self.list(&Rc::new(dir), &place.path, &rules, 0, &mut pending),
            Err(_) => self.counts.unreadable += 1,
        }
        while let Some(listed) = pending.pop() {
            if let Some(end) = self.end() {
                return end;
            }
            let is_dir = listed.kind.is_dir();
            if is_dir && is_version_control(&listed.name) {
                continue;
            }
            let is_ignored = listed.rules.is_ignored(&listed.path, is_dir);
            let entry = WalkEntry {
                parent: &listed.parent,
                name: &listed.name,
                path: &listed.path,
                kind: listed.kind,
                is_ignored,
            };
            if visit(&entry).is_break() {
                return WalkEnd::Stopped;
            }
            match (is_dir, is_ignored) {
                (true, true) => self.counts.ignored_folders += 1,
                (false, true) => self.counts.ignored_files += 1,
                (false, false) => {}
                (true, false) if listed.depth >= MAX_DEPTH => self.counts.unreadable += 1,
                (true, false) => match listed.parent.open_dir_nofollow(&listed.name) {
                    Ok(dir) => {
                        let depth = listed.depth + 1;
                        self.list(&Rc::new(dir), &listed.path, &listed.rules, depth, &mut pending);
                    }
                    Err(_) => self.counts.unreadable += 1,
                },
            }
        }
        // The names of the last folder may be incomplete.
        self.end().unwrap_or(WalkEnd::Complete)
    }

    fn end(&self) -> Option<WalkEnd> {
        if self.cancel.is_cancelled() {
            return Some(WalkEnd::Cancelled);
        }
        (Instant::now() >= self.deadline).then_some(WalkEnd::TimedOut)
    }

    /// Returns the rules of the folders from the root to the folder above a place.
    pub(crate) fn rules_above(&self, place: &Place) -> IgnoreRules {
        let mut rules = IgnoreRules::default();
        if place.folder.is_some() {
            return rules;
        }
        let path = &place.path;
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            let name = if folder == Path::new("") {
                Path::new(".")
            } else {
                folder
            };
            let Ok(dir) = self.workspace.root_dir().open_dir(name) else {
                break;
            };
            let exists = |name: &&OsStr| dir.symlink_metadata(name).is_ok();
            let names = [".ignore", ".gitignore", ".git"].map(OsStr::new);
            rules = rules.enter(&dir, folder, names.into_iter().filter(exists).collect::<Vec<_>>());
        }
        rules
    }

    /// Adds the names of a folder, the last one first.
    fn list(
        &mut self,
        dir: &Rc<Dir>,
        path: &Path,
        rules: &IgnoreRules,
        depth: usize,
        pending: &mut Vec<Listed>,
    ) {
        let Ok(names) = names(dir, || self.end().is_some()) else {
            self.counts.unreadable += 1;
            return;
        };
        let rules = rules.enter(dir, path, names.iter().map(|(name, _)| name.as_os_str()));
        for (name, kind) in names.into_iter().rev() {
            let path = path.join(&name);
            if self.workspace.is_denied(&path) {
                continue;
            }
            pending.push(Listed {
                parent: Rc::clone(dir),
                name,
                path,
                kind,
                rules: rules.clone(),
                depth,
            });
        }
    }
}

/// Returns the names of a folder in the order of the paths below: a folder is compared with a `/` at its end. After the end of the call,
/// names are missing.
pub(crate) fn names(dir: &Dir, has_ended: impl Fn() -> bool) -> io::Result<Vec<(OsString, FileType)>> {
    let mut names = Vec::new();
    for (index, entry) in dir.entries()?.enumerate() {
        if index % STEPS == 0 && has_ended() {
            break;
        }
        // A name that is gone meanwhile, or cannot be read.
        let Ok(entry) = entry else { continue };
        if let Ok(kind) = entry.file_type() {
            names.push((entry.file_name(), kind));
        }
    }
    names.sort_by_cached_key(|(name, kind)| {
        let mut key = name.as_encoded_bytes().to_vec();
        if kind.is_dir() {
            key.push(b'/');
        }
        key
    });
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn names_of_a_large_folder_end_with_the_call() {
        let path = std::env::temp_dir().join(format!("tool-builtins-flat-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        for at in 0..3_000 {
            fs::write(path.join(format!("f{at}")), "").unwrap();
        }
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
        assert_eq!(names(&dir, || false).unwrap().len(), 3_000);
        let looks = Cell::new(0);
        let has_ended = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        assert_eq!(names(&dir, has_ended).unwrap().len(), 2 * STEPS);
        fs::remove_dir_all(&path).unwrap();
    }
}
