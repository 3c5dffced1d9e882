//! [`Recovered`]: the result of a scan, with the recovered calls.

use std::fmt;
use std::str::FromStr;

/// A call in the text of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveredCall {
    /// Name of a declared tool.
    pub name: String,
    /// Arguments: the JSON text of an object.
    pub arguments: String,
}

impl RecoveredCall {
    pub(super) fn new(name: &str, arguments: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            arguments: arguments.into(),
        }
    }
}

/// Format of calls in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Calls after a tag or special token, at the end of a text.
    Tags,
    /// JSON without a tag, as the whole text.
    Json,
    /// Calls in the syntax of Python, as the whole text.
    Python,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Tags, Self::Json, Self::Python];

    /// Returns the stable name of the format: `tags`, `json`, `python`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tags => "tags",
            Self::Json => "json",
            Self::Python => "python",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == name);
        found.ok_or(UnknownFormat)
    }
}

/// Error for an unknown name of a [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown format; expected one of `tags`, `json`, `python`")
    }
}

impl std::error::Error for UnknownFormat {}

/// Set of formats.
///
/// ```
/// use tool_repair::calls::{Format, Formats};
///
/// let formats: Formats = [Format::Tags, Format::Json].into_iter().collect();
/// assert!(formats.contains(Format::Json) && !formats.contains(Format::Python));
/// assert!(Formats::NONE.is_empty());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Formats(u8);

impl Formats {
    /// No format, so that no call is recovered.
    pub const NONE: Self = Self(0);
    /// Every format.
    pub const ALL: Self = Self(0b111);

    /// Returns whether the set contains a format.
    pub const fn contains(self, format: Format) -> bool {
        self.0 >> (format as u8) & 1 == 1
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the set without a format.
    #[must_use]
    pub const fn without(self, format: Format) -> Self {
        Self(self.0 & !(1 << (format as u8)))
    }
}

impl FromIterator<Format> for Formats {
    fn from_iter<I: IntoIterator<Item = Format>>(formats: I) -> Self {
        Self(
            formats
                .into_iter()
                .fold(0, |set, format| set | 1 << (format as u8)),
        )
    }
}

/// Reason why a text with possible calls stays text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextReason {
    /// A name is not declared.
    NotDeclared,
    /// Other text follows the calls.
    NotLast,
    /// A call or a block of thoughts has no end.
    Incomplete,
    /// The calls are in a code fence or in inline code.
    Quoted,
    /// A call could not be read without a guess.
    Unreadable,
    /// A list has calls and other values.
    Mixed,
    /// The calls exceed [`CallLimits::held`](super::CallLimits::held).
    TooLong,
    /// The text has more tags without calls than the scanner tries.
    TooMany,
}

impl TextReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::NotDeclared,
        Self::NotLast,
        Self::Incomplete,
        Self::Quoted,
        Self::Unreadable,
        Self::Mixed,
        Self::TooLong,
        Self::TooMany,
    ];

    /// Returns the stable name of the reason, for example `not_declared`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotDeclared => "not_declared",
            Self::NotLast => "not_last",
            Self::Incomplete => "incomplete",
            Self::Quoted => "quoted",
            Self::Unreadable => "unreadable",
            Self::Mixed => "mixed",
            Self::TooLong => "too_long",
            Self::TooMany => "too_many",
        }
    }
}

impl fmt::Display for TextReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Result of a scan: calls and the text before them, or the unchanged text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// Recovered calls, in their order.
    pub calls: Vec<RecoveredCall>,
    /// Text before the calls, or the unchanged text. A [`CallScanner`](super::CallScanner) omits the text that it has already returned.
    pub text: String,
    /// Format of the calls; `None` without calls.
    pub format: Option<Format>,
    /// Reason why no call was recovered from a text with possible calls; `None` for other texts.
    pub reason: Option<TextReason>,
}
