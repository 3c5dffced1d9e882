//! Lone surrogates in JSON strings. A character outside of the Basic Multilingual Plane is escaped as a pair, which may be split.

use std::borrow::Cow;

use memchr::memmem;

/// Returns a JSON text in which U+FFFD replaces each lone surrogate, since JSON parsers reject lone surrogates.
pub(super) fn without_halves(json: &str) -> Cow<'_, str> {
    rewritten(json, false).text
}

/// A JSON text without lone surrogates.
pub(super) struct Rewritten<'t> {
    pub(super) text: Cow<'t, str>,
    /// Escape of a high surrogate that was removed from the end of the text.
    pub(super) first_half: Option<&'t str>,
}

/// Replaces lone surrogates. With `holds_last`, a high surrogate at the end is removed and returned separately.
pub(super) fn rewritten(json: &str, holds_last: bool) -> Rewritten<'_> {
    let mut out = String::new();
    let mut is_changed = false;
    let mut first_half = None;
    let mut rest = json;
    let mut units = memmem::find_iter(json.as_bytes(), "\\u");
    if !units.any(|at| matches!(json.as_bytes().get(at + 2), Some(b'd' | b'D'))) {
        rest = "";
    }
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        out.push_str(before);
        let (escape, after) = split_escape(escaped);
        rest = after;
        match Half::from_escape(escape) {
            None => out.push_str(escape),
            Some(Half::First) => {
                let (next, after) = split_escape(rest);
                if Half::from_escape(next) == Some(Half::Second) {
                    out.push_str(escape);
                    out.push_str(next);
                    rest = after;
                } else if holds_last && rest.is_empty() {
                    first_half = Some(escape);
                    is_changed = true;
                } else {
                    out.push_str(REPLACEMENT);
                    is_changed = true;
                }
            }
            Some(Half::Second) => {
                out.push_str(REPLACEMENT);
                is_changed = true;
            }
        }
    }
    out.push_str(rest);
    Rewritten {
        text: if is_changed { out.into() } else { json.into() },
        first_half,
    }
}

/// U+FFFD as JSON writes it in an escape.
const REPLACEMENT: &str = "\\ufffd";

/// High or low surrogate of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

impl Half {
    fn from_escape(escape: &str) -> Option<Self> {
        let unit = u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()?;
        match unit {
            0xD800..=0xDBFF => Some(Self::First),
            0xDC00..=0xDFFF => Some(Self::Second),
            _ => None,
        }
    }
}

/// Splits an escape from the text after it. Without a backslash at the beginning, the escape is empty.
fn split_escape(text: &str) -> (&str, &str) {
    let length = match text.as_bytes() {
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        _ => 0,
    };
    text.split_at_checked(length).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_lone_surrogates() {
        for (json, expected) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00 é""#, r#""\uD83D\uDE00 é""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00a""#, r#""\ufffda""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ude00\ud83d\n""#, r#""\ufffd\ufffd\n""#),
            (
                r#"{"\ud83d":["\\ud83d","\\\ud83d"]}"#,
                r#"{"\ufffd":["\\ud83d","\\\ufffd"]}"#,
            ),
            (r#""\u00e9""#, r#""\u00e9""#),
        ] {
            assert_eq!(without_halves(json), expected);
            assert_eq!(matches!(without_halves(json), Cow::Borrowed(_)), json == expected);
        }
    }
}
