//! Checks whether the result of a repair contradicts the reading of the slip in the text.

use std::collections::HashSet;

use super::escape;
use super::literal::{self, Form};
use crate::fixes::FixCode;

/// Returns the reason why the result, a JSON text, contradicts a repaired slip; `None` without a contradiction.
pub(super) fn contradiction(text: &str, slip: FixCode) -> Option<&'static str> {
    let contents = |token: &'_ str| is_drive_path(token.get(1..).unwrap_or_default());
    match slip {
        FixCode::UnknownEscape => tokens(text).any(contents).then_some(DRIVE_PATH),
        FixCode::MissingComma | FixCode::MissingColon | FixCode::InnerQuote => has_duplicate_key(text)
            .then_some("a slip in a text with a key twice in one object: two may have become one"),
        _ => None,
    }
}

pub(super) const DRIVE_PATH: &str = "a path of a drive, whose backslashes may be escapes";

/// Returns whether a string with these contents begins like a path with a drive, and has an escape that may be a literal
/// backslash and a letter: `C:\new`.
pub(super) fn is_drive_path(contents: &str) -> bool {
    let [letter, b':', b'\\', next, after, ..] = contents.as_bytes() else {
        return false;
    };
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    letter.is_ascii_alphabetic()
        && is_name(next)
        && is_name(after)
        && escape::escapes(contents).any(|(escape, _)| "abfnrtv01234567".contains(escape))
}

/// Returns whether a string with these contents has the beginning of a path with a drive and unescaped backslashes.
pub(super) fn has_drive(contents: &str) -> bool {
    contents.match_indices(":\\").any(|(at, _)| {
        let (before, after) = contents.split_at(at);
        let mut before = before.chars().rev();
        before.next().is_some_and(|drive| drive.is_ascii_alphabetic())
            && !before.next().is_some_and(char::is_alphanumeric)
            && !after.starts_with(":\\\\")
    })
}

/// Returns whether an object has a duplicate key.
fn has_duplicate_key(text: &str) -> bool {
    let mut objects: Vec<HashSet<&str>> = Vec::new();
    let mut last = "";
    for token in tokens(text) {
        match token {
            ":" if objects.last_mut().is_some_and(|keys| !keys.insert(last)) => return true,
            "{" => objects.push(HashSet::new()),
            "}" => drop(objects.pop()),
            token => last = token,
        }
    }
    false
}

/// Returns the strings of a JSON text, and the colons and braces between them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, token) = rest.split_at(rest.find(['"', ':', '{', '}'])?);
        let string = token.starts_with('"').then(|| literal::end(token, Form::DOUBLE));
        let (token, after) = token.split_at(string.flatten().unwrap_or(1));
        rest = after;
        Some(token)
    })
}
