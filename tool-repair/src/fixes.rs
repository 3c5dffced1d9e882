//! Changes of a repair, and reasons why a text is not repaired.

use std::borrow::Cow;
use std::{error, fmt, slice};

use crate::limits::TOO_DEEP;

/// A change of a repair: its kind, its offset and a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Fix {
    /// Kind of the change. The string that [`FixCode::as_str`] returns is stable.
    pub code: FixCode,
    /// Offset of the change, in bytes from the start of the original text.
    pub offset: usize,
    /// Description of the original and the replacement, in lower case without a full stop.
    pub message: Cow<'static, str>,
}

/// Changes of a repair: the first 64 in full, and the number of changes of each kind.
///
/// ```
/// use tool_repair::{FixCode, repair};
///
/// let fixes = repair("{'done': True}").fixes;
/// assert_eq!(fixes.total(), 2);
/// assert!(fixes.counts().eq([(FixCode::SingleQuotes, 1), (FixCode::PythonLiteral, 1)]));
///
/// let literal = &fixes.first()[1];
/// assert_eq!((literal.code.as_str(), literal.offset), ("python_literal", 9));
///
/// for fix in &fixes {
///     println!("byte {}: {}: {}", fix.offset, fix.code, fix.message);
/// }
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fixes {
    first: Vec<Fix>,
    /// Counts in the order of [`FixCode::ALL`].
    counts: [usize; FixCode::ALL.len()],
}

impl Fixes {
    /// Maximum number of changes that are kept in full.
    pub const KEPT: usize = 64;

    /// Returns the first 64 changes, in the order in which they were made.
    pub fn first(&self) -> &[Fix] {
        &self.first
    }

    /// Iterates over the changes of [`first`](Self::first).
    pub fn iter(&self) -> slice::Iter<'_, Fix> {
        self.first.iter()
    }

    /// Returns the number of changes of each kind, including the changes after the first 64.
    pub fn counts(&self) -> impl Iterator<Item = (FixCode, usize)> + '_ {
        let counts = FixCode::ALL.iter().copied().zip(self.counts);
        counts.filter(|(_, count)| *count > 0)
    }

    /// Returns the total number of changes.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// Adds a change at `offset` with the message of its code.
    #[inline]
    pub(super) fn add(&mut self, code: FixCode, offset: usize) {
        self.add_with_message(code, offset, code.message());
    }

    /// Adds a change at `offset` with its own message.
    #[inline]
    pub(super) fn add_with_message(
        &mut self,
        code: FixCode,
        offset: usize,
        message: impl Into<Cow<'static, str>>,
    ) {
        if let Some(count) = self.counts.get_mut(code as usize) {
            *count += 1;
        }
        if self.first.len() < Self::KEPT {
            self.first.push(Fix {
                code,
                offset,
                message: message.into(),
            });
        }
    }
}

impl Fixes {
    /// Adjusts the offsets to the original text: a byte at `at` was inserted or removed before parsing.
    pub(super) fn shift(&mut self, at: usize, inserted: bool) {
        for fix in self.first.iter_mut().filter(|fix| fix.offset >= at) {
            fix.offset = if inserted { fix.offset - 1 } else { fix.offset + 1 };
        }
    }
}

impl<'a> IntoIterator for &'a Fixes {
    type Item = &'a Fix;
    type IntoIter = slice::Iter<'a, Fix>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Fixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixes")
            .field("first", &self.first)
            .field("counts", &Counts(self))
            .finish()
    }
}

/// Debug output of the counts by kind.
struct Counts<'a>(&'a Fixes);

impl fmt::Debug for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.counts().map(|(code, count)| (code.as_str(), count));
        f.debug_map().entries(counts).finish()
    }
}

/// Reason why a text is unchanged.
///
/// ```
/// use tool_repair::repair;
///
/// let reason = repair("[1, @]").reason.unwrap();
/// assert_eq!(reason.to_string(), format!("byte 4: {}", reason.message));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Reason {
    /// Offset of the first unexpected byte, from the start of the original text.
    pub offset: usize,
    /// Expected or unexpected input at the offset, in lower case without a full stop.
    pub message: Cow<'static, str>,
}

impl Reason {
    /// Returns whether the text nests deeper than [`Limits::depth`](crate::Limits::depth).
    ///
    /// ```
    /// use tool_repair::repair;
    ///
    /// let deep = format!("{}None{}", "[".repeat(2_000), "]".repeat(2_000));
    /// assert!(repair(&deep).reason.unwrap().is_too_deep());
    /// ```
    pub fn is_too_deep(&self) -> bool {
        self.message == TOO_DEEP
    }

    pub(super) fn new(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            offset,
            message: message.into(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.message)
    }
}

impl error::Error for Reason {}

/// Declares [`FixCode`] with the text and the message of each code.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $message:literal;)+) => {
        /// Kind of a change. The [texts](Self::as_str) of the codes are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum FixCode {
            $($(#[doc = $doc])+ $name,)+
        }

        impl FixCode {
            /// Every code, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the stable text of the code.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// Returns the default message of a change.
            const fn message(self) -> &'static str {
                match self {
                    $(Self::$name => $message,)+
                }
            }
        }
    };
}

codes! {
    /// A string in single quotes.
    SingleQuotes = "single_quotes", "single quotes became double quotes";
    /// A string in three quotes.
    TripleQuotes = "triple_quotes", "three quotes became one";
    /// A string in typographic quotes.
    SmartQuotes = "smart_quotes", "typographic quotes became double quotes";
    /// A string in backticks.
    Backticks = "backticks", "backticks became double quotes";
    /// A prefix of a Python string: `r`, `u`.
    StringPrefix = "string_prefix", "the prefix of a string was removed";
    /// Adjacent Python strings on several lines became one.
    ConcatenatedStrings = "concatenated_strings", "adjacent strings became one";
    /// An escape of Python that JSON does not have.
    PythonEscape = "python_escape", "a Python escape became its character in JSON";
    /// A backslash that does not begin an escape was doubled; in a key, `\_` became `_`.
    UnknownEscape = "unknown_escape", "a backslash that begins no escape was doubled";
    /// A control character in a string was escaped.
    ControlCharacter = "control_character", "a control character in the string was escaped";
    /// A quote inside a string was escaped.
    InnerQuote = "inner_quote", "a quote inside the string was escaped";
    /// `True`, `False`, `None`, or a literal of JSON in capitals.
    PythonLiteral = "python_literal", "a Python literal became a JSON literal";
    /// A number in Python syntax: `1_000`, `0x1F`, `.5`, `5.`, `+1`.
    PythonNumber = "python_number", "a Python number became a JSON number";
    /// A tuple became an array.
    Tuple = "tuple", "a tuple became an array";
    /// Parentheses around one value were removed.
    Parentheses = "parentheses", "parentheses around one value were removed";
    /// A comma before a closing bracket was removed.
    TrailingComma = "trailing_comma", "a comma before a closing bracket was removed";
    /// One of two commas was removed.
    DoubleComma = "double_comma", "one of two commas was removed";
    /// A comma was inserted.
    MissingComma = "missing_comma", "a comma was inserted";
    /// A colon was inserted between a key and its value.
    MissingColon = "missing_colon", "a colon was inserted";
    /// A comment was removed.
    Comment = "comment", "a comment was removed";
    /// A key without quotes.
    UnquotedKey = "unquoted_key", "an unquoted key was quoted";
    /// A key that is a number.
    NumberKey = "number_key", "a key that is a number became a string";
    /// A code fence, tags, special tokens, labels or reasoning text around the value were removed.
    Packaging = "packaging", "the packaging of the value was removed";
    /// Sentences before the value were removed, with any packaging there.
    TextBefore = "text_before", "text that preceded the value was removed";
    /// Sentences after the value were removed, with any packaging there.
    TextAfter = "text_after", "text that followed the value was removed";
    /// A redundant bracket was removed.
    ExtraClosers = "extra_closers", "a redundant bracket was removed";
    /// A bracket was inserted.
    MissingBracket = "missing_bracket", "a bracket was inserted";
    /// Doubled braces around the whole text.
    DoubledBraces = "doubled_braces", "the second of two braces was removed";
    /// An empty object that preceded an object with members was removed.
    EmptyPrefix = "empty_prefix", "an empty object that preceded the value was removed";
    /// A repetition of the value was removed.
    Doubled = "doubled", "a repeated value was removed";
    /// The whole text was escaped like the contents of a string.
    EscapedWhole = "escaped_whole", "the whole text was escaped; the escapes were removed";
    /// White space that JSON does not allow, or that was escaped, became a space.
    OddSpace = "odd_space", "white space that JSON does not allow, or that was escaped, became a space";
}

#[cfg(feature = "serde")]
impl serde::Serialize for FixCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for FixCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixes() -> Fixes {
        let mut fixes = Fixes::default();
        fixes.add(FixCode::Tuple, 1);
        for place in 0..Fixes::KEPT {
            fixes.add(FixCode::PythonLiteral, 10 + place);
        }
        fixes
    }

    #[test]
    fn displays_codes_in_their_serialized_form() {
        for code in FixCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.to_string());
        }
        assert_eq!(format!("{:>8}", FixCode::Tuple), "   tuple");
    }

    #[test]
    fn iterates_over_kept_fixes() {
        let fixes = fixes();
        let offsets: Vec<usize> = (&fixes).into_iter().map(|fix| fix.offset).collect();
        assert_eq!((offsets.len(), &offsets[..2]), (Fixes::KEPT, &[1, 10][..]));
        assert!(fixes.iter().eq(fixes.first()));
    }

    #[test]
    fn displays_fixes_by_kind() {
        let shown = format!("{:?}", fixes());
        let (first, counts) = shown.split_once(", counts: ").unwrap();
        assert!(
            first.starts_with("Fixes { first: [Fix { code: Tuple, offset: 1, "),
            "{first}"
        );
        assert_eq!(counts, r#"{"python_literal": 64, "tuple": 1} }"#);
        assert_eq!(
            format!("{:?}", Fixes::default()),
            "Fixes { first: [], counts: {} }"
        );
    }

    #[test]
    fn displays_reasons_with_their_offset() {
        let reason: Box<dyn error::Error> = Box::new(Reason::new(12, "a value belongs here"));
        assert_eq!(reason.to_string(), "byte 12: a value belongs here");
    }
}
