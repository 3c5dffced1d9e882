//! [`IgnoreRules`]: `.gitignore`, `.ignore` and `.git/info/exclude` of a folder and of the folders above.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::load::OpenedFile;

/// Maximum number of bytes of a file with rules.
const MAX_BYTES: u64 = 1 << 20;

/// Folders of version control systems, which are not searched.
const VERSION_CONTROL: [&str; 6] = [".git", ".hg", ".svn", ".jj", ".bzr", "_darcs"];

/// Returns whether a folder belongs to a version control system.
pub(crate) fn is_version_control(name: &OsStr) -> bool {
    VERSION_CONTROL.iter().any(|known| name == *known)
}

/// Rules of a folder, with the rules of the folders above. The rules do not need a repository.
#[derive(Debug, Clone, Default)]
pub(crate) struct IgnoreRules {
    folder: Option<Rc<FolderRules>>,
}

#[derive(Debug)]
struct FolderRules {
    above: IgnoreRules,
    path: PathBuf,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    /// Whether the folder is the root of a repository: rules of Git from above end here.
    has_git: bool,
}

impl IgnoreRules {
    /// Adds the rules of a folder with this path below the root, and with these names in it.
    pub(crate) fn enter<'n>(
        &self,
        dir: &Dir,
        path: &Path,
        names: impl IntoIterator<Item = &'n OsStr>,
    ) -> Self {
        let (mut ignore, mut gitignore, mut exclude) = (None, None, None);
        let mut has_git = false;
        for name in names {
            if name == ".ignore" {
                ignore = load(dir, name);
            } else if name == ".gitignore" {
                gitignore = load(dir, name);
            } else if name == ".git" {
                has_git = true;
                let info = dir.open_dir(".git/info");
                exclude = info.ok().and_then(|info| load(&info, OsStr::new("exclude")));
            }
        }
        if !has_git && ignore.is_none() && gitignore.is_none() {
            return self.clone();
        }
        let rules = FolderRules {
            above: self.clone(),
            path: path.to_owned(),
            ignore: ignore.unwrap_or_else(Gitignore::empty),
            gitignore: gitignore.unwrap_or_else(Gitignore::empty),
            exclude: exclude.unwrap_or_else(Gitignore::empty),
            has_git,
        };
        Self {
            folder: Some(Rc::new(rules)),
        }
    }

    /// Returns whether the rules exclude a path below the root. As in ripgrep, `.ignore` files have precedence over all `.gitignore`
    /// files, and deeper files over files above.
    pub(crate) fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let (mut by_ignore, mut by_git, mut by_exclude) = (Match::None, Match::None, Match::None);
        let mut is_repository_left = false;
        let mut next = &self.folder;
        while let Some(rules) = next {
            let relative = path.strip_prefix(&rules.path).unwrap_or(path);
            if by_ignore.is_none() {
                by_ignore = rules.ignore.matched(relative, is_dir);
            }
            if !is_repository_left && by_git.is_none() {
                by_git = rules.gitignore.matched(relative, is_dir);
            }
            if !is_repository_left && by_exclude.is_none() {
                by_exclude = rules.exclude.matched(relative, is_dir);
            }
            is_repository_left |= rules.has_git;
            next = &rules.above.folder;
        }
        by_ignore.or(by_git).or(by_exclude).is_ignore()
    }
}

/// Loads a file with rules. Invalid lines have no effect, as in Git.
fn load(dir: &Dir, name: &OsStr) -> Option<Gitignore> {
    let file = OpenedFile::open(dir, name).ok()??;
    let bytes = file.read(MAX_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut rules = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = rules.add_line(None, line);
    }
    rules.build().ok()
}
