//! [`Subject`]: the argument of a call to which patterns apply, with its links followed.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// Tools whose path is a folder, which they list or search.
pub(super) const LISTING: [&str; 3] = ["LS", "Glob", "Grep"];

/// Argument of a call to which patterns apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Command(String),
    /// Paths below the root of the workspace: as the model wrote the path, and after links were followed.
    Paths(Vec<PathBuf>),
    /// The tool has no such argument.
    None,
}

impl Subject {
    /// Returns the argument of a call to which patterns apply: `command`, or a path below the root.
    pub(crate) fn new<'v>(
        tool: &str,
        root: Option<&Path>,
        argument: impl Fn(&str) -> Option<&'v Value>,
    ) -> Self {
        let text = |name| argument(name).and_then(Value::as_str);
        if tool == "Bash" {
            return text("command").map_or(Self::None, |command| Self::Command(command.to_owned()));
        }
        let path = if LISTING.contains(&tool) {
            Some(text("path").unwrap_or(""))
        } else {
            text("file_path").or_else(|| text("notebook_path"))
        };
        match (root, path) {
            (Some(root), Some(path)) => Self::Paths(paths(root, path)),
            _ => Self::None,
        }
    }
}

/// Returns a path below the root in two forms, the sent one and the one without links. Paths outside of the root are left out, since the tools
/// refuse them.
fn paths(root: &Path, sent: &str) -> Vec<PathBuf> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let absolute = root.join(sent);
    let below = |path: &Path| path.strip_prefix(&root).map(Path::to_owned).ok();
    let mut found: Vec<_> = below(&lexical(&absolute)).into_iter().collect();
    if let Some(path) = below(&resolved(&absolute))
        && !found.contains(&path)
    {
        found.push(path);
    }
    found
}

/// Follows the links of a path. The last parts of the path may not exist.
fn resolved(path: &Path) -> PathBuf {
    let mut folder = path;
    loop {
        if let Ok(found) = folder.canonicalize() {
            let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
            return lexical(&found.join(rest));
        }
        match folder.parent() {
            Some(parent) => folder = parent,
            None => return lexical(path),
        }
    }
}

/// Removes `.` and `..` from a path, by its letters.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = clean.pop(),
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn paths_are_found_as_sent_and_after_links() {
        let root = std::env::temp_dir().join(format!("tool-gateway-paths-{}", std::process::id()));
        std::fs::create_dir_all(root.join("secret")).unwrap();
        std::fs::write(root.join("secret/key"), "").unwrap();
        std::os::unix::fs::symlink("secret", root.join("link")).unwrap();
        let subject =
            |tool: &str, arguments: Value| Subject::new(tool, Some(&root), |name| arguments.get(name));
        let paths = |all: &[&str]| Subject::Paths(all.iter().map(Into::into).collect());
        let absolute = root.join("secret/key");
        for (tool, arguments, expected) in [
            (
                "Read",
                json!({ "file_path": "a/../secret/./key" }),
                paths(&["secret/key"]),
            ),
            (
                "Read",
                json!({ "file_path": "link/key" }),
                paths(&["link/key", "secret/key"]),
            ),
            (
                "Write",
                json!({ "file_path": "link/new/file" }),
                paths(&["link/new/file", "secret/new/file"]),
            ),
            ("Edit", json!({ "file_path": absolute }), paths(&["secret/key"])),
            ("Edit", json!({ "file_path": "/etc/passwd" }), paths(&[])),
            ("Grep", json!({ "pattern": "x" }), paths(&[""])),
            ("LS", json!({ "path": "link" }), paths(&["link", "secret"])),
            (
                "NotebookEdit",
                json!({ "notebook_path": "a.ipynb" }),
                paths(&["a.ipynb"]),
            ),
            (
                "Bash",
                json!({ "command": "ls" }),
                Subject::Command("ls".to_owned()),
            ),
            ("TodoWrite", json!({}), Subject::None),
        ] {
            assert_eq!(subject(tool, arguments.clone()), expected, "{tool} {arguments}");
        }
        std::fs::remove_dir_all(root).unwrap();
    }
}
