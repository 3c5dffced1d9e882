//! [`DeniedPaths`]: globs of paths that no tool may use, or that no tool may write.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Globs on paths below the root. A glob that matches a folder holds for everything in the folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeniedPaths {
    all: DenyGlobs,
    writing: DenyGlobs,
}

impl DeniedPaths {
    pub(crate) fn new<S: AsRef<str>>(all: &[S], writing: &[S]) -> Result<Self, globset::Error> {
        Ok(Self {
            all: DenyGlobs::new(all)?,
            writing: DenyGlobs::new(writing)?,
        })
    }

    /// Returns whether no tool may use the path.
    pub(crate) fn is_denied(&self, path: &Path) -> bool {
        self.denying_glob(path).is_some()
    }

    /// Returns the glob for which no tool may use the path.
    pub(crate) fn denying_glob(&self, path: &Path) -> Option<&str> {
        self.all.denying_glob(path)
    }

    /// Returns the glob for which no tool may write the path.
    pub(crate) fn write_denying_glob(&self, path: &Path) -> Option<&str> {
        self.denying_glob(path)
            .or_else(|| self.writing.denying_glob(path))
    }
}

/// Globs that deny paths, and exceptions. As in `.gitignore`, the last glob that matches a path decides, and nothing is an exception in a
/// folder that is denied.
#[derive(Debug, Clone, Default)]
struct DenyGlobs {
    set: GlobSet,
    globs: Vec<DenyGlob>,
}

#[derive(Debug, Clone)]
struct DenyGlob {
    text: String,
    is_exception: bool,
}

impl DenyGlobs {
    /// Compiles globs that are matched without regard to case: some file systems do not distinguish `.ENV` from `.env`.
    fn new<S: AsRef<str>>(texts: &[S]) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        let mut globs = Vec::with_capacity(texts.len());
        for text in texts.iter().map(AsRef::as_ref) {
            let exception = text.strip_prefix('!');
            set.add(
                GlobBuilder::new(exception.unwrap_or(text))
                    .literal_separator(true)
                    .case_insensitive(true)
                    .build()?,
            );
            globs.push(DenyGlob {
                text: text.to_owned(),
                is_exception: exception.is_some(),
            });
        }
        let set = set.build()?;
        Ok(Self { set, globs })
    }

    fn denying_glob(&self, path: &Path) -> Option<&str> {
        if self.set.is_empty() {
            return None;
        }
        path.ancestors()
            .filter(|path| *path != Path::new("") && self.set.is_match(path))
            .find_map(|path| {
                let last = self.set.matches(path).into_iter().max()?;
                let glob = self.globs.get(last)?;
                (!glob.is_exception).then_some(glob.text.as_str())
            })
    }
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
            assert!(denied.write_denying_glob(Path::new(path)).is_some(), "{path}");
        }
        assert_eq!(denied.write_denying_glob(Path::new(".gitignore")), None);
    }

    #[test]
    fn last_matching_glob_decides() {
        let globs = ["**/id_*", "secrets", "!**/*.rs", "**/id_b.rs", "{!}x"];
        let denied = DeniedPaths::new(&globs, &[]).unwrap();
        for (path, glob) in [
            ("id_rsa", Some("**/id_*")),
            ("a/id_a.rs", None),
            ("a/id_b.rs", Some("**/id_b.rs")),
            // Nothing in a denied folder is an exception.
            ("secrets/a.rs", Some("secrets")),
            ("id_a/b.rs", Some("**/id_*")),
            ("!x", Some("{!}x")),
            ("x", None),
        ] {
            assert_eq!(denied.denying_glob(Path::new(path)), glob, "{path}");
        }
    }

    #[test]
    fn dots_are_resolved_by_their_letters() {
        assert_eq!(lexical(Path::new("src/../.env")), Path::new(".env"));
        assert_eq!(lexical(Path::new("./a//b/.")), Path::new("a/b"));
    }
}
