//! How a string is written: its prefix, its quotes, and where it ends.

/// What the quotes and the prefix say about the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// The first byte of the closing quote.
    pub(super) quote: u8,
    /// The closing quote of a typographic pair.
    pub(super) typographic: Option<char>,
    pub(super) triple: bool,
    /// Whether a backslash is a backslash.
    pub(super) raw: bool,
    /// Whether escapes mean what they mean in Python and JSON5; otherwise what they mean in JSON, if anything.
    pub(super) python: bool,
}

impl Form {
    pub(super) const DOUBLE: Self = Self {
        quote: b'"',
        typographic: None,
        triple: false,
        raw: false,
        python: false,
    };

    pub(super) const SINGLE: Self = Self {
        quote: b'\'',
        typographic: None,
        triple: false,
        raw: false,
        python: true,
    };

    /// How many bytes its quotes have.
    pub(super) fn width(self) -> usize {
        if self.triple || self.typographic.is_some() {
            3
        } else {
            1
        }
    }
}

/// A string that is being read, or was the last to be.
#[derive(Debug, Clone, Copy)]
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
    /// Whether it is put together from several.
    pub(super) joined: bool,
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
            end: 0,
            closed: 0,
            joined: false,
            has_escapes: false,
            unknown_escape: false,
        }
    }
}

/// The beginning of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) form: Form,
    /// How many letters stand before the quotes.
    pub(super) prefix: usize,
}

impl Opening {
    /// How many bytes come before the contents.
    pub(super) fn len(self) -> usize {
        self.prefix + self.form.width()
    }
}

/// Reads the beginning of a string, if `text` begins with one.
///
/// # Errors
///
/// Why a literal with this prefix is no string that the text holds.
pub(super) fn opening(text: &[u8]) -> Option<Result<Opening, &'static str>> {
    let closing = match text {
        [0xE2, 0x80, 0x9C, ..] => Some('\u{201d}'),
        [0xE2, 0x80, 0x98, ..] => Some('\u{2019}'),
        _ => None,
    };
    if closing.is_some() {
        let form = Form {
            quote: 0xE2,
            typographic: closing,
            ..Form::DOUBLE
        };
        return Some(Ok(Opening { form, prefix: 0 }));
    }
    let prefix = text
        .iter()
        .take(3)
        .position(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    let (letters, quotes) = text.split_at_checked(prefix)?;
    let (&quote, behind) = quotes.split_first()?;
    let raw = match letters {
        [] => false,
        _ if quote == b'`' => return None,
        [b'u' | b'U'] => false,
        [b'r' | b'R'] => true,
        letters if letters.iter().all(|letter| b"bBfFtTrR".contains(letter)) => {
            return Some(Err(
                "bytes, an f-string or a template, which is no string of JSON",
            ));
        }
        _ => return None,
    };
    let triple = quote != b'`' && behind.starts_with(&[quote, quote]);
    let form = Form {
        quote,
        typographic: None,
        triple,
        raw,
        python: quote == b'\'' || triple || prefix > 0,
    };
    Some(Ok(Opening { form, prefix }))
}

/// Where the string ends that begins at `at`; `None` if the text ends before.
pub(super) fn end(text: &[u8], at: usize, opening: Opening) -> Option<usize> {
    let Form {
        quote, typographic, ..
    } = opening.form;
    let mut closing = [quote; 4];
    if let Some(typographic) = typographic {
        typographic.encode_utf8(&mut closing);
    }
    let (closing, _) = closing.split_at(opening.form.width());
    let mut at = at + opening.len();
    while !text.get(at..)?.starts_with(closing) {
        // A raw string too goes on behind `\'`.
        at += if *text.get(at)? == b'\\' { 2 } else { 1 };
    }
    Some(at + closing.len())
}

/// Whether three quotes stand at `at`.
pub(super) fn is_triple(text: &[u8], at: usize, quote: u8) -> bool {
    text.get(at..at + 3)
        .is_some_and(|quotes| quotes.iter().all(|byte| *byte == quote))
}
