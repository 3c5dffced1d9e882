//! [`Splice`]: writes only the lines in which the new text of an edit differs from the quoted text.

use std::borrow::Cow;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::workspace::lines::Lines;

/// Product of numbers of lines up to which common lines between two changes are found. Longer texts have a common start and end.
const MAX_DIFF: usize = 16_000_000;

/// Lines of the quoted text that differ from lines of the new text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hunk {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

impl Hunk {
    /// Finds the hunks of two texts, each with its lines including their line feeds.
    pub(super) fn find(old: &[&str], new: &[&str]) -> Vec<Self> {
        let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let rest = old.len().min(new.len()) - start;
        let pairs = old.iter().rev().zip(new.iter().rev());
        let end = pairs.take(rest).take_while(|(old, new)| old == new).count();
        let whole = Self {
            old: start..old.len() - end,
            new: start..new.len() - end,
        };
        if whole.old.is_empty() && whole.new.is_empty() {
            return Vec::new();
        }
        if whole.old.len().saturating_mul(whole.new.len()) > MAX_DIFF {
            return vec![whole];
        }
        let middle = |lines: &[&'_ str], range: &Range<usize>| -> Vec<String> {
            let lines = lines.get(range.clone()).unwrap_or_default();
            lines.iter().map(|line| (*line).to_owned()).collect()
        };
        let (old, new) = (middle(old, &whole.old), middle(new, &whole.new));
        let mut hunks = Vec::new();
        let mut open = Self { old: 0..0, new: 0..0 };
        for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
            let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = operation
            else {
                continue;
            };
            open.end_at(old_index, new_index, &mut hunks);
            open = Self {
                old: old_index + len..old_index + len,
                new: new_index + len..new_index + len,
            };
        }
        open.end_at(old.len(), new.len(), &mut hunks);
        let shift = |range: &Range<usize>| range.start + start..range.end + start;
        let shifted = hunks.iter().map(|hunk| Self {
            old: shift(&hunk.old),
            new: shift(&hunk.new),
        });
        shifted.collect()
    }

    /// Ends the open hunk at these lines, and adds it unless it is empty.
    fn end_at(&mut self, old: usize, new: usize, hunks: &mut Vec<Self>) {
        self.old.end = old;
        self.new.end = new;
        if !self.old.is_empty() || !self.new.is_empty() {
            hunks.push(self.clone());
        }
    }

    /// Returns the old line at the place of a new one, if the hunk has equally many of both.
    pub(super) fn pair(&self, new: usize) -> Option<usize> {
        let is_even = self.old.len() == self.new.len();
        is_even.then(|| self.old.start + (new - self.new.start))
    }
}

/// Returns the lines of a text, each with its line feed.
pub(super) fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A place of an edit.
#[derive(Debug)]
pub(super) struct Splice<'a> {
    pub(super) lines: &'a Lines<'a>,
    /// Bytes in the file of each quoted line.
    pub(super) quoted: Vec<Range<usize>>,
    pub(super) hunks: &'a [Hunk],
    /// New lines, each with its line feed.
    pub(super) new: &'a [Cow<'a, str>],
}

impl Splice<'_> {
    /// Returns the changed bytes of the file.
    pub(super) fn changed(&self) -> Range<usize> {
        let first = self.hunks.first().map(|hunk| self.range(&hunk.old).start);
        let last = self.hunks.last().map(|hunk| self.range(&hunk.old).end);
        first.unwrap_or_default()..last.unwrap_or_default()
    }

    /// Returns the bytes in the file of some quoted lines; an empty range is before its line.
    fn range(&self, old: &Range<usize>) -> Range<usize> {
        let end = self.quoted.last().map_or(0, |range| range.end);
        let start = self.quoted.get(old.start).map_or(end, |range| range.start);
        let last = old.end.checked_sub(1).filter(|_| !old.is_empty());
        let stop = last
            .and_then(|last| self.quoted.get(last))
            .map_or(start, |range| range.end);
        start..stop
    }

    /// Appends the text of the place with its changes: lines that both texts have keep the bytes of the file.
    pub(super) fn write(&self, text: &mut String) {
        let mut written = self.changed().start;
        for hunk in self.hunks {
            let range = self.range(&hunk.old);
            text.push_str(self.lines.text.get(written..range.start).unwrap_or_default());
            written = range.end;
            let ending = self.lines.ending_at(range.start);
            for line in self.new.get(hunk.new.clone()).unwrap_or_default() {
                match line.strip_suffix('\n') {
                    None => text.push_str(line),
                    Some(line) => {
                        text.push_str(line);
                        text.push_str(ending);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_leave_common_lines_out() {
        let hunks = |old: &str, new: &str| -> Vec<(Range<usize>, Range<usize>)> {
            let found = Hunk::find(&lines_of(old), &lines_of(new));
            found.into_iter().map(|hunk| (hunk.old, hunk.new)).collect()
        };
        assert_eq!(hunks("a\nb\nc", "a\nB\nc"), [(1..2, 1..2)]);
        assert_eq!(hunks("a\nb\nc\nd", "A\nb\nc\nD\nE"), [(0..1, 0..1), (3..4, 3..5)]);
        assert_eq!(hunks("a\nc", "a\nb\nc"), [(1..1, 1..2)]);
        assert_eq!(hunks("a\nb\n", ""), [(0..2, 0..0)]);
        assert_eq!(hunks("a", "a"), []);
        assert_eq!(hunks("", "a"), [(0..0, 0..1)]);
    }
}
