//! [`Form`] and [`StringLiteral`]: the prefix, the quotes and the end of a string.

/// Prefix and quotes of a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// Number of letters before the quotes.
    pub(super) prefix: usize,
    /// Closing quotes, as long as the opening quotes.
    pub(super) closing: &'static str,
    /// Whether a backslash has no special meaning.
    pub(super) raw: bool,
}

impl Form {
    pub(super) const DOUBLE: Self = Self::plain("\"");
    pub(super) const SINGLE: Self = Self::plain("'");

    const fn plain(closing: &'static str) -> Self {
        Self {
            prefix: 0,
            closing,
            raw: false,
        }
    }

    /// Returns the number of bytes before the contents.
    pub(super) fn len(self) -> usize {
        self.prefix + self.closing.len()
    }

    /// Returns the first byte of the closing quotes.
    pub(super) fn quote(self) -> u8 {
        self.closing.bytes().next().unwrap_or_default()
    }

    /// Returns whether `text` begins with the closing quotes; typographic quotes may be reversed, `“a“`.
    #[inline]
    pub(super) fn closes(self, text: &[u8]) -> bool {
        match (text, self.closing.as_bytes()) {
            ([0xE2, 0x80, turned, ..], [0xE2, _, right]) => turned | 1 == *right,
            (_, closing) => text.starts_with(closing),
        }
    }

    pub(super) fn is_triple(self) -> bool {
        matches!(self.closing, "'''" | "\"\"\"")
    }

    /// Returns whether escapes have the meaning of Python and JSON5. If not, escapes have the meaning of JSON.
    pub(super) fn is_python(self) -> bool {
        self.prefix > 0 || self.closing == "'" || self.is_triple()
    }
}

/// The current string, or the last string between strings.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent properties of a string")]
pub(super) struct StringLiteral {
    pub(super) form: Form,
    pub(super) key: bool,
    /// Position of the opening quote, from the start of the whole text.
    pub(super) began: usize,
    /// Position of the closing quote, from the start of the rest.
    pub(super) end: usize,
    /// Position of the closing quote in the output.
    pub(super) closed: usize,
    /// Whether the string has an unescaped line break.
    pub(super) has_line_break: bool,
    /// Whether the string has an escape.
    pub(super) has_escapes: bool,
    /// Whether the string has a backslash that does not begin an escape.
    pub(super) unknown_escape: bool,
}

impl StringLiteral {
    pub(super) fn new(form: Form, key: bool, began: usize) -> Self {
        Self {
            form,
            key,
            began,
            ..Self::default()
        }
    }
}

/// Returns the form of the string at the start of `text`; `None` without a string. Bytes and f-strings are not supported.
pub(super) fn opening(text: &str) -> Option<Form> {
    let is_letter = |byte: &&u8| byte.is_ascii_alphabetic();
    let prefix = text.as_bytes().iter().take(1).take_while(is_letter).count();
    let (letters, quotes) = text.as_bytes().split_at_checked(prefix)?;
    let closing = match quotes {
        [b'"', b'"', b'"', ..] => "\"\"\"",
        [b'\'', b'\'', b'\'', ..] => "'''",
        [b'"', ..] => "\"",
        [b'\'', ..] => "'",
        [b'`', ..] if prefix == 0 => "`",
        [0xE2, 0x80, 0x9C | 0x9D, ..] if prefix == 0 => "\u{201d}",
        [0xE2, 0x80, 0x98 | 0x99, ..] if prefix == 0 => "\u{2019}",
        _ => return None,
    };
    let raw = match letters {
        [] | [b'u' | b'U'] => false,
        [b'r' | b'R'] => true,
        _ => return None,
    };
    Some(Form { prefix, closing, raw })
}

/// Returns the end of the string of this form at the start of `text`; `None` if the text ends inside the string.
pub(super) fn end(text: &str, form: Form) -> Option<usize> {
    let (text, quote) = (text.as_bytes(), form.quote());
    let mut at = form.len();
    loop {
        match *text.get(at)? {
            // A raw string also continues after `\'`.
            b'\\' => at += 2,
            byte if byte == quote && form.closes(text.get(at..)?) => {
                return Some(at + form.closing.len());
            }
            _ => at += 1,
        }
    }
}
