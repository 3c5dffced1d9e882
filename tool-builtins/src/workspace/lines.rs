//! [`Lines`]: the lines of a text with their endings, and [`View`], the text as the model sees it.

use std::borrow::Cow;
use std::ops::Range;

/// A line of a text; a lone CR is part of the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) start: usize,
    /// End of the content, where the ending begins.
    pub(crate) end: usize,
    /// Start of the next line.
    pub(crate) next: usize,
}

/// The lines of a text of up to 4 GiB.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    pub(crate) text: &'t str,
    /// Starts of the lines. A file may consist of line ends, so a line costs four bytes and no more.
    starts: Vec<u32>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let line_feeds = || text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut starts = Vec::with_capacity(line_feeds().count() + 1);
        let ends = line_feeds().map(|(at, _)| at + 1);
        let starts_below = std::iter::once(0).chain(ends).filter(|start| *start < text.len());
        // `MAX_LOADED` keeps the positions below 4 GiB.
        starts.extend(starts_below.map_while(|start| u32::try_from(start).ok()));
        Self { text, starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    fn start(&self, index: usize) -> Option<usize> {
        self.starts.get(index).map(|start| *start as usize)
    }

    /// Returns a line, counted from 0.
    pub(crate) fn get(&self, index: usize) -> Option<Line> {
        let start = self.start(index)?;
        let next = self.start(index + 1).unwrap_or(self.text.len());
        let line = self.text.get(start..next)?;
        let content = line
            .strip_suffix('\n')
            .map_or(line, |content| content.strip_suffix('\r').unwrap_or(content));
        Some(Line {
            start,
            end: start + content.len(),
            next,
        })
    }

    /// Returns the content of a line, counted from 0; empty for a line that does not exist.
    pub(crate) fn content(&self, index: usize) -> &'t str {
        let line = self.get(index);
        line.and_then(|line| self.text.get(line.start..line.end))
            .unwrap_or_default()
    }

    /// Returns the ending of a line; empty for a last line without an ending.
    pub(crate) fn ending(&self, index: usize) -> &'t str {
        let line = self.get(index);
        line.and_then(|line| self.text.get(line.end..line.next))
            .unwrap_or_default()
    }

    /// Returns the index of the line that contains a position; the number of lines for a position after the last ending.
    pub(crate) fn index_at(&self, position: usize) -> usize {
        if position >= self.text.len() {
            return self.len();
        }
        let starts = self.starts.partition_point(|start| *start as usize <= position);
        starts.saturating_sub(1)
    }

    /// Returns the ending for a new line at a position: of its line, of the line before, or of the first line.
    pub(crate) fn ending_at(&self, position: usize) -> &'t str {
        let index = self.index_at(position);
        [Some(index), index.checked_sub(1), Some(0)]
            .into_iter()
            .flatten()
            .map(|index| self.ending(index))
            .find(|ending| !ending.is_empty())
            .unwrap_or("\n")
    }
}

/// A text with CRLF as LF, and the positions in the text.
#[derive(Debug)]
pub(crate) struct View<'t> {
    pub(crate) text: Cow<'t, str>,
    /// Positions in the view of the line feeds whose CR is left out.
    removed: Vec<u32>,
}

impl<'t> View<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        if !text.contains("\r\n") {
            return Self {
                text: Cow::Borrowed(text),
                removed: Vec::new(),
            };
        }
        let mut view = String::with_capacity(text.len());
        let mut removed = Vec::with_capacity(text.matches("\r\n").count());
        for (index, part) in text.split("\r\n").enumerate() {
            if index > 0 {
                removed.push(u32::try_from(view.len()).unwrap_or(u32::MAX));
                view.push('\n');
            }
            view.push_str(part);
        }
        Self {
            text: Cow::Owned(view),
            removed,
        }
    }

    /// Returns the position in the text of a position in the view.
    fn position(&self, position: usize) -> usize {
        position
            + self
                .removed
                .partition_point(|removed| (*removed as usize) < position)
    }

    /// Returns the range in the text of a range in the view.
    pub(crate) fn range(&self, range: &Range<usize>) -> Range<usize> {
        self.position(range.start)..self.position(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_a_view_are_positions_of_the_text() {
        let text = "a\r\nb\nc\r\r\nd\r";
        let view = View::new(text);
        assert_eq!(view.text, "a\nb\nc\r\nd\r");
        for (part, range) in [("a", 0..1), ("a\n", 0..2), ("b\nc\r\n", 2..7), ("\n", 1..2)] {
            let in_text = &text[view.range(&range)];
            assert_eq!(in_text.replace("\r\n", "\n"), part, "{range:?}");
        }
        let lines = Lines::new(text);
        let contents: Vec<_> = (0..lines.len())
            .map(|at| (lines.content(at), lines.ending(at)))
            .collect();
        assert_eq!(
            contents,
            [("a", "\r\n"), ("b", "\n"), ("c\r", "\r\n"), ("d\r", "")]
        );
        assert_eq!(lines.ending_at(3), "\n");
        assert_eq!(lines.ending_at(text.len()), "\r\n");
        assert_eq!(Lines::new("").ending_at(0), "\n");
    }
}
