//! Responses of any API: their media type, their text, and the maximum size that is kept in memory.

use std::borrow::Cow;

use axum::http::{HeaderMap, header};

/// Returns whether a response is a stream of events.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    has_type(headers, "text/event-stream")
}

/// Returns whether a body has this media type, with any parameters.
pub(crate) fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|sent| sent.to_str().ok());
    let media_type = sent.and_then(|sent| sent.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(wanted))
}

/// Returns the text of a response, or of an event of a stream. Invalid bytes become U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    // The usual check of UTF-8 takes a tenth of the instructions of `from_utf8_lossy`.
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Maximum number of bytes of a response that are kept in memory. No stored record is larger.
pub(crate) const MAX_RESPONSE: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_compared_completely_and_without_case() {
        for (sent, expected) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            (" Application/JSON ;charset=utf-8", true),
            ("application/json-seq", false),
            ("application/jsonl", false),
            ("text/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, sent.parse().unwrap())]);
            assert_eq!(has_type(&headers, "application/json"), expected, "{sent}");
        }
        assert!(!has_type(&HeaderMap::new(), "application/json"));
    }
}
