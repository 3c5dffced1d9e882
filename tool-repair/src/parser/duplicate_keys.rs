//! Keys that an object has twice: in a text with a slip, two objects may have become one.

use std::collections::HashSet;

/// Whether an object of a text of JSON has a key twice.
pub(super) fn has_duplicate_key(text: &str) -> bool {
    let mut objects: Vec<HashSet<&str>> = Vec::new();
    let (mut rest, mut last) = (text, "");
    while let Some(at) = rest.find(['"', ':', '{', '}']) {
        let (token, behind) = rest.split_at(at + 1);
        rest = behind;
        match token.as_bytes().last() {
            Some(b'"') => {
                let end = end_of_string(behind);
                last = behind.get(..end).unwrap_or_default();
                rest = behind.get(end + 1..).unwrap_or_default();
            }
            Some(b':') if objects.last_mut().is_some_and(|keys| !keys.insert(last)) => return true,
            Some(b'{') => objects.push(HashSet::new()),
            Some(b'}') => drop(objects.pop()),
            _ => {}
        }
    }
    false
}

/// Where the quote is that closes a string with these contents.
fn end_of_string(contents: &str) -> usize {
    let mut bytes = contents.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    contents.len()
}
