//! Keys that an object has twice: in a text with a slip, two objects may have become one.

use std::collections::HashSet;

use super::literal::{self, Form};

/// Whether an object of a text of JSON has a key twice.
pub(super) fn has_duplicate_key(text: &str) -> bool {
    let mut objects: Vec<HashSet<&str>> = Vec::new();
    let (mut rest, mut last) = (text, "");
    while let Some(at) = rest.find(['"', ':', '{', '}']) {
        let (_, token) = rest.split_at(at);
        let string = token
            .starts_with('"')
            .then(|| literal::end(token, Form::DOUBLE))
            .flatten();
        let (token, behind) = token.split_at(string.unwrap_or(1));
        rest = behind;
        match token {
            ":" if objects.last_mut().is_some_and(|keys| !keys.insert(last)) => return true,
            "{" => objects.push(HashSet::new()),
            "}" => drop(objects.pop()),
            token => last = token,
        }
    }
    false
}
