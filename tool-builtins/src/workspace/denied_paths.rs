//! [`DeniedPaths`]: globs of paths that no tool may use, or that no tool may write.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Globs on paths below the root. A glob that matches a folder holds for everything in the folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeniedPaths {
    all: GlobSet,
    writing: GlobSet,
}

impl DeniedPaths {
    pub(crate) fn new<S: AsRef<str>>(all: &[S], writing: &[S]) -> Result<Self, globset::Error> {
        Ok(Self {
            all: compile(all)?,
            writing: compile(writing)?,
        })
    }

    /// Returns whether no tool may use the path.
    pub(crate) fn is_denied(&self, path: &Path) -> bool {
        matches_any(&self.all, path)
    }

    /// Returns whether no tool may write the path.
    pub(crate) fn is_write_denied(&self, path: &Path) -> bool {
        matches_any(&self.all, path) || matches_any(&self.writing, path)
    }
}

/// Compiles globs that are matched without regard to case: some file systems do not distinguish `.ENV` from `.env`.
fn compile<S: AsRef<str>>(globs: &[S]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(
            GlobBuilder::new(glob.as_ref())
                .literal_separator(true)
                .case_insensitive(true)
                .build()?,
        );
    }
    set.build()
}

fn matches_any(globs: &GlobSet, path: &Path) -> bool {
    !globs.is_empty()
        && path
            .ancestors()
            .filter(|path| *path != Path::new(""))
            .any(|path| globs.is_match(path))
}

/// Resolves `.` and `..` by the letters of a path; a `..` at the root stays out.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut parts: Vec<&OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    parts.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_of_a_folder_holds_for_its_files() {
        let denied = DeniedPaths::new(&["**/.env*", "secrets"], &["**/.git"]).unwrap();
        for path in [".env", "a/.env.local", "a/.envs/x", "secrets/a/b", "a/.ENV"] {
            assert!(denied.is_denied(Path::new(path)), "{path}");
        }
        for path in ["env", "a/secrets", ".git/config"] {
            assert!(!denied.is_denied(Path::new(path)), "{path}");
        }
        for path in [".git/config", "sub/.git/hooks/pre-commit", "sub/.git", ".env"] {
            assert!(denied.is_write_denied(Path::new(path)), "{path}");
        }
        assert!(!denied.is_write_denied(Path::new(".gitignore")));
    }

    #[test]
    fn dots_are_resolved_by_their_letters() {
        assert_eq!(lexical(Path::new("src/../.env")), Path::new(".env"));
        assert_eq!(lexical(Path::new("./a//b/.")), Path::new("a/b"));
    }
}
