//! How a string is written: its prefix, its quotes, and where it ends.

/// What stands before and after the contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// How many letters stand before the quotes.
    pub(super) prefix: usize,
    /// The closing quotes, as long as the opening ones.
    pub(super) closing: &'static str,
    /// Whether a backslash is a backslash.
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

    /// How many bytes come before the contents.
    pub(super) fn len(self) -> usize {
        self.prefix + self.closing.len()
    }

    /// The first byte of the closing quotes.
    pub(super) fn quote(self) -> u8 {
        self.closing.bytes().next().unwrap_or_default()
    }

    /// Whether `text` begins with the closing quotes; typographic ones may be turned the wrong way, `“a“`.
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

    /// Whether escapes mean what they mean in Python and JSON5; otherwise what they mean in JSON, if anything.
    pub(super) fn is_python(self) -> bool {
        self.prefix > 0 || self.closing == "'" || self.is_triple()
    }
}

/// A string that is being read, or was the last to be.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent")]
pub(super) struct Literal {
    pub(super) form: Form,
    pub(super) key: bool,
    /// Where its opening quote stands, from the start of the whole text.
    pub(super) began: usize,
    /// Where its closing quote stands, from the start of the rest.
    pub(super) end: usize,
    /// Where its closing quote stands in the output.
    pub(super) closed: usize,
    /// Whether a line break was seen in it that is no escape.
    pub(super) has_line_break: bool,
    /// Whether an escape was seen in it.
    pub(super) has_escapes: bool,
    /// Whether a backslash was seen in it that begins no escape.
    pub(super) unknown_escape: bool,
}

impl Literal {
    pub(super) fn new(form: Form, key: bool, began: usize) -> Self {
        Self {
            form,
            key,
            began,
            ..Self::default()
        }
    }
}

/// The form of the string that `text` begins with, if it does. Bytes and f-strings are none that the text holds.
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

/// Where the string of this form ends that `text` begins with; `None` if the text ends before.
pub(super) fn end(text: &str, form: Form) -> Option<usize> {
    let (text, quote) = (text.as_bytes(), form.quote());
    let mut at = form.len();
    loop {
        match *text.get(at)? {
            // A raw string too goes on after `\'`.
            b'\\' => at += 2,
            byte if byte == quote && form.closes(text.get(at..)?) => {
                return Some(at + form.closing.len());
            }
            _ => at += 1,
        }
    }
}
