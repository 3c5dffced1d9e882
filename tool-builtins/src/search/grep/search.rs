//! [`GrepSearch`]: searches a file, or the files below a folder.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Instant, SystemTime};

use cap_std::fs::Dir;
use grep_regex::RegexMatcher;
use tool_runtime::{CancellationToken, ToolError};

use super::file_matches::{FileMatches, FoundLine, ResultPage, Wanted};
use super::query::{FileFilter, PatternOptions, compile, escape, searcher};
use super::search_end::{EndingMatcher, EndingReader, SearchEnd};
use crate::workspace::Workspace;
use crate::workspace::error::ErrorCode;
use crate::workspace::load::OpenedFile;
use crate::workspace::place::{Place, Target};
use crate::workspace::walk::{Walk, WalkCounts, WalkEnd};

/// A file with matches.
#[derive(Debug)]
pub(super) struct FoundFile {
    /// Path for answers.
    pub(super) shown: String,
    pub(super) modified: Option<SystemTime>,
    pub(super) count: u64,
    pub(super) lines: Vec<FoundLine>,
}

/// Results of a search, and what was not searched.
#[derive(Debug, Default)]
pub(super) struct GrepResults {
    /// Files in the order of their paths.
    pub(super) files: Vec<FoundFile>,
    pub(super) searched: usize,
    pub(super) binary: usize,
    pub(super) too_large: usize,
    /// Files that could not be read, for example because they are gone since they were listed.
    pub(super) unreadable: usize,
    pub(super) skipped: WalkCounts,
    pub(super) has_timed_out: bool,
    /// Number of lines before the page, which are not in `files`.
    pub(super) skipped_lines: usize,
    /// Whether the search ended after the lines of the page.
    pub(super) is_page_full: bool,
}

#[derive(Debug)]
pub(super) struct GrepSearch<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) place: &'w Place,
    pub(super) matcher: RegexMatcher,
    pub(super) options: PatternOptions,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) filter: FileFilter,
    pub(super) wanted: Wanted,
    pub(super) deadline: Instant,
    pub(super) cancel: &'w CancellationToken,
}

impl GrepSearch<'_> {
    /// Searches up to the end of a page of lines, or all files.
    pub(super) fn run(&mut self, page: ResultPage) -> Result<GrepResults, ToolError> {
        let mut found = GrepResults::default();
        match &self.place.target {
            Target::Directory(_) => {}
            Target::Entry { parent, name, kind } if kind.is_file() => {
                self.file(parent, name, &self.place.shown, page, &mut found);
                return match found {
                    _ if self.cancel.is_cancelled() => Err(stopped()),
                    GrepResults { binary: 1, .. } => Err(ErrorCode::Binary.error(format_args!(
                        "`{}` is a binary file, which is not searched",
                        self.place.shown
                    ))),
                    GrepResults { too_large: 1, .. } => Err(ErrorCode::TooLarge.error(format_args!(
                        "`{}` has more than {} bytes, and is not searched",
                        self.place.shown,
                        self.workspace.limits().searched_bytes
                    ))),
                    found => Ok(found),
                };
            }
            Target::Entry { .. } => {
                return Err(ErrorCode::NotAFile.error(format_args!(
                    "`{}` is a device, a pipe or a socket; expected a file or a folder",
                    self.place.shown
                )));
            }
            Target::Missing { .. } | Target::DanglingLink => return Err(self.place.not_found()),
        }
        let mut walk = Walk::new(self.workspace, self.cancel, self.deadline);
        let mut lines = 0;
        let end = walk.run(self.place, &mut |entry| {
            if entry.is_ignored || !entry.kind.is_file() || !self.filter.accepts(self.below(entry.path)) {
                return ControlFlow::Continue(());
            }
            let shown = self.place.show(entry.path);
            let rest = ResultPage {
                offset: page.offset.saturating_sub(lines),
                limit: page.limit,
            };
            lines += self.file(entry.parent, entry.name, &shown, rest, &mut found);
            // One line more than the page shows that there are more.
            if matches!(self.wanted, Wanted::Lines { .. }) && lines > page.offset.saturating_add(page.limit) {
                found.is_page_full = true;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if end == WalkEnd::Cancelled {
            return Err(stopped());
        }
        found.has_timed_out |= end == WalkEnd::TimedOut;
        found.skipped = walk.counts;
        Ok(found)
    }

    /// Returns the part of a path below the searched folder.
    fn below<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.place.path).unwrap_or(path)
    }

    /// Searches a file, and adds its matches. Returns the number of its lines.
    fn file(
        &self,
        parent: &Dir,
        name: &OsStr,
        shown: &str,
        page: ResultPage,
        found: &mut GrepResults,
    ) -> usize {
        let limits = self.workspace.limits();
        let Ok(Some(opened)) = OpenedFile::open(parent, name) else {
            found.unreadable += 1;
            return 0;
        };
        if opened.metadata.len() > limits.searched_bytes {
            found.too_large += 1;
            return 0;
        }
        let end = SearchEnd {
            deadline: self.deadline,
            cancel: self.cancel,
        };
        let modified = opened.metadata.modified().ok();
        let mut matches = FileMatches::new(&self.matcher, self.wanted, limits.found_characters, page, end);
        let mut searcher = searcher(self.options, self.before, self.after);
        let reader = EndingReader {
            reader: opened.file.into_std(),
            end,
        };
        let ending = EndingMatcher {
            matcher: &self.matcher,
            end,
        };
        let end_of_file = searcher.search_reader(&ending, reader, &mut matches);
        let has_ended = matches.has_ended || end_of_file.is_err() && end.is_reached();
        found.has_timed_out |= has_ended;
        if end_of_file.is_err() && !has_ended {
            found.unreadable += 1;
            return 0;
        }
        if matches.is_binary {
            found.binary += 1;
            return 0;
        }
        found.searched += 1;
        // The number of matches in a part of a file would be wrong.
        let is_part = has_ended && matches!(self.wanted, Wanted::Count { .. });
        if is_part || !matches.is_result() {
            return 0;
        }
        let lines = matches.found_lines;
        found.skipped_lines += lines - matches.lines.len();
        found.files.push(FoundFile {
            shown: shown.to_owned(),
            modified: modified.map(cap_std::time::SystemTime::into_std),
            count: matches.count,
            lines: matches.lines,
        });
        lines
    }

    /// Returns the number of files that have the letters of a pattern, if the pattern has signs with another meaning.
    pub(super) fn literal_files(&mut self, pattern: &str) -> Option<usize> {
        let escaped = escape(pattern);
        if escaped == pattern {
            return None;
        }
        self.matcher = compile(&escaped, self.options).ok()?;
        self.wanted = Wanted::Match;
        let page = ResultPage { offset: 0, limit: 1 };
        let found = self.run(page).ok()?;
        (!found.files.is_empty()).then_some(found.files.len())
    }
}

fn stopped() -> ToolError {
    ErrorCode::TimedOut.error("the search was stopped")
}
