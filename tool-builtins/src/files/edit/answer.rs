//! [`EditAnswer`]: the changed lines of a file, with their numbers.

use std::fmt::Write as _;
use std::ops::Range;

use super::apply::Applied;
use super::inexact::Rule;
use crate::workspace::lines::Lines;
use crate::workspace::seen_files::{ChangedLines, Seen};

/// Lines before and after a change that are shown.
const SURROUNDINGS: usize = 4;
/// Maximum number of lines that are shown.
const SHOWN_LINES: usize = 60;
/// Maximum number of characters of a shown line.
const SHOWN_CHARACTERS: usize = 500;
/// Maximum number of line numbers that are named.
const NAMED_LINES: usize = 20;

/// Changes of a file, by lines of the new text.
pub(crate) struct EditAnswer<'a> {
    path: &'a str,
    lines: Lines<'a>,
    /// First and last line of each change, from 0; a deletion has the line after it.
    changes: Vec<Range<usize>>,
}

impl<'a> EditAnswer<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str, changes: &[Range<usize>]) -> Self {
        let lines = Lines::new(text);
        let changes = changes
            .iter()
            .map(|change| {
                let first = lines.index_at(change.start);
                let last = change.end.checked_sub(1).filter(|last| *last >= change.start);
                first..last.map_or(first, |last| lines.index_at(last) + 1)
            })
            .collect();
        Self { path, lines, changes }
    }

    /// Returns the number of lines of the file.
    pub(crate) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Returns the changed lines. The lines between several changes are not known.
    pub(crate) fn changed(&self) -> ChangedLines {
        let ranges = self.changes.iter();
        ChangedLines::new(ranges.map(|change| [change.start + 1, change.end]).collect())
    }

    /// Returns the answer to the model.
    pub(super) fn text(&self, applied: &Applied, seen: Seen) -> String {
        let mut text = format!("edited {}", self.path);
        let numbers: Vec<String> = self
            .changes
            .iter()
            .take(NAMED_LINES)
            .map(|change| (change.start + 1).to_string())
            .collect();
        let more = if self.changes.len() > NAMED_LINES {
            " …"
        } else {
            ""
        };
        let _ = match *numbers {
            [ref line] if self.changes.len() == 1 => write!(text, " at line {line}"),
            _ => write!(
                text,
                " at {} places, lines {}{more}",
                self.changes.len(),
                numbers.join(", ")
            ),
        };
        if applied.rule != Rule::Exact {
            let _ = write!(
                text,
                "\nNote: old_string differed from the file in {}; lines that did not change were kept as in the file.",
                applied.rule.difference()
            );
        }
        if seen == Seen::Before {
            text.push_str("\nNote: the file was changed since it was read; the place of the edit was still the only one.");
        }
        self.show(&mut text);
        text
    }

    /// Appends the changed lines with their surroundings.
    pub(crate) fn show(&self, text: &mut String) {
        let mut next = 0;
        let mut shown = 0;
        for change in &self.changes {
            let first = change.start.saturating_sub(SURROUNDINGS).max(next);
            let last = self.lines.len().min(change.end.max(change.start) + SURROUNDINGS);
            if first > next && next > 0 {
                text.push_str("\n…");
            }
            for index in first..last {
                if shown == SHOWN_LINES {
                    text.push_str("\n…");
                    return;
                }
                let content = self.lines.content(index);
                let cut = content.char_indices().nth(SHOWN_CHARACTERS);
                let content = cut.map_or(content, |(at, _)| content.get(..at).unwrap_or_default());
                let ellipsis = if cut.is_some() { "…" } else { "" };
                let _ = write!(text, "\n{}\t{content}{ellipsis}", index + 1);
                shown += 1;
            }
            next = last.max(next);
        }
    }
}
