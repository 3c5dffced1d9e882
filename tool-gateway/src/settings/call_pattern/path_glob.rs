//! [`PathGlob`]: paths below the workspace to which a permission rule applies.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// Glob of paths below the root of the workspace.
#[derive(Debug, Clone)]
pub(super) struct PathGlob {
    /// For rules that allow calls.
    exact: GlobMatcher,
    /// For other rules: some file systems do not distinguish letters by case. As in `.gitignore`, a glob without `/` matches at any depth.
    broad: GlobMatcher,
    /// The first folders of `broad`, up to the first name with a wildcard, in lower case.
    literal_folders: Vec<String>,
}

impl PathGlob {
    /// Parses a glob of paths below the root. `./` and `/` before it are the root, too.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("//") || text.starts_with('~') {
            return Err(
                "a glob of paths below the workspace, such as `src/**`; `//` and `~` are outside of it"
                    .to_owned(),
            );
        }
        let glob = text.strip_prefix("./").or(text.strip_prefix('/')).unwrap_or(text);
        let build = |glob: &str, is_any_case| {
            let glob = GlobBuilder::new(glob)
                .literal_separator(true)
                .case_insensitive(is_any_case)
                .build();
            glob.map(|glob| glob.compile_matcher())
                .map_err(|error| format!("a glob of paths: {error}"))
        };
        // A folder is written as `secrets/`, too.
        let folder = glob.strip_suffix('/').unwrap_or(glob);
        let broad = if text.contains('/') && !folder.is_empty() {
            folder.to_owned()
        } else {
            format!("**/{folder}")
        };
        let is_literal = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
        Ok(Self {
            exact: build(glob, false)?,
            broad: build(&broad, true)?,
            literal_folders: broad
                .split('/')
                .take_while(is_literal)
                .map(str::to_lowercase)
                .collect(),
        })
    }

    /// Returns the glob that restricts reads, as tools that list and search folders leave out its paths.
    pub(super) fn reader_glob(&self) -> &str {
        self.broad.glob().glob()
    }

    /// Returns whether the glob matches a path, or everything in a folder.
    pub(super) fn allows(&self, path: &Path, is_folder: bool) -> bool {
        self.exact.is_match(path) || is_folder && self.exact.is_match(path.join(ANY_NAME).join(ANY_NAME))
    }

    /// Returns whether the glob matches a path, a folder that contains the path, or everything in a folder.
    pub(super) fn restricts(&self, path: &Path, is_folder: bool) -> bool {
        let mut folders = path.ancestors().filter(|path| *path != Path::new(""));
        folders.any(|path| self.broad.is_match(path)) || is_folder && self.broad.is_match(path.join(ANY_NAME))
    }

    /// Returns whether the glob may match a path in a folder.
    pub(super) fn may_match_below(&self, folder: &Path) -> bool {
        let names = folder.components().map(|name| name.as_os_str().to_string_lossy());
        names
            .zip(&self.literal_folders)
            .all(|(name, literal)| name.to_lowercase() == *literal)
    }
}

/// Name that a glob matches only if it matches any name.
const ANY_NAME: &str = "\u{1}";
