//! [`SearchEnd`]: conditions that end a search early, between two files and within a file.

use std::io;
use std::time::Instant;

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher};
use grep_regex::{RegexCaptures, RegexMatcher};
use tool_runtime::CancellationToken;

/// Deadline and cancellation of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchEnd<'m> {
    pub(super) deadline: Instant,
    pub(super) cancel: &'m CancellationToken,
}

impl SearchEnd<'_> {
    /// Returns whether the call was cancelled, or the time is up.
    pub(super) fn is_reached(self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.deadline
    }

    fn check(self) -> io::Result<()> {
        if self.is_reached() {
            return Err(io::Error::other("the search has ended"));
        }
        Ok(())
    }
}

/// Reader that fails when the search has ended. Each read is checked, since reading takes most of the time between two matches.
#[derive(Debug)]
pub(super) struct EndingReader<'m, R> {
    pub(super) reader: R,
    pub(super) end: SearchEnd<'m>,
}

impl<R: io::Read> io::Read for EndingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.end.check()?;
        self.reader.read(buffer)
    }
}

/// Matcher that fails when the search has ended. A check of each reported match would be too late: the searcher merges adjacent matches of a
/// multi-line pattern, so it may find all matches of a file, and scan the line of each match, before its first report.
#[derive(Debug)]
pub(super) struct EndingMatcher<'m> {
    pub(super) matcher: &'m RegexMatcher,
    pub(super) end: SearchEnd<'m>,
}

/// Forwards the methods for which `RegexMatcher` returns other results than the trait's defaults.
impl Matcher for EndingMatcher<'_> {
    type Captures = RegexCaptures;
    type Error = io::Error;

    fn find_at(&self, haystack: &[u8], at: usize) -> io::Result<Option<Match>> {
        self.end.check()?;
        Ok(self.matcher.find_at(haystack, at)?)
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> io::Result<Option<usize>> {
        self.end.check()?;
        Ok(self.matcher.shortest_match_at(haystack, at)?)
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> io::Result<Option<LineMatchKind>> {
        self.end.check()?;
        Ok(self.matcher.find_candidate_line(haystack)?)
    }

    fn new_captures(&self) -> io::Result<RegexCaptures> {
        Ok(self.matcher.new_captures()?)
    }

    fn capture_count(&self) -> usize {
        self.matcher.capture_count()
    }

    fn capture_index(&self, name: &str) -> Option<usize> {
        self.matcher.capture_index(name)
    }

    fn captures_at(&self, haystack: &[u8], at: usize, captures: &mut RegexCaptures) -> io::Result<bool> {
        Ok(self.matcher.captures_at(haystack, at, captures)?)
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.matcher.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.matcher.line_terminator()
    }
}
