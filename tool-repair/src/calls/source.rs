//! [`Source`]: text that may still grow, and [`Lookahead`]: decisions that may need more text.

/// Text received so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) text: &'t str,
    /// Whether no more text follows.
    pub(super) is_complete: bool,
}

/// Decision at a position of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookahead<T> {
    Match(T),
    NoMatch,
    /// More text is needed for the decision.
    Incomplete,
}

impl<T> Lookahead<T> {
    pub(super) fn and_then<U>(self, next: impl FnOnce(T) -> Lookahead<U>) -> Lookahead<U> {
        match self {
            Self::Match(value) => next(value),
            Self::NoMatch => Lookahead::NoMatch,
            Self::Incomplete => Lookahead::Incomplete,
        }
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Lookahead<U> {
        self.and_then(|value| Lookahead::Match(change(value)))
    }

    pub(super) fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::NoMatch => other(),
            found => found,
        }
    }
}

impl<'t> Source<'t> {
    pub(super) fn rest(self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the result at the end of the text: no match, or more text is needed.
    pub(super) fn at_end<T>(self) -> Lookahead<T> {
        if self.is_complete {
            Lookahead::NoMatch
        } else {
            Lookahead::Incomplete
        }
    }

    /// Reads the next character, and returns it with the position after it.
    pub(super) fn character(self, at: usize) -> Lookahead<(char, usize)> {
        match self.rest(at).chars().next() {
            Some(character) => Lookahead::Match((character, at + character.len_utf8())),
            None => self.at_end(),
        }
    }

    /// Reads `literal`, and returns the position after it.
    pub(super) fn literal(self, at: usize, literal: &str) -> Lookahead<usize> {
        let rest = self.rest(at);
        if rest.starts_with(literal) {
            Lookahead::Match(at + literal.len())
        } else if !self.is_complete && literal.starts_with(rest) {
            Lookahead::Incomplete
        } else {
            Lookahead::NoMatch
        }
    }

    /// Reads characters as long as `belongs` accepts them, at most `limit` bytes, and returns the position after them.
    pub(super) fn run(self, at: usize, limit: usize, belongs: impl Fn(char) -> bool) -> Lookahead<usize> {
        let rest = self.rest(at);
        match rest.find(|character| !belongs(character)) {
            Some(length) if length <= limit => Lookahead::Match(at + length),
            None if rest.len() <= limit && self.is_complete => Lookahead::Match(self.text.len()),
            None if rest.len() <= limit => Lookahead::Incomplete,
            _ => Lookahead::NoMatch,
        }
    }

    /// Skips a short run of white space.
    pub(super) fn white_space(self, at: usize) -> Lookahead<usize> {
        self.run(at, MAX_SPACE, char::is_whitespace)
    }
}

/// Maximum number of bytes of white space between the parts of a call's beginning, so that they can be read again for each piece.
const MAX_SPACE: usize = 64;
