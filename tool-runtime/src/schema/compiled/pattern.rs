//! [`Pattern`]: a regular expression of a schema.
//!
//! `regex-lite` matches patterns in linear time, with the ASCII classes of ECMA 262 and without Unicode tables. Patterns
//! with `\p{…}` need Unicode tables: `regex` matches them with the feature `unicode-patterns`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
#[cfg(feature = "unicode-patterns")]
use std::sync::Arc;

/// A regular expression that matches anywhere in a string.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Engine);

#[derive(Debug, Clone)]
enum Engine {
    Ascii(regex_lite::Regex),
    #[cfg(feature = "unicode-patterns")]
    Unicode {
        /// Original pattern.
        source: Arc<str>,
        regex: regex::Regex,
    },
}

/// Reason why a pattern cannot be enforced.
#[derive(Debug)]
pub(crate) enum PatternError {
    Ascii(regex_lite::Error),
    /// Error of `regex`; `None` without the feature `unicode-patterns`.
    Unicode(Option<String>),
    /// The pattern needs more memory than `regex` allows.
    #[cfg(feature = "unicode-patterns")]
    TooLarge,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii(error) => error.fmt(f),
            // The error of `regex` has several lines; the last line is the reason.
            Self::Unicode(Some(error)) => f.write_str(error.lines().last().unwrap_or(error)),
            Self::Unicode(None) => {
                f.write_str("`\\p` needs the feature `unicode-patterns` of the crate `tool-runtime`")
            }
            #[cfg(feature = "unicode-patterns")]
            Self::TooLarge => f.write_str("it is too large"),
        }
    }
}

impl PatternError {
    /// Returns the reason for a warning about a schema.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Unicode(None) => self.to_string(),
            #[cfg(feature = "unicode-patterns")]
            Self::TooLarge => self.to_string(),
            _ => "it is not understood".to_owned(),
        }
    }
}

/// Compiled patterns of one schema. Several passes use a pattern, and patterns with Unicode tables are slow to compile.
#[derive(Debug, Default)]
pub(crate) struct Patterns(RefCell<HashMap<Box<str>, Compiled>>);

/// A pattern, or the reason why it cannot be enforced.
type Compiled = Result<Pattern, Box<str>>;

impl Patterns {
    /// Returns the compiled pattern. A new pattern is compiled.
    ///
    /// # Errors
    ///
    /// Returns the reason for a warning if the pattern cannot be enforced.
    pub(crate) fn compile(&self, source: &str) -> Compiled {
        let mut known = self.0.borrow_mut();
        if let Some(pattern) = known.get(source) {
            return pattern.clone();
        }
        let pattern = Pattern::new(source).map_err(|error| error.reason().into());
        known.insert(source.into(), pattern.clone());
        pattern
    }
}

impl Pattern {
    /// Compiles a pattern.
    pub(crate) fn new(source: &str) -> Result<Self, PatternError> {
        if has_unicode_class(source) {
            Engine::unicode(source)
        } else {
            regex_lite::Regex::new(source)
                .map(Engine::Ascii)
                .map_err(PatternError::Ascii)
        }
        .map(Self)
    }

    /// Returns whether the pattern matches somewhere in a text.
    #[inline]
    pub(crate) fn is_match(&self, text: &str) -> bool {
        match &self.0 {
            Engine::Ascii(regex) => regex.is_match(text),
            #[cfg(feature = "unicode-patterns")]
            Engine::Unicode { regex, .. } => regex.is_match(text),
        }
    }

    /// Returns the original pattern.
    pub(crate) fn as_str(&self) -> &str {
        match &self.0 {
            Engine::Ascii(regex) => regex.as_str(),
            #[cfg(feature = "unicode-patterns")]
            Engine::Unicode { source, .. } => source,
        }
    }
}

impl Engine {
    #[cfg(feature = "unicode-patterns")]
    fn unicode(source: &str) -> Result<Self, PatternError> {
        let unsupported = || PatternError::Unicode(Some("unsupported character class".to_owned()));
        let translated = translate(source).ok_or_else(unsupported)?;
        let regex = regex::Regex::new(&translated).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
            error => PatternError::Unicode(Some(error.to_string())),
        })?;
        let source = source.into();
        Ok(Self::Unicode { source, regex })
    }

    #[cfg(not(feature = "unicode-patterns"))]
    fn unicode(_: &str) -> Result<Self, PatternError> {
        Err(PatternError::Unicode(None))
    }
}

/// Returns whether a pattern has `\p` or `\P`.
fn has_unicode_class(pattern: &str) -> bool {
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c == '\\' && matches!(rest.next(), Some('p' | 'P')) {
            return true;
        }
    }
    false
}

/// Translates a pattern into the syntax of `regex`, where `\d`, `\w`, `\s` and `\b` are Unicode classes and brackets
/// nest. The meaning is the same as in patterns without `\p`. `None` for a class with `--`, a range or a difference.
#[cfg(feature = "unicode-patterns")]
fn translate(pattern: &str) -> Option<String> {
    let mut translated = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match (rest.next()?, in_class) {
                ('d', false) => translated.push_str("[0-9]"),
                ('d', true) => translated.push_str("0-9"),
                ('D', _) => translated.push_str("[^0-9]"),
                ('w', false) => translated.push_str("[0-9A-Za-z_]"),
                ('w', true) => translated.push_str("0-9A-Za-z_"),
                ('W', _) => translated.push_str("[^0-9A-Za-z_]"),
                ('s', false) => translated.push_str(r"[\t\n\x0B\x0C\r ]"),
                ('s', true) => translated.push_str(r"\t\n\x0B\x0C\r "),
                ('S', _) => translated.push_str(r"[^\t\n\x0B\x0C\r ]"),
                ('b', true) => translated.push_str(r"\x08"),
                ('b', false) => translated.push_str(r"(?-u:\b)"),
                (escaped, _) => translated.extend(['\\', escaped]),
            },
            '[' if !in_class => {
                in_class = true;
                translated.push('[');
                if let Some(inside) = rest.as_str().strip_prefix('^') {
                    translated.push('^');
                    rest = inside.chars();
                }
            }
            '[' | '&' | '~' if in_class => translated.extend(['\\', c]),
            '-' if in_class && rest.as_str().starts_with('-') => return None,
            ']' if in_class => {
                in_class = false;
                translated.push(']');
            }
            _ => translated.push(c),
        }
    }
    Some(translated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_unicode_classes() {
        for (pattern, expected) in [
            (r"\p{L}", true),
            (r"[^\P{Lu}]", true),
            (r"\\p{L}", false),
            (r"\\\p{L}", true),
            ("p{2}", false),
            ("\\", false),
        ] {
            assert_eq!(has_unicode_class(pattern), expected, "{pattern}");
        }
    }

    #[cfg(not(feature = "unicode-patterns"))]
    #[test]
    fn names_the_feature_of_unicode_classes() {
        let error = Pattern::new(r"^\p{L}+$").unwrap_err();
        assert_eq!(
            error.reason(),
            "`\\p` needs the feature `unicode-patterns` of the crate `tool-runtime`"
        );
    }

    #[cfg(feature = "unicode-patterns")]
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn matches_unicode_classes() {
        for (pattern, matching, other) in [
            (r"^\p{L}+$", "Größe", "a1"),
            (r"^[\p{L}\p{N} ._\-]+$", "a 1_é-", "a;b"),
            (r"^\P{L}+$", "123", "1a"),
            (r"^\p{Script=Greek}+$", "αβγ", "abc"),
            (r"^\p{sc=Han}+$", "旅客", "abc"),
            (r"^\p{Uppercase_Letter}$", "É", "é"),
            (r"^\p{Emoji_Presentation}$", "🦀", "a"),
            (r"^\p{Alphabetic}+$", "ab", "1"),
            // The other classes are ASCII, as in patterns without `\p`.
            (r"^\p{L}\d$", "a1", "a१"),
            (r"^\p{L}\w$", "ab", "aé"),
            (r"^\p{L}\s$", "a\t", "a\u{a0}"),
            (r"^[\p{L}\d]+$", "a1", "a१"),
            (r"^\p{L}[^\D]$", "a1", "ax"),
            (r"^\p{L}\b", "a b", "ab"),
            // A bracket in a class is a character, and so is `&&`.
            (r"^[[\p{L}]+$", "[a", "a]"),
            (r"^[\p{L}&&a]+$", "b&", "1"),
            (r"^\p{L}\/$", "a/", "a"),
            (r"^[\p{L}\p{M}]{1,64}$", "é", ""),
        ] {
            let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(compiled.is_match(matching), "{pattern}: {matching}");
            assert!(!compiled.is_match(other), "{pattern}: {other}");
            assert_eq!(compiled.as_str(), pattern);
        }
        for pattern in [r"\p{Nonsense}", r"[\p{L}--a]", r"\p{L}(?=a)", "\\p{L}\\"] {
            let error = Pattern::new(pattern).unwrap_err();
            assert_eq!(error.reason(), "it is not understood", "{pattern}");
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
        let error = Pattern::new(r"^(\p{L}{1,99}){20}$").unwrap_err();
        assert_eq!(error.reason(), "it is too large");
    }
}
