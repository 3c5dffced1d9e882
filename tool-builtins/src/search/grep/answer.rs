//! [`GrepAnswer`]: pages of results.

use std::fmt::Write as _;

use super::file_matches::ResultPage;
use super::query::escape;
use super::search::{FoundFile, GrepResults};
use crate::workspace::Workspace;
use crate::workspace::lines::Lines;
use crate::workspace::place::Place;
use crate::workspace::seen_files::{FileDigest, SeenFiles};
use crate::workspace::text::FileText;

/// Results of a search, as a page.
pub(super) struct GrepAnswer<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) place: &'a Place,
    pub(super) found: &'a GrepResults,
    pub(super) page: ResultPage,
    pub(super) has_context: bool,
    pub(super) line_numbers: bool,
}

/// A page, and the lines of files on it.
pub(super) struct ShownPage {
    pub(super) text: String,
    /// Index of a file, and index of its line.
    lines: Vec<(usize, usize)>,
}

impl GrepAnswer<'_> {
    /// Returns lines as `path:line:text`, with `-` for lines of the context, and `--` between groups.
    pub(super) fn content(&self) -> ShownPage {
        let mut shown = ShownPage {
            text: String::new(),
            lines: Vec::new(),
        };
        let all = self.found.files.iter().enumerate();
        let all = all.flat_map(|(at, file)| (0..file.lines.len()).map(move |line| (at, line)));
        let max_bytes = self.workspace.limits().found_bytes;
        let mut has_more = self.found.is_page_full;
        for (at, line) in all.skip(self.page.offset - self.found.skipped_lines) {
            let Some((file, found)) = self
                .found
                .files
                .get(at)
                .and_then(|file| Some((file, file.lines.get(line)?)))
            else {
                continue;
            };
            if shown.lines.len() == self.page.limit
                || shown.text.len() + found.text.len() + file.shown.len() > max_bytes
            {
                has_more = true;
                break;
            }
            if !shown.text.is_empty() {
                let is_new_group = self.has_context && (line == 0 || found.starts_group);
                shown.text.push_str(if is_new_group { "\n--\n" } else { "\n" });
            }
            let separator = if found.is_match { ':' } else { '-' };
            let _ = write!(shown.text, "{}{separator}", file.shown);
            if self.line_numbers {
                let _ = write!(shown.text, "{}{separator}", found.number);
            }
            shown.text.push_str(&found.text);
            shown.lines.push((at, line));
        }
        self.finish(&mut shown, has_more, "lines");
        shown
    }

    /// Returns the paths of files, newest first.
    pub(super) fn paths(&self) -> ShownPage {
        self.files(|file| file.shown.clone())
    }

    /// Returns `path:count`, newest files first.
    pub(super) fn counts(&self) -> ShownPage {
        self.files(|file| format!("{}:{}", file.shown, file.count))
    }

    fn files(&self, line: impl Fn(&FoundFile) -> String) -> ShownPage {
        let mut files: Vec<&FoundFile> = self.found.files.iter().collect();
        files.sort_by(|a, b| {
            b.modified
                .cmp(&a.modified)
                .then_with(|| a.shown.as_bytes().cmp(b.shown.as_bytes()))
        });
        let mut shown = ShownPage {
            text: String::new(),
            lines: Vec::new(),
        };
        let max_bytes = self.workspace.limits().found_bytes;
        let mut has_more = false;
        for (at, file) in files.iter().enumerate().skip(self.page.offset) {
            let line = line(file);
            if shown.lines.len() == self.page.limit || shown.text.len() + line.len() > max_bytes {
                has_more = true;
                break;
            }
            if !shown.text.is_empty() {
                shown.text.push('\n');
            }
            shown.text.push_str(&line);
            shown.lines.push((at, 0));
        }
        self.finish(&mut shown, has_more, &format!("of {} files", files.len()));
        shown
    }

    /// Appends how to continue, and what is missing.
    fn finish(&self, shown: &mut ShownPage, has_more: bool, noun: &str) {
        let (first, count) = (self.page.offset, shown.lines.len());
        if count == 0 {
            let _ = write!(shown.text, "no more results at `offset` {first}");
        } else if has_more {
            let next = first + count;
            let _ = write!(
                shown.text,
                "\n(results {} to {next} {noun}; continue with `offset` {next})",
                first + 1
            );
        }
        if self.found.has_timed_out {
            shown
                .text
                .push_str("\n(the time was up, so files are missing; search a `path` or a `glob`)");
        }
        if self.found.too_large > 0 {
            let _ = write!(
                shown.text,
                "\n({} files are too large and were not searched)",
                self.found.too_large
            );
        }
    }

    /// Returns the answer of a search without a match.
    pub(super) fn nothing(&self, pattern: &str, literal_files: impl FnOnce() -> Option<usize>) -> String {
        let GrepResults {
            searched,
            binary,
            too_large,
            unreadable,
            skipped,
            has_timed_out,
            ..
        } = self.found;
        let mut text = format!("no match in {searched} files of `{}`", self.place.shown);
        let parts = [
            (skipped.ignored_files, "ignored files"),
            (skipped.ignored_folders, "ignored folders"),
            (*binary, "binary files"),
            (*too_large, "files that are too large"),
            (
                *unreadable + skipped.unreadable,
                "files and folders that cannot be read",
            ),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, noun)| format!("{count} {noun}")).collect();
        if !parts.is_empty() {
            let _ = write!(text, " (not searched: {})", parts.join(", "));
        }
        if *has_timed_out {
            text.push_str("\n(the time was up, so files are missing; search a `path` or a `glob`)");
        } else if let Some(files) = literal_files() {
            let _ = write!(
                text,
                "\nAs text, the pattern is in {files} files; send `{}`",
                escape(pattern)
            );
        }
        text
    }

    /// Records the shown lines for the session, for edits of these files.
    pub(super) fn record(&self, shown: &ShownPage, seen: &mut SeenFiles) {
        for (at, file) in self.found.files.iter().enumerate() {
            let lines = shown.lines.iter().filter(|(of, _)| *of == at);
            let lines: Vec<_> = lines.filter_map(|(_, line)| file.lines.get(*line)).collect();
            if lines.is_empty() {
                continue;
            }
            let Ok(loaded) = self
                .workspace
                .find(&file.shown)
                .and_then(|place| place.load(self.workspace.limits().counted_bytes))
            else {
                continue;
            };
            let digest = FileDigest::new(&loaded.bytes);
            let Ok(text) = FileText::decode(loaded.bytes, self.workspace.legacy_encoding()) else {
                continue;
            };
            let all = Lines::new(&text.text);
            // The file may have changed since it was searched.
            let ranges: Vec<[usize; 2]> = lines
                .iter()
                .filter_map(|line| Some((usize::try_from(line.number).ok()?, line)))
                .filter(|(number, line)| {
                    *number > 0 && line.is_complete && all.content(number - 1) == line.text
                })
                .map(|(number, _)| [number, number])
                .collect();
            if !ranges.is_empty() {
                seen.record(&file.shown, digest, all.len(), &ranges);
            }
        }
    }
}
