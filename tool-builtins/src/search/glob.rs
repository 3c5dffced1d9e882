//! `Glob`: files whose paths match a pattern, newest first.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobMatcher};
use tool_runtime::{CancellationToken, State, ToolError, tool};

use crate::workspace::Workspace;
use crate::workspace::error::ErrorCode;
use crate::workspace::place::{Place, Target};
use crate::workspace::walk::{Walk, WalkCounts, WalkEnd, WalkEntry};

/// Find files by a glob such as `**/*.rs` or `src/**/{a,b}*.ts`, matched against the path below `path`. `*` does not match `/`. Files are
/// listed newest first. Ignored files and folders of version control are left out, unless `path` is such a folder.
#[tool(name = "Glob", read_only, blocking)]
pub fn glob(
    /// The glob, relative to `path`.
    #[arg(not_blank)]
    pattern: String,
    /// Folder to search: absolute, or relative to the workspace, which is the default.
    path: Option<String>,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Result<String, ToolError> {
    let glob = compile(&pattern)?;
    let place = workspace.find(path.as_deref().unwrap_or("."))?;
    match &place.target {
        Target::Directory(_) => {}
        Target::Entry { .. } => {
            return Err(ErrorCode::NotFound.error(format_args!(
                "`{}` is not a folder; `path` is the folder to search",
                place.shown
            )));
        }
        Target::Missing { .. } | Target::DanglingLink => return Err(place.not_found()),
    }
    let limits = workspace.limits();
    let deadline = Instant::now() + Duration::from_secs(limits.search_seconds);
    let mut search = GlobSearch {
        workspace: &workspace,
        place: &place,
        glob,
        found: Vec::new(),
        ignored: 0,
        files: 0,
    };
    let mut walk = Walk::new(&workspace, &cancel, deadline);
    let end = walk.run(&place, &mut |entry| search.visit(entry));
    if end == WalkEnd::Cancelled {
        return Err(ErrorCode::TimedOut.error("the search was stopped"));
    }
    Ok(search.answer(&pattern, walk.counts, end))
}

fn compile(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| {
        ErrorCode::InvalidPattern.error(format_args!(
            "invalid glob `{pattern}`: {}; escape a sign with a backslash, for example `\\[`",
            error.kind()
        ))
    })?;
    if pattern.starts_with('/') {
        return Err(ErrorCode::InvalidPattern.error(format_args!(
            "the glob `{pattern}` is absolute, and is matched against paths below `path`; send the folder as `path`"
        )));
    }
    Ok(glob.compile_matcher())
}

/// Time of the last change; `None` on file systems without times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileTime(Option<SystemTime>);

/// A file that matches.
struct MatchingPath {
    modified: FileTime,
    path: String,
}

struct GlobSearch<'w> {
    workspace: &'w Workspace,
    place: &'w Place,
    glob: GlobMatcher,
    found: Vec<MatchingPath>,
    /// Ignored files that match.
    ignored: usize,
    files: usize,
}

impl GlobSearch<'_> {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> ControlFlow<()> {
        let is_link = entry.kind.is_symlink();
        if !entry.kind.is_file() && !is_link {
            return ControlFlow::Continue(());
        }
        self.files += 1;
        let relative = entry.path.strip_prefix(&self.place.path).unwrap_or(entry.path);
        if !self.glob.is_match(relative) {
            return ControlFlow::Continue(());
        }
        if entry.is_ignored {
            self.ignored += 1;
            return ControlFlow::Continue(());
        }
        let modified = if is_link {
            self.linked_file(entry.path)
        } else {
            modified(entry.parent, entry.name)
        };
        // A link to a folder or to the outside is no file; a file may be gone since it was listed.
        if let Some(modified) = modified {
            self.found.push(MatchingPath {
                modified,
                path: self.place.show(entry.path),
            });
        }
        ControlFlow::Continue(())
    }

    /// Returns the time of the file that a link leads to, if the file is inside.
    fn linked_file(&self, path: &Path) -> Option<FileTime> {
        let place = self.workspace.find(&self.place.show(path)).ok()?;
        match &place.target {
            Target::Entry { parent, name, kind } if kind.is_file() => modified(parent, name),
            _ => None,
        }
    }

    fn answer(mut self, pattern: &str, counts: WalkCounts, end: WalkEnd) -> String {
        let limit = self.workspace.limits().found_paths;
        let total = self.found.len();
        self.found
            .sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        let least = if end == WalkEnd::TimedOut { "at least " } else { "" };
        let mut text = String::new();
        if total == 0 {
            let _ = write!(
                text,
                "no file below `{}` matches `{pattern}` ({least}{} files were compared)",
                self.place.shown, self.files
            );
            if !pattern.contains("**") && !pattern.contains('/') {
                let _ = write!(text, "; `**/{pattern}` also matches in folders");
            }
        }
        for file in self.found.iter().take(limit) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&file.path);
        }
        if total > limit {
            let _ = write!(
                text,
                "\n({limit} of {least}{total} files; send a narrower glob or a `path` for others)"
            );
        } else if end == WalkEnd::TimedOut && total > 0 {
            text.push_str("\n(the time was up; there may be more)");
        }
        if self.ignored > 0 || counts.ignored_folders > 0 {
            let _ = write!(
                text,
                "\n(left out: {} ignored files that match, and {} ignored folders; send an ignored folder as `path` to search it)",
                self.ignored, counts.ignored_folders
            );
        }
        if counts.unreadable > 0 {
            let _ = write!(text, "\n({} folders could not be read)", counts.unreadable);
        }
        text
    }
}

/// Returns the time of the last change of a file; `None` if it is gone.
fn modified(parent: &Dir, name: &OsStr) -> Option<FileTime> {
    let metadata = parent.symlink_metadata(name).ok()?;
    Some(FileTime(
        metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
    ))
}
