//! [`FileMatches`]: the matches of one file, as `grep-searcher` reports them.

use std::io;
use std::ops::Range;

use grep_matcher::{Match, Matcher as _};
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Whether there is a match.
    Match,
    /// The number of matching lines, or of matches.
    Count { by_match: bool },
    /// The lines, or only their matches.
    Lines { only_matches: bool },
}

/// A line of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundLine {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) is_match: bool,
    /// Whether the line does not follow the line before, so that a `--` is between them.
    pub(super) starts_group: bool,
    /// Whether the text is the complete line of the file.
    pub(super) is_complete: bool,
}

/// Matches of one file.
#[derive(Debug)]
pub(super) struct FileMatches<'m> {
    matcher: &'m RegexMatcher,
    wanted: Wanted,
    /// Maximum number of characters of a line.
    width: usize,
    /// Maximum number of lines.
    max_lines: usize,
    pub(super) count: u64,
    pub(super) lines: Vec<FoundLine>,
    pub(super) is_binary: bool,
    starts_group: bool,
}

impl<'m> FileMatches<'m> {
    pub(super) fn new(matcher: &'m RegexMatcher, wanted: Wanted, width: usize, max_lines: usize) -> Self {
        Self {
            matcher,
            wanted,
            width,
            max_lines,
            count: 0,
            lines: Vec::new(),
            is_binary: false,
            starts_group: false,
        }
    }

    /// Returns whether the file belongs to the results. An empty match at the end of a file is in a line, and is not counted.
    pub(super) fn is_result(&self) -> bool {
        match self.wanted {
            Wanted::Match | Wanted::Count { .. } => self.count > 0,
            Wanted::Lines { .. } => !self.lines.is_empty(),
        }
    }

    fn push(&mut self, number: u64, line: &[u8], matched: Option<&Range<usize>>, is_match: bool) {
        let line = without_end(line);
        let (text, is_complete) = cut(line, matched, self.width);
        self.lines.push(FoundLine {
            number,
            text,
            is_match,
            starts_group: std::mem::take(&mut self.starts_group),
            is_complete,
        });
    }

    /// Finds the matches in some lines, as ripgrep does: an empty match after the end of the lines does not count.
    fn matches(&self, lines: &[u8], is_multiline: bool) -> io::Result<Vec<Range<usize>>> {
        let content = if is_multiline {
            lines
        } else {
            lines.strip_suffix(b"\n").unwrap_or(lines)
        };
        let mut found = Vec::new();
        let collect = |matched: Match| {
            found.push(matched.start()..matched.end());
            true
        };
        self.matcher
            .find_iter(content, collect)
            .map_err(io::Error::other)?;
        found.retain(|matched| matched.start < lines.len());
        Ok(found)
    }

    /// Adds matches as lines.
    fn push_matches(&mut self, first: u64, lines: &[u8], matches: &[Range<usize>]) {
        for matched in matches {
            let before = lines.get(..matched.start).unwrap_or_default();
            let number = first + count_lines(before);
            let text = lines.get(matched.clone()).unwrap_or_default();
            for (index, part) in text.split(|byte| *byte == b'\n').enumerate() {
                // The end of a match at a line end has no line.
                let is_last = index > 0 && part.is_empty();
                if !is_last {
                    self.push(number + index as u64, part, None, true);
                    if let Some(line) = self.lines.last_mut() {
                        line.is_complete = false;
                    }
                }
            }
        }
    }
}

impl Sink for FileMatches<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let is_multiline = searcher.multi_line_with_matcher(self.matcher);
        let matches = self.matches(found.bytes(), is_multiline)?;
        let by_match = is_multiline || self.wanted == Wanted::Count { by_match: true };
        self.count += if by_match { matches.len() as u64 } else { 1 };
        let number = found.line_number().unwrap_or_default();
        match self.wanted {
            Wanted::Match => return Ok(matches.is_empty()),
            Wanted::Count { .. } => {}
            Wanted::Lines { only_matches: true } => self.push_matches(number, found.bytes(), &matches),
            Wanted::Lines { only_matches: false } => {
                for (index, line) in found.lines().enumerate() {
                    let first = matches.first().filter(|_| index == 0);
                    self.push(number + index as u64, line, first, true);
                }
            }
        }
        Ok(self.lines.len() <= self.max_lines)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.wanted == (Wanted::Lines { only_matches: false }) {
            self.push(
                found.line_number().unwrap_or_default(),
                found.bytes(),
                None,
                false,
            );
        }
        Ok(self.lines.len() <= self.max_lines)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.starts_group = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').count() as u64 - 1
}

/// Returns a line without its ending; a CR before it is not shown.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns a line as text, and whether it is complete. A long line is cut to the characters near its match.
fn cut(line: &[u8], matched: Option<&Range<usize>>, width: usize) -> (String, bool) {
    let text = String::from_utf8_lossy(line);
    let count = text.chars().count();
    if count <= width {
        let is_complete = !text.contains('\u{fffd}');
        return (text.into_owned(), is_complete);
    }
    let start = matched.map_or(0, |matched| {
        let before = line.get(..matched.start).unwrap_or_default();
        String::from_utf8_lossy(before).chars().count()
    });
    // A third of the width is before the match.
    let from = start.saturating_sub(width / 3).min(count - width);
    let shown: String = text.chars().skip(from).take(width).collect();
    let (before, after) = (
        if from > 0 { "…" } else { "" },
        if from + width < count { "…" } else { "" },
    );
    (format!("{before}{shown}{after}"), false)
}
