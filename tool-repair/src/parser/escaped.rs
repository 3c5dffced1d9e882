//! Unescapes a text that is escaped as a whole, like the contents of a string: `{\"a\": 1}`.

use super::failure::{Failure, Repair};
use super::state::SPACE;
use crate::fixes::{FixCode, Fixes, Reason};
use crate::limits::Limits;
use crate::scan::{Deviation, Place, Scanner};

/// Removes one level of escapes if an escaped quote follows the opening brackets. The result must be JSON.
pub(super) fn unescape_document(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
) -> Option<Result<Repair, Failure>> {
    let inside = matches!(deviation.place, Place::FirstKey | Place::FirstItem);
    let outermost = sent?.trim_matches(['{', '[', ' ', '\n', '\r', '\t']).is_empty();
    if !inside || !outermost || !rest.trim_start_matches(SPACE).starts_with('\\') {
        return None;
    }
    let text = unescape(rest)?;
    let first = text.trim_start_matches(SPACE);
    if !first.starts_with('"') && !first.is_empty() {
        return None;
    }
    let refused = |message| Err(Failure::Refused(Reason::new(deviation.at, message)));
    let mut scanner = Scanner::resumed(limits, deviation);
    Some(if scanner.scan(&text).is_err() {
        refused("the text is escaped as a whole, and no JSON without the escapes")
    } else if scanner.finish().is_err() {
        let message = "the text, which is escaped as a whole, ends before the value does";
        let reason = Reason::new(deviation.at + rest.len(), message);
        Err(Failure::Truncated(reason))
    } else if only_quotes_are_escaped(&text) {
        refused("the text is escaped as a whole, and perhaps only its quotes are: a backslash may be one")
    } else {
        let mut fixes = Fixes::default();
        fixes.add(FixCode::EscapedWhole, deviation.at);
        let tool = None;
        Ok(Repair { text, fixes, tool })
    })
}

/// Returns whether only the quotes may be escaped, so that a backslash may be literal, `{\"path\": \"C:\temp\"}`: the
/// text has no escaped backslash, and an escape other than a line break.
fn only_quotes_are_escaped(text: &str) -> bool {
    let escapes = || text.match_indices('\\').map(|(at, _)| text.split_at(at));
    let is_ambiguous = |(before, after): (&str, &str)| match after.as_bytes().get(1) {
        Some(b'n') => before.ends_with(':'),
        // Escapes in `https:\/\/`, and of letters beyond ASCII, are never literal backslashes.
        Some(b'/') => !before.ends_with([':', '/']),
        Some(b'u') => after.starts_with("\\u00"),
        _ => true,
    };
    !text.contains("\\\\") && !text.contains("\\\"") && escapes().any(is_ambiguous)
}

/// Unescapes the contents of a JSON string; `None` for invalid contents. A `\u` escape stays, for the inner string.
fn unescape(contents: &str) -> Option<String> {
    let mut text = String::with_capacity(contents.len());
    let mut rest = contents;
    while let Some(plain) = rest.find(['\\', '"']) {
        let (before, after) = rest.split_at(plain);
        text.push_str(before);
        text.push_str(match after.as_bytes() {
            [b'\\', b'"', ..] => "\"",
            [b'\\', b'\\', ..] => "\\",
            [b'\\', b'/', ..] => "/",
            [b'\\', b'n', ..] => "\n",
            [b'\\', b'r', ..] => "\r",
            [b'\\', b't', ..] => "\t",
            [b'\\', b'u', ..] => "\\u",
            [b'\\'] => "",
            _ => return None,
        });
        rest = after.get(2..).unwrap_or_default();
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_one_level_of_escapes() {
        for (escaped, text) in [
            (r#"\"a\": 1}"#, "\"a\": 1}"),
            (r#"\n  \"a\": \"b\\n\\\"\"}"#, "\n  \"a\": \"b\\n\\\"\"}"),
            (r"\u00e9\/\t", "\\u00e9/\t"),
            ("a\\", "a"),
        ] {
            assert_eq!(unescape(escaped).as_deref(), Some(text), "{escaped}");
        }
    }

    #[test]
    fn rejects_partly_escaped_texts() {
        for escaped in [r#"\"a\": "b"}"#, r"\x41"] {
            assert_eq!(unescape(escaped), None, "{escaped}");
        }
    }
}
