//! Evidence: which language a text is written in, for the tokens that have two meanings.

/// How much of another language than JSON must be in a text, for a token to be read as that language has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Anything that Python and JSON5 have and JSON lacks: single quotes or a key without quotes are enough.
    NotJson,
    /// What Python alone has: `True`, `None`, a prefix, a tuple, three quotes.
    Python,
    /// The same, without three quotes.
    PythonWithoutTripleQuotes,
}

/// A place, from the start of the rest, and what is wrong there.
pub(super) type Objection = (usize, &'static str);

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Single quotes, or a key without quotes.
    pub(super) not_json: bool,
    pub(super) triple_quotes: bool,
    /// `True`, `False`, `None`, a prefix of a string, or a tuple.
    pub(super) python: bool,
    /// The first token for each level that is refused unless there is evidence of that level.
    needed: [Option<Objection>; 3],
}

impl Evidence {
    /// Notes a token at `at` that is refused for this reason, unless there is evidence anywhere in the text.
    pub(super) fn need(&mut self, level: Level, at: usize, reason: &'static str) {
        if let Some(needed) = self.needed.get_mut(level as usize) {
            needed.get_or_insert((at, reason));
        }
    }

    /// The first token for which evidence is missing.
    pub(super) fn objection(&self) -> Option<Objection> {
        let [not_json, python, without_triple_quotes] = self.needed;
        let strong = self.python || self.triple_quotes;
        not_json
            .filter(|_| !strong && !self.not_json)
            .or(python.filter(|_| !strong))
            .or(without_triple_quotes.filter(|_| !self.python))
    }
}
