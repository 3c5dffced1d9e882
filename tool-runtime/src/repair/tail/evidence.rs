//! What a reading rests on: quotes that were trusted or guessed, and what is read as Python only if the document is
//! Python elsewhere too. Whether it all goes together is known at the end.

/// A place, from the start of the rest, and what is wrong there.
pub(super) type Objection = (usize, &'static str);

/// What was seen so far. Of each kind the first place is kept.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    python: bool,
    needs_python: Option<Objection>,
    guessed: Option<usize>,
    trusted: Option<Objection>,
    control: bool,
    joined: Option<usize>,
}

impl Evidence {
    /// Something that only Python writes.
    pub(super) fn python(&mut self) {
        self.python = true;
    }

    /// Something between double quotes that is read as Python reads it.
    pub(super) fn needs_python(&mut self, at: usize, reason: &'static str) {
        self.needs_python.get_or_insert((at, reason));
    }

    /// A quote was taken as text although it was not escaped.
    pub(super) fn guess(&mut self, at: usize) {
        self.guessed.get_or_insert(at);
    }

    /// Quotes were believed where, had one of them been text, all would have another meaning.
    pub(super) fn trust(&mut self, at: usize, reason: &'static str) {
        self.trusted.get_or_insert((at, reason));
    }

    /// A control character stood in a string as it is.
    pub(super) fn control(&mut self) {
        self.control = true;
    }

    /// Strings that stood side by side were read as one.
    pub(super) fn join(&mut self, at: usize) {
        self.joined.get_or_insert(at);
        self.trust(
            at,
            "strings side by side in a text with a quote that is not escaped",
        );
    }

    /// What contradicts the whole reading, if anything does.
    pub(super) fn objection(&self) -> Option<Objection> {
        if !self.python && self.needs_python.is_some() {
            return self.needs_python;
        }
        if self.guessed.is_some() && self.trusted.is_some() {
            return self.trusted;
        }
        let joined = self.joined.filter(|_| self.control)?;
        Some((
            joined,
            "strings side by side in a text with a line break or another control character in a string",
        ))
    }
}
