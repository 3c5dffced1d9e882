//! How a string literal is written: its prefix, its quotes, and where it ends.

/// What the quotes and the prefix say about the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) quote: u8,
    pub(super) triple: bool,
    /// Whether a backslash is a backslash.
    pub(super) raw: bool,
    /// Whether escapes mean what they mean in Python; otherwise what they mean in JSON, if anything.
    pub(super) python: bool,
}

impl Form {
    /// As JSON writes a string.
    pub(super) const JSON: Self = Self {
        quote: b'"',
        triple: false,
        raw: false,
        python: false,
    };

    /// As Python writes a string, as a rule.
    pub(super) const SINGLE: Self = Self {
        quote: b'\'',
        triple: false,
        raw: false,
        python: true,
    };
}

/// A string literal that is being read, or was the last to be.
#[derive(Debug, Clone, Copy)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says something of its own about the literal"
)]
pub(super) struct Literal {
    pub(super) form: Form,
    pub(super) key: bool,
    /// Where its opening quote stands, from the start of the whole text.
    pub(super) began: usize,
    /// Where its closing quote stands, from the start of the rest.
    pub(super) end: usize,
    /// Where its closing quote stands in the output.
    pub(super) closed: usize,
    /// Whether it is put together from several.
    pub(super) joined: bool,
    /// Whether an escape was seen in it that a text without escapes may have, too: any but those of quotes and of the
    /// backslash.
    pub(super) doubtful_escape: bool,
    /// Whether `\\` was seen in it.
    pub(super) double_backslash: bool,
    /// Whether an escape was seen in it that nobody knows.
    pub(super) unknown_escape: bool,
    /// Whether its own quote was seen in it, escaped.
    pub(super) escaped_quote: bool,
    /// Whether `\'` was seen in it.
    pub(super) escaped_apostrophe: bool,
    /// Whether a line of it ends without an escape.
    pub(super) raw_break: bool,
}

impl Literal {
    pub(super) fn new(form: Form, key: bool, began: usize) -> Self {
        Self {
            form,
            key,
            began,
            end: 0,
            closed: 0,
            joined: false,
            doubtful_escape: false,
            double_backslash: false,
            unknown_escape: false,
            escaped_quote: false,
            escaped_apostrophe: false,
            raw_break: false,
        }
    }
}

/// The beginning of a string literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) form: Form,
    /// How many letters stand before the quotes.
    pub(super) prefix: usize,
}

impl Opening {
    /// How many bytes come before the contents.
    pub(super) fn len(self) -> usize {
        self.prefix + if self.form.triple { 3 } else { 1 }
    }
}

/// Reads the beginning of a string literal, if `text` begins with one.
///
/// # Errors
///
/// Why a literal with this prefix is no string that the text holds.
pub(super) fn opening(text: &[u8]) -> Option<Result<Opening, &'static str>> {
    let prefix = text
        .iter()
        .take(3)
        .position(|byte| matches!(byte, b'"' | b'\''))?;
    let (letters, quotes) = text.split_at_checked(prefix)?;
    let raw = match letters {
        [] | [b'u' | b'U'] => false,
        [b'r' | b'R'] => true,
        [b'b' | b'B'] | [b'b' | b'B', b'r' | b'R'] | [b'r' | b'R', b'b' | b'B'] => {
            return Some(Err("`b'\u{2026}'` is bytes, which JSON does not have"));
        }
        [b'f' | b'F'] | [b'f' | b'F', b'r' | b'R'] | [b'r' | b'R', b'f' | b'F'] => {
            return Some(Err(
                "`f'\u{2026}'` is an f-string, whose value is not in the text",
            ));
        }
        [b't' | b'T'] | [b't' | b'T', b'r' | b'R'] | [b'r' | b'R', b't' | b'T'] => {
            return Some(Err("`t'\u{2026}'` is a template, whose value is not in the text"));
        }
        _ => return None,
    };
    let (&quote, behind) = quotes.split_first()?;
    let triple = behind.starts_with(&[quote, quote]);
    let form = Form {
        quote,
        triple,
        raw,
        python: quote == b'\'' || triple || prefix > 0,
    };
    Some(Ok(Opening { form, prefix }))
}

/// Where the string literal ends that begins at `at`; `None` if the text ends before.
pub(super) fn end(text: &[u8], at: usize, opening: Opening) -> Option<usize> {
    let Form { quote, triple, .. } = opening.form;
    let mut at = at + opening.len();
    loop {
        match *text.get(at)? {
            // A raw string too goes on behind `\'`.
            b'\\' => at += 2,
            byte if byte == quote && !triple => return Some(at + 1),
            byte if byte == quote && is_triple(text, at, quote) => return Some(at + 3),
            _ => at += 1,
        }
    }
}

/// Whether three quotes stand at `at`.
pub(super) fn is_triple(text: &[u8], at: usize, quote: u8) -> bool {
    text.get(at..at + 3)
        .is_some_and(|quotes| quotes.iter().all(|byte| *byte == quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_quotes_say_how_a_literal_is_read() {
        for (text, prefix, quote, triple, raw, python) in [
            ("\"a", 0, b'"', false, false, false),
            ("'a", 0, b'\'', false, false, true),
            ("\"\"\"a", 0, b'"', true, false, true),
            ("'''", 0, b'\'', true, false, true),
            ("''", 0, b'\'', false, false, true),
            ("u\"a", 1, b'"', false, false, true),
            ("R'", 1, b'\'', false, true, true),
            ("r\"\"\"", 1, b'"', true, true, true),
        ] {
            let form = Form {
                quote,
                triple,
                raw,
                python,
            };
            assert_eq!(
                opening(text.as_bytes()),
                Some(Ok(Opening { form, prefix })),
                "{text}"
            );
        }
        for text in ["b'", "f\"", "rb'", "Rb'", "fR'", "t'", "BR\"\"\""] {
            assert!(matches!(opening(text.as_bytes()), Some(Err(_))), "{text}");
        }
        for text in ["", "u", "x'", "ur'", "uu'", "rrr'", "a b'", "1'"] {
            assert_eq!(opening(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_literal_ends_at_its_quote() {
        for (text, length) in [
            ("'a' b", Some(3)),
            (r"'a\' b'c", Some(7)),
            (r"r'a\' b'c", Some(8)),
            (r"'\\'", Some(4)),
            ("''", Some(2)),
            ("''''''", Some(6)),
            ("'''a'b''c'''d", Some(12)),
            (r"'''a\''''", Some(9)),
            ("'''a''", None),
            ("'a", None),
            ("'a\\", None),
        ] {
            let opening = opening(text.as_bytes()).unwrap().unwrap();
            assert_eq!(end(text.as_bytes(), 0, opening), length, "{text}");
        }
    }
}
