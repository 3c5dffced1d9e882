//! Evidence for the language of a text, for tokens with two meanings.

/// Level of evidence for a language other than JSON: the level of a text, or the level that a token needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Syntax of Python and JSON5: single quotes, a key without quotes.
    NotJson,
    /// Three quotes.
    TripleQuotes,
    /// Syntax of Python only: `True`, `None`, a prefix, a tuple.
    Python,
}

/// Offset from the start of the rest, and the fault there.
pub(super) type Objection = (usize, &'static str);

/// Evidence that was found.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Highest level.
    seen: Option<Level>,
    /// First token for each level that is an error without evidence of that level or a higher one.
    needed: [Option<Objection>; 3],
    /// First token that is an error if there is any evidence.
    needs_none: Option<Objection>,
}

impl Evidence {
    /// Records evidence.
    #[inline]
    pub(super) fn see(&mut self, level: Level) {
        self.seen = self.seen.max(Some(level));
    }

    /// Records a token at `at` that is an error for this reason, unless there is evidence anywhere in the text.
    pub(super) fn need(&mut self, level: Level, at: usize, reason: &'static str) {
        if let Some(needed) = self.needed.get_mut(level as usize) {
            needed.get_or_insert((at, reason));
        }
    }

    /// Records a token at `at` that has another meaning outside of JSON.
    pub(super) fn need_none(&mut self, at: usize, reason: &'static str) {
        self.needs_none.get_or_insert((at, reason));
    }

    /// Returns the first token that is an error because of missing or contrary evidence.
    pub(super) fn objection(&self) -> Option<Objection> {
        let satisfied = self.seen.map_or(0, |level| level as usize + 1);
        let missing = self.needed.into_iter().skip(satisfied).flatten().next();
        missing.or(self.needs_none.filter(|_| self.seen.is_some()))
    }
}
