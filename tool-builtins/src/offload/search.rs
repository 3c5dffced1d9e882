//! Searches a file in windows, with a time limit.
//!
//! A search in one window takes time proportional to the lengths of the window and the pattern, which are limited. The
//! total time of all windows has a separate limit: at the limit, the result states the offset at which to continue.

use std::time::{Duration, Instant};

use regex_lite::{Regex, RegexBuilder};

use super::chunks::{ChunkError, Chunks};
use super::reader::FileReader;
use super::threads::on_thread;

/// Length in characters up to which every match is found. With a higher limit of the result, longer matches are found, too.
const MAX_MATCH_LENGTH: usize = 4_096;

/// Maximum length of a character in UTF-8.
const MAX_CHARACTER_LENGTH: usize = 4;

/// Number of bytes that are kept before the search position: for `^`, `\b` and excerpts.
const LOOKBACK: usize = 4 * CONTEXT;

/// Number of characters before and after a match in an excerpt.
const CONTEXT: usize = 40;

/// Maximum number of characters of a match in an excerpt.
const MAX_SHOWN_LENGTH: usize = 120;

/// Maximum number of bytes of a compiled pattern: a few hundred states.
const MAX_PATTERN_SIZE: usize = 32 << 10;

/// Time limit for all searches of one call.
const TIME: Duration = Duration::from_secs(2);

/// Compiles a pattern; `^` and `$` match at line boundaries.
pub(super) fn compile(pattern: &str) -> Result<Regex, regex_lite::Error> {
    RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(MAX_PATTERN_SIZE)
        .build()
}

/// A match.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Number of characters in the file before the match.
    pub(super) offset: u64,
    /// Match with the text around it.
    pub(super) excerpt: String,
}

/// Matches of a search.
#[derive(Debug)]
pub(super) struct Matches {
    pub(super) found: Vec<Found>,
    /// Number of characters of the file that were searched or skipped.
    pub(super) end: u64,
    /// Whether `end` is the end of the file.
    pub(super) is_complete: bool,
}

/// Reason why there are no [`Matches`].
#[derive(Debug)]
pub(super) enum SearchError {
    Chunk(ChunkError),
    /// The offset is beyond the end. The value is the number of characters in the file.
    BeyondEnd(u64),
}

impl From<ChunkError> for SearchError {
    fn from(error: ChunkError) -> Self {
        Self::Chunk(error)
    }
}

/// Searches from the character `offset` on, until the excerpts have `room` characters. Matches that are longer than
/// `room` and [`MAX_MATCH_LENGTH`] may be missed or truncated.
pub(super) async fn search<R: FileReader>(
    mut chunks: Chunks<'_, R>,
    regex: Regex,
    offset: u64,
    room: usize,
) -> Result<Matches, SearchError> {
    let mut search = Search::new(regex, room);
    let mut skipped = 0;
    loop {
        let chunk = chunks.next().await?;
        let is_last = chunk.is_none();
        search.text.push_str(&chunk.unwrap_or_default());
        skipped += search.skip(offset - skipped);
        if skipped == offset {
            let searched = on_thread(move || {
                search.run(is_last);
                search
            });
            search = searched.await.map_err(|error| ChunkError::Reader(error.into()))?;
        } else if is_last {
            return Err(SearchError::BeyondEnd(skipped));
        }
        if is_last || search.is_stopped {
            return Ok(search.matches(is_last));
        }
        search.forget();
    }
}

struct Search {
    regex: Regex,
    /// Part of the file: the text to search, and some text before it.
    text: String,
    /// Byte in the text at which the search continues.
    from: usize,
    /// Number of characters in the file before the byte `from`.
    from_offset: u64,
    /// End of the last match, in characters of the file.
    last_end: Option<u64>,
    found: Vec<Found>,
    room: usize,
    /// Number of bytes at the end of a window that the next window also searches: the maximum length of a match.
    overlap: usize,
    time: Duration,
    is_stopped: bool,
}

impl Search {
    fn new(regex: Regex, room: usize) -> Self {
        Self {
            regex,
            text: String::new(),
            from: 0,
            from_offset: 0,
            last_end: None,
            found: Vec::new(),
            room,
            overlap: room.max(MAX_MATCH_LENGTH).saturating_mul(MAX_CHARACTER_LENGTH),
            time: TIME,
            is_stopped: false,
        }
    }

    /// Skips at most `characters`, and returns the number of skipped characters.
    fn skip(&mut self, characters: u64) -> u64 {
        let rest = self.text.get(self.from..).unwrap_or_default();
        let wanted = usize::try_from(characters).unwrap_or(usize::MAX);
        let end = rest.char_indices().nth(wanted).map_or(rest.len(), |(at, _)| at);
        let before = self.from_offset;
        self.continue_at(self.from + end);
        self.from_offset - before
    }

    fn continue_at(&mut self, place: usize) {
        let passed = self.text.get(self.from..place).unwrap_or_default();
        self.from_offset += passed.chars().count() as u64;
        self.from = place;
    }

    /// Searches the part of the text in which later text cannot change the matches.
    fn run(&mut self, is_last: bool) {
        let began = Instant::now();
        let mut is_first = true;
        loop {
            let window = floor(&self.text, self.from.saturating_add(2 * self.overlap));
            let is_end = is_last && window == self.text.len();
            // Matches that begin from this position on are found in the next window, which has the text after them.
            let next = if is_end {
                window + 1
            } else {
                floor(&self.text, window.saturating_sub(self.overlap))
            };
            if next <= self.from {
                break;
            }
            // The first match is found even after the time limit, so that each call makes progress.
            if !std::mem::take(&mut is_first) && began.elapsed() >= self.time {
                self.is_stopped = true;
                break;
            }
            let haystack = self.text.get(..window).unwrap_or_default();
            let found = self.regex.find_at(haystack, self.from);
            let Some(found) = found.filter(|found| found.start() < next) else {
                self.continue_at(next.min(self.text.len()));
                if is_end {
                    break;
                }
                continue;
            };
            let (start, end) = (found.start(), found.end());
            // An empty match directly after another match belongs to that match, as in `Regex::find_iter`: `.*` matches
            // a line once.
            if start == end && start == self.from && self.last_end == Some(self.from_offset) {
                let after = ceil(&self.text, end + 1);
                if after > self.text.len() {
                    break;
                }
                self.continue_at(after);
                continue;
            }
            let excerpt = excerpt(haystack, start, end);
            let characters = excerpt.chars().count();
            if characters > self.room && !self.found.is_empty() {
                self.continue_at(start);
                self.is_stopped = true;
                break;
            }
            self.continue_at(start);
            self.found.push(Found {
                offset: self.from_offset,
                excerpt,
            });
            self.room = self.room.saturating_sub(characters);
            let after = if start == end {
                ceil(&self.text, end + 1)
            } else {
                end
            };
            if after > self.text.len() {
                break;
            }
            self.continue_at(after);
            if start < end {
                self.last_end = Some(self.from_offset);
            }
        }
        self.time = self.time.saturating_sub(began.elapsed());
    }

    /// Removes the text that was searched, except for the lookback.
    fn forget(&mut self) {
        let start = floor(&self.text, self.from.saturating_sub(LOOKBACK));
        self.text.drain(..start);
        self.from -= start;
    }

    fn matches(mut self, is_last: bool) -> Matches {
        let is_complete = is_last && !self.is_stopped;
        if is_complete {
            self.continue_at(self.text.len());
        }
        Matches {
            found: self.found,
            end: self.from_offset,
            is_complete,
        }
    }
}

fn excerpt(text: &str, start: usize, end: usize) -> String {
    let parts = (text.get(..start), text.get(start..end), text.get(end..));
    let (before, found, after) = (
        parts.0.unwrap_or_default(),
        parts.1.unwrap_or_default(),
        parts.2.unwrap_or_default(),
    );
    let before_start = before
        .char_indices()
        .rev()
        .take(CONTEXT)
        .last()
        .map_or(start, |(at, _)| at);
    let mut excerpt = text.get(before_start..start).unwrap_or_default().to_owned();
    excerpt.extend(found.chars().take(MAX_SHOWN_LENGTH));
    if found.chars().nth(MAX_SHOWN_LENGTH).is_some() {
        excerpt.push('…');
    } else {
        excerpt.extend(after.chars().take(CONTEXT));
    }
    excerpt
}

/// Returns the last character boundary up to a byte.
fn floor(text: &str, mut place: usize) -> usize {
    place = place.min(text.len());
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}

/// Returns the first character boundary from a byte on; unchanged beyond the end.
fn ceil(text: &str, mut place: usize) -> usize {
    while place < text.len() && !text.is_char_boundary(place) {
        place += 1;
    }
    place
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::reader::{FilePart, Reading};
    use super::*;

    /// Reads a text in parts of a given size.
    struct InMemory(String, usize);

    impl FileReader for InMemory {
        fn read<'a>(&'a self, _: &'a Path, offset: u64, limit: usize) -> Reading<'a, Option<FilePart>> {
            let part = FilePart::from_content(self.0.as_bytes(), offset, self.1.min(limit));
            Box::pin(async move { Ok(Some(part)) })
        }
    }

    /// Returns the offsets of the matches, and the offsets from `Regex::find_iter` in the whole text.
    async fn found_and_expected(
        content: &str,
        step: usize,
        pattern: &str,
        room: usize,
    ) -> (Vec<u64>, Vec<u64>) {
        let regex = compile(pattern).unwrap();
        let characters = |at: usize| content[..at].chars().count() as u64;
        let expected = regex
            .find_iter(content)
            .map(|found| characters(found.start()))
            .collect();
        let reader = InMemory(content.to_owned(), step);
        let chunks = Chunks::new(&reader, Path::new("/x"));
        let mut matches = search(chunks, regex, 0, room).await.unwrap();
        assert!(matches.is_complete, "{pattern}");
        (
            matches.found.drain(..).map(|found| found.offset).collect(),
            expected,
        )
    }

    #[tokio::test]
    async fn finds_the_matches_of_the_complete_text() {
        for content in ["", "a", "a\n", "\n\n", "aé\n日🦀 b\n\nab", "xxaxx\n", "a b  c"] {
            for pattern in [
                ".*", "a*", "x*?", "^", "$", "^.*$", "\\b", "[^a]*", "(?s).*", "a|", "|a",
            ] {
                for step in [1, 3, 100] {
                    let (found, expected) = found_and_expected(content, step, pattern, 20_000).await;
                    assert_eq!(found, expected, "{pattern} in {content:?} by {step}");
                }
            }
        }
    }

    #[tokio::test]
    async fn finds_matches_as_long_as_the_answer() {
        for (room, length) in [(800, 4_096), (20_000, 20_000)] {
            for before in (0..100_000).step_by(23_456) {
                let inside = "🦀".repeat(length - 2);
                let content = format!("{}<{inside}>{}<>", "🦀".repeat(before), "🦀".repeat(50_000));
                let (found, expected) = found_and_expected(&content, 1 << 18, "<🦀*>", room).await;
                assert_eq!(found, expected, "{before}");
                assert_eq!(found.len(), 2);
            }
        }
    }
}
