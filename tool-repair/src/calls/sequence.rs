//! [`Sequence`]: payloads up to the end of the text, with wrappers and separators between them. If any other text follows, no call is
//! recovered.

use super::declared::Declared;
use super::payload::{Forms, PayloadReader, PayloadStep, is_separator};
use super::recovered::{Format, RecoveredCall, TextReason};
use super::source::{Lookahead, Source};
use super::tag::Tag;

/// Possible calls from a position to the end of the text.
#[derive(Debug)]
pub(super) struct Sequence {
    forms: Forms,
    /// Position of the next payload, wrapper or separator.
    at: usize,
    payload: Option<PayloadReader>,
    calls: Vec<RecoveredCall>,
    /// Format of the calls without an opener.
    format: Option<Format>,
    fence: Fence,
}

/// Fence around calls without an opener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    /// No fence, and possible before the first payload.
    None,
    Open,
    Closed,
}

/// Result of reading a sequence so far.
#[derive(Debug)]
pub(super) enum SequenceEnd {
    /// The text may still continue.
    Open,
    /// No payload begins before this position.
    NoPayload {
        at: usize,
    },
    Failed(TextReason),
    Calls {
        calls: Vec<RecoveredCall>,
        format: Format,
    },
}

impl Sequence {
    /// Starts after an opener, or at the beginning of a text.
    pub(super) fn new(at: usize, forms: Forms) -> Self {
        Self {
            forms,
            at,
            payload: None,
            calls: Vec::new(),
            format: None,
            fence: Fence::None,
        }
    }

    /// Continues in a text that has grown.
    pub(super) fn advance(&mut self, source: Source<'_>, declared: &impl Declared) -> SequenceEnd {
        loop {
            if self.payload.is_none() {
                match self.separator(source) {
                    Lookahead::Match(after) => {
                        self.at = after;
                        continue;
                    }
                    Lookahead::Incomplete => return SequenceEnd::Open,
                    Lookahead::NoMatch if self.at == source.text.len() => return self.finish(),
                    Lookahead::NoMatch => {}
                }
            }
            let (at, forms) = (self.at, self.forms);
            let payload = self.payload.get_or_insert_with(|| PayloadReader::new(at, forms));
            match payload.advance(source, declared) {
                PayloadStep::Complete { end, calls, format } => {
                    self.calls.extend(calls);
                    self.format.get_or_insert(format);
                    self.at = end;
                    self.payload = None;
                }
                PayloadStep::Incomplete => return SequenceEnd::Open,
                PayloadStep::NotPayload if self.calls.is_empty() => return SequenceEnd::NoPayload { at },
                PayloadStep::NotPayload => return SequenceEnd::Failed(TextReason::NotLast),
                PayloadStep::Failed(reason) => return SequenceEnd::Failed(reason),
            }
        }
    }

    fn finish(&mut self) -> SequenceEnd {
        match self.format {
            _ if self.fence == Fence::Open => SequenceEnd::Failed(TextReason::Incomplete),
            None => SequenceEnd::NoPayload { at: self.at },
            Some(format) => SequenceEnd::Calls {
                calls: std::mem::take(&mut self.calls),
                format: if self.forms.tags { Format::Tags } else { format },
            },
        }
    }

    /// Reads a separator, a wrapper or white space, and returns the position after it.
    fn separator(&mut self, source: Source<'_>) -> Lookahead<usize> {
        let at = self.at;
        source.character(at).and_then(|(first, after)| match first {
            first if first.is_whitespace() => Lookahead::Match(after),
            ',' | ';' if !self.calls.is_empty() => Lookahead::Match(after),
            '<' => Tag::read(source, at).and_then(|tag| {
                if is_separator(tag, self.forms) {
                    Lookahead::Match(tag.end)
                } else {
                    Lookahead::NoMatch
                }
            }),
            '[' if self.forms.tags => {
                let opening = source.literal(at, MISTRAL);
                opening.or_else(|| source.literal(at, "[/TOOL_CALLS]"))
            }
            '`' if !self.forms.tags => self.fence(source),
            _ => Lookahead::NoMatch,
        })
    }

    /// Reads the first or the last line of the fence around the calls.
    fn fence(&mut self, source: Source<'_>) -> Lookahead<usize> {
        let ticks = source.literal(self.at, "```");
        let (next, end) = match self.fence {
            Fence::None if self.calls.is_empty() => {
                let is_info = |part: char| part.is_alphanumeric() || matches!(part, '_' | '-' | '+' | ' ');
                (
                    Fence::Open,
                    ticks.and_then(|at| source.run(at, MAX_INFO, is_info)),
                )
            }
            Fence::Open if !self.calls.is_empty() => (Fence::Closed, ticks),
            _ => return Lookahead::NoMatch,
        };
        // A word after the fence must be the whole line.
        let end = end.and_then(|end| match source.character(end) {
            Lookahead::Match((next, _)) if !next.is_whitespace() => Lookahead::NoMatch,
            Lookahead::Incomplete => Lookahead::Incomplete,
            _ => Lookahead::Match(end),
        });
        if let Lookahead::Match(_) = end {
            self.fence = next;
        }
        end
    }
}

/// Opener of Mistral.
pub(super) const MISTRAL: &str = "[TOOL_CALLS]";

/// Maximum number of bytes of the language after a fence.
const MAX_INFO: usize = 64;
