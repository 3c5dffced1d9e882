//! Evidence: which language a text is written in, for the tokens that have two meanings.

/// How much of another language than JSON is in a text, or must be, for a token to be read as that language has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// What Python and JSON5 have and JSON lacks: single quotes, a key without quotes.
    NotJson,
    /// Three quotes.
    TripleQuotes,
    /// What Python alone has: `True`, `None`, a prefix, a tuple.
    Python,
}

/// A place, from the start of the rest, and what is wrong there.
pub(super) type Objection = (usize, &'static str);

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The highest level.
    seen: Option<Level>,
    /// The first token for each level that is refused unless there is evidence of that level or a higher one.
    needed: [Option<Objection>; 3],
    /// The first token that is refused if there is any evidence.
    needs_none: Option<Objection>,
}

impl Evidence {
    /// Notes evidence.
    #[inline]
    pub(super) fn see(&mut self, level: Level) {
        self.seen = self.seen.max(Some(level));
    }

    /// Notes a token at `at` that is refused for this reason, unless there is evidence anywhere in the text.
    pub(super) fn need(&mut self, level: Level, at: usize, reason: &'static str) {
        if let Some(needed) = self.needed.get_mut(level as usize) {
            needed.get_or_insert((at, reason));
        }
    }

    /// Notes a token at `at` that has another meaning outside of JSON.
    pub(super) fn need_none(&mut self, at: usize, reason: &'static str) {
        self.needs_none.get_or_insert((at, reason));
    }

    /// The first token for which evidence is missing, or against which there is some.
    pub(super) fn objection(&self) -> Option<Objection> {
        let satisfied = self.seen.map_or(0, |level| level as usize + 1);
        let missing = self.needed.into_iter().skip(satisfied).flatten().next();
        missing.or(self.needs_none.filter(|_| self.seen.is_some()))
    }
}
