//! Tags of thoughts. Thoughts are not searched for calls.

use super::source::{Lookahead, Source};

/// Opening and closing tags of thoughts.
const TAGS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
];

/// Tag of thoughts in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThoughtTag {
    /// Beginning of thoughts, with the closing tag.
    Opening { closing: &'static str, end: usize },
    /// `</think>`; templates put its opening tag into the prompt, so that the text has none.
    Closing { end: usize },
}

/// Reads the tag of thoughts at a position.
pub(super) fn tag(source: Source<'_>, at: usize) -> Lookahead<ThoughtTag> {
    let closing = source
        .literal(at, UNOPENED)
        .map(|end| ThoughtTag::Closing { end });
    TAGS.iter().fold(closing, |found, (opening, closing)| {
        found.or_else(|| {
            source
                .literal(at, opening)
                .map(|end| ThoughtTag::Opening { closing, end })
        })
    })
}

/// Closing tag that ends thoughts without an opening tag.
const UNOPENED: &str = "</think>";
