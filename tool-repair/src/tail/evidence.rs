//! What a reading rests on: quotes that were trusted or guessed, and what is read as Python only if the document is
//! Python elsewhere too. Whether it all goes together is known at the end.

use super::hindsight::doubts;

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
    control_in_list: Option<usize>,
    closers: Option<usize>,
    python_only: Option<Objection>,
    slipped: Option<usize>,
    needs_json: Option<Objection>,
    unknown_escape: Option<usize>,
    drive: bool,
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

    /// Something that is certain in JSON, but not in a text that has anything of Python.
    pub(super) fn needs_json(&mut self, at: usize, reason: &'static str) {
        self.needs_json.get_or_insert((at, reason));
    }

    /// A backslash was read as one although it was not escaped.
    pub(super) fn unknown_escape(&mut self, at: usize) {
        self.unknown_escape.get_or_insert(at);
    }

    /// A string begins with a drive and an escape, `'C:\temp'`; or with a question, `'Q:\nWhat?'`.
    pub(super) fn drive(&mut self) {
        self.drive = true;
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

    /// That string is an item of a list.
    pub(super) fn control_in_list(&mut self, at: usize) {
        self.control_in_list.get_or_insert(at);
    }

    /// Closing brackets too many stood at the end: one of them may belong elsewhere.
    pub(super) fn extra_closers(&mut self, at: usize) {
        self.closers.get_or_insert(at);
    }

    /// A comma is missing or too many: nobody meant the text to be as it is.
    pub(super) fn slip(&mut self, at: usize) {
        self.slipped.get_or_insert(at);
    }

    /// Something that Python reads as it was read, but that had another meaning if a comma was lost in it.
    pub(super) fn python_only(&mut self, at: usize, reason: &'static str) {
        self.python_only.get_or_insert((at, reason));
    }

    /// Strings that stood side by side were read as one.
    pub(super) fn join(&mut self, at: usize) {
        self.joined.get_or_insert(at);
        self.trust(
            at,
            "strings side by side in a text with a quote that is not escaped",
        );
        self.python_only(
            at,
            "strings side by side in a text with a comma or a bracket missing or too many elsewhere",
        );
    }

    /// What contradicts the whole reading, if anything does. `sent` is what came before the rest, and `out` what
    /// that became.
    pub(super) fn objection(&self, sent: Option<&str>, out: &str) -> Option<Objection> {
        if !self.python && self.needs_python.is_some() {
            return self.needs_python;
        }
        if self.python && self.needs_json.is_some() {
            return self.needs_json;
        }
        if let Some(at) = self.unknown_escape
            && (self.drive || sent.is_some_and(has_path))
        {
            let message =
                "a backslash that was not escaped, in a text with a path whose backslash is an escape";
            return Some((at, message));
        }
        if self.guessed.is_some() && self.trusted.is_some() {
            return self.trusted;
        }
        let slipped = self.slipped.or(self.guessed);
        if (slipped.is_some() || self.closers.is_some()) && self.python_only.is_some() {
            return self.python_only;
        }
        if let Some(slipped) = self.slipped
            && self.control
        {
            let message = "a comma missing or too many, in a text with a control character in a string";
            return Some((slipped, message));
        }
        if slipped.is_some()
            && let Some(closers) = self.closers
        {
            let message = "a closing bracket too many, in a text with a comma missing or too many";
            return Some((closers, message));
        }
        if let Some(joined) = self.joined
            && self.control
        {
            let message = "strings side by side in a text with a control character in a string";
            return Some((joined, message));
        }
        self.hindsight(sent, out)
    }

    /// What only the whole result shows.
    fn hindsight(&self, sent: Option<&str>, out: &str) -> Option<Objection> {
        let slipped = self.slipped.or(self.guessed);
        let at = slipped.or(self.closers).or(self.control_in_list)?;
        let Some(sent) = sent else {
            return Some((at, "what came before is too long to be looked at again"));
        };
        let doubts = doubts([sent, out]);
        if slipped.is_some() && doubts.key_twice {
            let message = "a comma or a quote is missing or too many, in a text with a key twice in one object: two may have become one";
            return Some((at, message));
        }
        if self.guessed.is_some() && doubts.two_empty_strings {
            let message = "a quote that is not escaped, in a text with two empty strings in a row";
            return Some((at, message));
        }
        if let Some(control) = self.control_in_list
            && doubts.separator_in_list
        {
            let message = "a control character in a list whose strings may be fewer, with quotes in them";
            return Some((control, message));
        }
        (self.closers.is_some() && (doubts.object_goes_on || doubts.brace_in_key))
            .then_some((at, "a closing bracket too many, and which one is not certain"))
    }
}

/// Whether a string of JSON begins with a drive and an escape: `"C:\temp"`.
fn has_path(text: &str) -> bool {
    let mut backslashes = text.match_indices(":\\");
    backslashes.any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().as_bytes();
        let behind = text.as_bytes().get(at + 2);
        matches!(before, [.., b'"', letter] if letter.is_ascii_alphabetic())
            && matches!(behind, Some(b'b' | b'f' | b'n' | b'r' | b't'))
    })
}
