//! Bodies of responses that are not streams.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;

use super::failure::HttpFailure;
use crate::client::http_service::HttpBody;

/// Maximum number of bytes of an error that are read, if the limit of a message is lower.
const ERROR_BYTES: usize = 64 << 10;
/// Maximum number of bytes of an error of which a message shows a part. The rest of a long body is not read twice.
const SHOWN_BYTES: usize = 16 << 10;
/// Maximum number of characters of an error's text in a message.
const TEXT_CHARS: usize = 200;

/// Reads a body. A body above the limit is not read.
pub(super) async fn read(mut body: HttpBody, limit: usize) -> Result<Bytes, HttpFailure> {
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(HttpFailure::TooLarge {
            size: format!("{announced} bytes"),
        });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(announced).unwrap_or_default());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| HttpFailure::Interrupted(error.to_string()))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(HttpFailure::TooLarge {
                size: format!("more than {limit} bytes"),
            });
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes.into())
}

/// Reads the body of a response without success.
pub(super) async fn read_error(body: HttpBody, limit: usize) -> Bytes {
    read(body, limit.max(ERROR_BYTES)).await.unwrap_or_default()
}

/// Returns the failure of a response whose body is not a message.
pub(super) fn status_failure(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> HttpFailure {
    let mut text = String::new();
    // A page would not help.
    if !body.trim_ascii().is_empty() && !media_type(headers).contains("html") {
        let sent = String::from_utf8_lossy(body.get(..SHOWN_BYTES).unwrap_or(body));
        let shown = sent.split_whitespace().collect::<Vec<_>>().join(" ");
        text = format!(" ({})", shown.chars().take(TEXT_CHARS).collect::<String>());
    }
    HttpFailure::Status { status, text }
}

/// Returns the encoding of a compressed body, which an HTTP client that decompresses bodies removes.
pub(super) fn unread_encoding(headers: &HeaderMap) -> Option<String> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let encoding = encodings.find(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))?;
    let text = String::from_utf8_lossy(encoding.as_bytes());
    Some(text.chars().take(TEXT_CHARS).collect())
}

/// Returns the media type in lower case, without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let sent = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let sent = sent.and_then(|sent| sent.split(';').next()).unwrap_or_default();
    sent.trim().to_ascii_lowercase()
}
