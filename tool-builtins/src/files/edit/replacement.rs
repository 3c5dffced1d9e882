//! [`Replacement`]: the texts of an edit, as the model sent them.

use std::borrow::Cow;

/// One edit: a quoted text and its new text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) replace_all: bool,
    /// Maximum number of bytes of the edited text.
    pub(crate) max_bytes: u64,
}

/// Texts with the line endings of a view.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    pub(super) old: Cow<'a, str>,
    pub(super) new: Cow<'a, str>,
}

impl<'a> Replacement<'a> {
    /// Returns the texts as sent if the view has the quoted text with its CRLF, which happens in a file with `\r\r\n`; otherwise the texts
    /// with CRLF as LF.
    pub(super) fn texts(&self, view: &str) -> Texts<'a> {
        if self.old.contains("\r\n") && view.contains(self.old) {
            return Texts {
                old: Cow::Borrowed(self.old),
                new: Cow::Borrowed(self.new),
            };
        }
        Texts {
            old: with_line_feeds(self.old),
            new: with_line_feeds(self.new),
        }
    }
}

fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}
