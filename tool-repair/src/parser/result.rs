//! The result of a text with a slip, looked at as a whole: what it says may contradict the slip.

use std::collections::HashSet;

use super::escape;
use super::literal::{self, Form};
use crate::fixes::FixCode;

/// What the result, a text of JSON, says against a slip of this kind.
pub(super) fn contradiction(text: &str, slip: FixCode) -> Option<&'static str> {
    let contents = |token: &'_ str| is_drive_path(token.get(1..).unwrap_or_default());
    match slip {
        FixCode::UnknownEscape => tokens(text).any(contents).then_some(DRIVE_PATH),
        FixCode::MissingComma | FixCode::InnerQuote => has_duplicate_key(text)
            .then_some("a slip in a text with a key twice in one object: two may have become one"),
        _ => None,
    }
}

pub(super) const DRIVE_PATH: &str = "a path of a drive, whose backslashes may be escapes";

/// Whether a string with these contents begins as a path of a drive and holds an escape that may be two characters: `C:\new`.
pub(super) fn is_drive_path(contents: &str) -> bool {
    let [letter, b':', b'\\', next, after, ..] = contents.as_bytes() else {
        return false;
    };
    letter.is_ascii_alphabetic()
        && next.is_ascii_alphanumeric()
        && after.is_ascii_alphanumeric()
        && escape::escapes(contents).any(|(escape, _)| "abfnrtv01234567".contains(escape))
}

/// Whether an object has a key twice.
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

/// The strings of a text of JSON, and the colons and braces between them.
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
