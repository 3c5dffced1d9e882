//! Validates and encodes the ids in request paths, so that no id leads to another path of the upstream.

use axum::http::Uri;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Maximum length of an id in bytes.
const MAX_ID: usize = 256;

/// Characters that a segment of a path cannot have (RFC 3986 § 3.3).
const NOT_IN_A_SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the path and the query of `uri`; the id after `prefix` is decoded and encoded again. Returns `None` if the id is invalid or too
/// long. An id is invalid if it could lead to another path: servers and proxies may decode an id twice, treat `\` as `/`, or resolve `..`.
pub(super) fn checked(prefix: &str, uri: &Uri) -> Option<Uri> {
    let sent = uri.path().strip_prefix(prefix)?;
    let mut path = prefix.to_owned();
    let mut length = 0;
    for (index, segment) in sent.split('/').enumerate() {
        let segment = percent_decode_str(segment).decode_utf8().ok()?;
        length += segment.len() + 1;
        if !segment.split('/').all(is_part) {
            return None;
        }
        if index > 0 {
            path.push('/');
        }
        path.extend(utf8_percent_encode(&segment, NOT_IN_A_SEGMENT));
    }
    if length - 1 > MAX_ID {
        return None;
    }
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    path.parse().ok()
}

/// Returns whether a part between slashes is neither empty nor a dot segment, and contains no special character.
fn is_part(part: &str) -> bool {
    let is_special = |character: char| character.is_control() || matches!(character, '\\' | '?' | '#' | '%');
    !matches!(part, "" | "." | "..") && !part.contains(is_special)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "/v1/models/";

    #[test]
    fn ids_are_decoded_once_and_encoded_again() {
        let longest = "x".repeat(MAX_ID);
        for (id, expected) in [
            ("claude-sonnet-4-5", "claude-sonnet-4-5"),
            ("llama3:8b@main", "llama3:8b@main"),
            ("meta-llama%2FLlama-3", "meta-llama%2FLlama-3"),
            ("meta-llama/Llama-3", "meta-llama/Llama-3"),
            ("%61%2e%2e?limit=1&x=%2F", "a..?limit=1&x=%2F"),
            ("a%20b%5B%C3%A9", "a%20b%5B%C3%A9"),
            ("...", "..."),
            (&longest, &longest),
        ] {
            let sent = format!("{PREFIX}{id}").parse().unwrap();
            assert_eq!(
                checked(PREFIX, &sent).unwrap().to_string(),
                format!("{PREFIX}{expected}")
            );
        }
    }

    #[test]
    fn rejects_ids_that_could_be_another_path() {
        for id in [
            "",
            ".",
            "..",
            "%2e%2E",
            "a/..",
            "a%2F..",
            "a%2F%2Fb",
            "a//b",
            "a/",
            "%2Fa",
            "a%5Cb",
            "a%3Fb",
            "a%23b",
            "a%25b",
            "a%252e",
            "%00",
            "a%0Ab",
            "a%7F",
            "%C2%85",
            "%ff",
            "..%2Fmessages",
            "a/../../files",
            &"x".repeat(MAX_ID + 1),
            &format!("{0}/{0}", "x".repeat(MAX_ID / 2)),
        ] {
            let sent = format!("{PREFIX}{id}").parse().unwrap();
            assert_eq!(checked(PREFIX, &sent), None, "{id}");
        }
    }
}
