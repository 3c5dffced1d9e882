//! Slips: what no grammar allows, and has one reading all the same. A text has at most one kind of them, since two
//! kinds explain nearly every text in more than one way.

use std::fmt;

/// The kinds of slips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slip {
    /// Commas that are missing before a key or between containers, or doubled in an object.
    Commas,
    /// One bracket, where all texts that differ in one bracket have the same value.
    Bracket,
    /// Quotes inside a string, up to one behind which the text goes on as it must.
    InnerQuotes,
    /// One key without its opening quote: a name, a quote and a colon.
    KeyQuote,
    /// Backslashes in double quotes that begin no escape.
    Backslashes,
    /// The same value again, byte for byte, or an empty object before the value.
    Repetition,
    /// `{{…}}` around the whole text.
    DoubledBraces,
    /// Strings in backticks.
    Backticks,
    /// Strings in typographic quotes.
    TypographicQuotes,
    /// `\n` as two characters between tokens.
    EscapedSpace,
}

impl fmt::Display for Slip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commas => "a missing or doubled comma",
            Self::Bracket => "a missing or extra bracket",
            Self::InnerQuotes => "a quote inside a string that is not escaped",
            Self::KeyQuote => "a key without its opening quote",
            Self::Backslashes => "a backslash that is not escaped",
            Self::Repetition => "a value that comes twice",
            Self::DoubledBraces => "doubled braces",
            Self::Backticks => "a string in backticks",
            Self::TypographicQuotes => "a string in typographic quotes",
            Self::EscapedSpace => "an escaped line break between tokens",
        })
    }
}
