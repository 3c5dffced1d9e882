//! `LS`: the names below a folder, breadth first.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tool_runtime::{CancellationToken, State, ToolError, tool};

use crate::workspace::Workspace;
use crate::workspace::error::ErrorCode;
use crate::workspace::ignore_rules::{IgnoreRules, is_version_control};
use crate::workspace::place::{Place, Target};
use crate::workspace::walk::{Walk, names};

/// Number of further names that are counted after the list is full.
const COUNTED: usize = 100_000;
/// Number of folders that are named after the list is full.
const NAMED_FOLDERS: usize = 5;

/// List the files and folders below a folder, nearest first. Names of folders end with `/`, and links show their target. Folders of version
/// control and ignored ones are shown with the number of their entries only.
#[tool(name = "LS", read_only, blocking)]
pub fn list(
    /// The folder: absolute, or relative to the workspace.
    #[arg(default = ".")]
    path: String,
    /// Globs of names or paths to leave out, as in a `.gitignore`.
    ignore: Option<Vec<String>>,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Result<String, ToolError> {
    let place = workspace.find(&path)?;
    let dir = match &place.target {
        Target::Directory(dir) => dir.try_clone(),
        Target::Entry { .. } => {
            return Err(ErrorCode::NotFound.error(format_args!(
                "`{}` is not a folder; send a folder, or use Read for a file",
                place.shown
            )));
        }
        Target::Missing { .. } | Target::DanglingLink => return Err(place.not_found()),
    };
    let dir = dir.map_err(|error| ErrorCode::from_io(&error, &place.shown))?;
    let limits = workspace.limits();
    let deadline = Instant::now() + Duration::from_secs(limits.search_seconds);
    let rules = Walk::new(&workspace, &cancel, deadline).rules_above(&place);
    let mut listing = Listing {
        workspace: &workspace,
        left_out: left_out(&ignore.unwrap_or_default())?,
        place: &place,
        cancel: &cancel,
        deadline,
        text: String::new(),
        characters: 0,
        shown: 0,
        more: BTreeMap::new(),
        counted: 0,
    };
    let mut folders = VecDeque::from([ListedFolder {
        path: place.path.clone(),
        rules,
    }]);
    while let Some(folder) = folders.pop_front() {
        if listing.has_ended() || listing.counted >= COUNTED {
            listing.counted = COUNTED;
            break;
        }
        listing.add(&dir, &folder, &mut folders);
        if listing.has_ended() {
            listing
                .text
                .push_str("\n(the time was up, so names are missing; list a folder further below)");
            listing.counted = COUNTED;
            break;
        }
    }
    if listing.shown == 0 {
        return Ok(format!("`{}` is empty", place.shown));
    }
    Ok(listing.finish())
}

/// A folder whose names have not been listed. The folder is opened when its turn comes, since a process may have only about a thousand
/// open files.
struct ListedFolder {
    path: PathBuf,
    rules: IgnoreRules,
}

/// The answer, and what does not fit into it.
struct Listing<'w> {
    workspace: &'w Workspace,
    left_out: Gitignore,
    /// The listed folder.
    place: &'w Place,
    cancel: &'w CancellationToken,
    deadline: Instant,
    text: String,
    /// Number of characters of the text.
    characters: usize,
    shown: usize,
    /// Number of names that are not shown, by their first folder below the listed one.
    more: BTreeMap<String, usize>,
    counted: usize,
}

impl Listing<'_> {
    fn has_ended(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.deadline
    }

    /// Adds the names of a folder, and its folders to the end of the queue.
    fn add(&mut self, base: &Dir, folder: &ListedFolder, folders: &mut VecDeque<ListedFolder>) {
        let relative = folder.path.strip_prefix(&self.place.path).unwrap_or(&folder.path);
        let listed = open_below(base, relative).and_then(|dir| Ok((names(&dir, || self.has_ended())?, dir)));
        let Ok((names, dir)) = listed else {
            return self.line(
                &folder.path,
                &format!("{}/ (cannot be listed)", self.place.show(&folder.path)),
            );
        };
        let rules = folder
            .rules
            .enter(&dir, &folder.path, names.iter().map(|(name, _)| name.as_os_str()));
        for (name, kind) in names {
            let path = folder.path.join(&name);
            let relative = path.strip_prefix(&self.place.path).unwrap_or(&path);
            let is_left_out = self.left_out.matched(relative, kind.is_dir()).is_ignore();
            if is_left_out || self.workspace.is_denied(&path) {
                continue;
            }
            let name_shown = self.place.show(&path);
            if kind.is_symlink() {
                let target = dir.read_link_contents(&name);
                let target = target.map_or_else(|_| "?".to_owned(), |target| target.display().to_string());
                self.line(&path, &format!("{name_shown} -> {target}"));
            } else if kind.is_dir() {
                let is_version_control = is_version_control(&name);
                if is_version_control || rules.is_ignored(&path, true) {
                    let count = dir
                        .open_dir_nofollow(&name)
                        .and_then(|dir| Ok(dir.entries()?.take(COUNTED).count()))
                        .unwrap_or_default();
                    let reason = if is_version_control {
                        "version control"
                    } else {
                        "ignored"
                    };
                    self.line(&path, &format!("{name_shown}/ ({reason}, {count} entries)"));
                    continue;
                }
                self.line(&path, &format!("{name_shown}/"));
                folders.push_back(ListedFolder {
                    path,
                    rules: rules.clone(),
                });
            } else {
                let note = if rules.is_ignored(&path, false) {
                    " (ignored)"
                } else {
                    ""
                };
                self.line(&path, &format!("{name_shown}{note}"));
            }
        }
    }

    /// Appends a line, or counts the name if the list is full.
    fn line(&mut self, path: &Path, line: &str) {
        let limits = self.workspace.limits();
        let is_full = self.shown >= limits.listed_entries
            || self.characters + line.chars().count() > limits.listed_characters;
        if is_full || !self.more.is_empty() {
            let relative = path.strip_prefix(&self.place.path).unwrap_or(path);
            let mut components = relative.components();
            let first = components
                .next()
                .map(|name| name.as_os_str().to_string_lossy().into_owned());
            let first = if components.next().is_some() {
                first.unwrap_or_default() + "/"
            } else {
                ".".to_owned()
            };
            *self.more.entry(first).or_default() += 1;
            self.counted += 1;
            return;
        }
        self.shown += 1;
        self.characters += line.chars().count() + 1;
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    fn finish(mut self) -> String {
        if !self.more.is_empty() {
            let total: usize = self.more.values().sum();
            let mut folders: Vec<(&String, &usize)> = self.more.iter().collect();
            folders.sort_by(|(_, a), (_, b)| b.cmp(a));
            let named: Vec<String> = folders
                .iter()
                .take(NAMED_FOLDERS)
                .map(|(folder, count)| format!("{folder} ({count})"))
                .collect();
            let least = if self.counted >= COUNTED { "at least " } else { "" };
            let more = if folders.len() > NAMED_FOLDERS { " …" } else { "" };
            let _ = write!(
                self.text,
                "\n({least}{total} more, in {}{more}; list one of these folders, or leave names out with `ignore`)",
                named.join(", ")
            );
        }
        self.text
    }
}

/// Opens a folder below another one, without following links.
fn open_below(base: &Dir, path: &Path) -> io::Result<Dir> {
    path.components()
        .try_fold(base.try_clone()?, |dir, name| dir.open_dir_nofollow(name))
}

fn left_out(globs: &[String]) -> Result<Gitignore, ToolError> {
    let mut rules = GitignoreBuilder::new("");
    for glob in globs {
        rules.add_line(None, glob).map_err(|error| {
            ErrorCode::InvalidPattern.error(format_args!("invalid glob `{glob}`: {error}"))
        })?;
    }
    rules
        .build()
        .map_err(|error| ErrorCode::InvalidPattern.error(format_args!("invalid glob: {error}")))
}
