//! [`FileMatches`]: the matches of one file, as `grep-searcher` reports them.

use std::io;
use std::ops::Range;

use grep_matcher::{Match, Matcher as _};
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::search_end::SearchEnd;

/// Number of steps between two checks of the time limit: a check takes as long as several matches.
const STEPS: u32 = 256;

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

/// Part of the results that is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultPage {
    pub(super) offset: usize,
    pub(super) limit: usize,
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
    /// Lines that are kept; the lines before are only counted.
    page: ResultPage,
    end: SearchEnd<'m>,
    /// Steps since the last check of the time limit.
    steps: u32,
    pub(super) count: u64,
    /// Number of lines up to now, with the lines that are not kept.
    pub(super) found_lines: usize,
    pub(super) lines: Vec<FoundLine>,
    pub(super) is_binary: bool,
    /// Whether the search ended before the end of the file, and not because the page is full.
    pub(super) has_ended: bool,
    starts_group: bool,
}

impl<'m> FileMatches<'m> {
    pub(super) fn new(
        matcher: &'m RegexMatcher,
        wanted: Wanted,
        width: usize,
        page: ResultPage,
        end: SearchEnd<'m>,
    ) -> Self {
        Self {
            matcher,
            wanted,
            width,
            page,
            end,
            steps: 0,
            count: 0,
            found_lines: 0,
            lines: Vec::new(),
            is_binary: false,
            has_ended: false,
            starts_group: false,
        }
    }

    /// Returns whether the file belongs to the results. An empty match at the end of a file is in a line, and is not counted.
    pub(super) fn is_result(&self) -> bool {
        match self.wanted {
            Wanted::Match | Wanted::Count { .. } => self.count > 0,
            Wanted::Lines { .. } => self.found_lines > 0,
        }
    }

    /// Returns whether the search continues: one line more than the page shows that there are more.
    fn continues(&mut self) -> bool {
        self.steps += 1;
        if self.steps >= STEPS {
            self.steps = 0;
            self.has_ended |= self.end.is_reached();
        }
        !self.has_ended && self.found_lines <= self.page.offset.saturating_add(self.page.limit)
    }

    /// Adds a line. Returns whether the search continues.
    fn push(&mut self, number: u64, line: &[u8], matched: Option<&Range<usize>>, kind: LineKind) -> bool {
        self.found_lines += 1;
        let starts_group = std::mem::take(&mut self.starts_group);
        if self.found_lines > self.page.offset {
            let (text, is_complete) = cut(without_end(line), matched, self.width);
            self.lines.push(FoundLine {
                number,
                text,
                is_match: kind != LineKind::Context,
                starts_group,
                is_complete: is_complete && kind != LineKind::Part,
            });
        }
        self.continues()
    }

    /// Calls a function with the matches in some lines until it returns `false`. As in ripgrep, an empty match after the end of the lines does
    /// not count.
    fn each_match(
        &mut self,
        lines: &[u8],
        is_multiline: bool,
        mut each: impl FnMut(&mut Self, Range<usize>) -> bool,
    ) -> io::Result<()> {
        let content = if is_multiline {
            lines
        } else {
            lines.strip_suffix(b"\n").unwrap_or(lines)
        };
        let matcher = self.matcher;
        let found = |matched: Match| {
            let counts = matched.start() < lines.len();
            self.continues() && (!counts || each(self, matched.start()..matched.end()))
        };
        matcher.find_iter(content, found).map_err(io::Error::other)
    }

    /// Adds matches as lines.
    fn push_matches(&mut self, first: u64, lines: &[u8], is_multiline: bool) -> io::Result<()> {
        // Line feeds are counted once, from match to match.
        let (mut counted, mut number) = (0, first);
        self.each_match(lines, is_multiline, |this, matched| {
            number += line_feeds(lines.get(counted..matched.start).unwrap_or_default());
            counted = matched.start;
            let text = lines.get(matched).unwrap_or_default();
            for (index, part) in text.split(|byte| *byte == b'\n').enumerate() {
                // The end of a match at a line end has no line.
                let is_end = index > 0 && part.is_empty();
                if !is_end && !this.push(number + index as u64, part, None, LineKind::Part) {
                    return false;
                }
            }
            true
        })
    }
}

/// Kind of a line of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Match,
    /// Matched part of a line.
    Part,
    Context,
}

impl Sink for FileMatches<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let is_multiline = searcher.multi_line_with_matcher(self.matcher);
        let number = found.line_number().unwrap_or_default();
        match self.wanted {
            Wanted::Match if is_multiline => self.each_match(found.bytes(), is_multiline, |this, _| {
                this.count = 1;
                false
            })?,
            Wanted::Count { by_match } if by_match || is_multiline => {
                self.each_match(found.bytes(), is_multiline, |this, _| {
                    this.count += 1;
                    true
                })?;
            }
            Wanted::Match | Wanted::Count { .. } => self.count += 1,
            Wanted::Lines { only_matches: true } => self.push_matches(number, found.bytes(), is_multiline)?,
            Wanted::Lines { only_matches: false } => {
                let mut first = None;
                self.each_match(found.bytes(), is_multiline, |_, matched| {
                    first = Some(matched);
                    false
                })?;
                for (index, line) in found.lines().enumerate() {
                    let first = first.as_ref().filter(|_| index == 0);
                    if !self.push(number + index as u64, line, first, LineKind::Match) {
                        break;
                    }
                }
            }
        }
        Ok(self.continues() && (self.wanted != Wanted::Match || self.count == 0))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.wanted == (Wanted::Lines { only_matches: false }) {
            let number = found.line_number().unwrap_or_default();
            return Ok(self.push(number, found.bytes(), None, LineKind::Context));
        }
        Ok(self.continues())
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

#[allow(
    clippy::naive_bytecount,
    reason = "the compiler counts many bytes at once, too"
)]
fn line_feeds(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
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
