//! Evidence for the language of a text, for tokens with two meanings.

/// Level of evidence for a language other than JSON: found in a text, or needed by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Syntax of Python and JSON5: single quotes, a key without quotes.
    NotJson,
    /// Three quotes.
    TripleQuotes,
    /// Syntax of Python only: `True`, `None`, a prefix, a tuple.
    Python,
}

/// Offset of an error from the start of the rest, and the reason.
pub(super) type Objection = (usize, &'static str);

/// Evidence in a text, and the tokens whose meaning depends on evidence.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Highest level of evidence that was found.
    found: Option<Level>,
    /// First token for each level that is an error without evidence of this level or a higher level.
    required: [Option<Objection>; 3],
    /// First token that is an error if there is any evidence.
    forbidden: Option<Objection>,
}

impl Evidence {
    /// Records evidence of a level.
    #[inline]
    pub(super) fn record(&mut self, level: Level) {
        self.found = self.found.max(Some(level));
    }

    /// Records a token at `at` that is an error for this reason, unless the text has evidence of this level.
    pub(super) fn require(&mut self, level: Level, at: usize, reason: &'static str) {
        if let Some(needed) = self.required.get_mut(level as usize) {
            needed.get_or_insert((at, reason));
        }
    }

    /// Records a token at `at` that is an error for this reason if the text has any evidence.
    pub(super) fn forbid(&mut self, at: usize, reason: &'static str) {
        self.forbidden.get_or_insert((at, reason));
    }

    /// Returns the first token that is an error because of missing or contrary evidence.
    pub(super) fn objection(&self) -> Option<Objection> {
        let satisfied = self.found.map_or(0, |level| level as usize + 1);
        let missing = self.required.into_iter().skip(satisfied).flatten().next();
        missing.or(self.forbidden.filter(|_| self.found.is_some()))
    }
}
