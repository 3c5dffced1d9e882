//! Framing of requests, which decides where a request ends. A proxy in front of the gateway must find an equal end.

use axum::http::{HeaderMap, header};

use crate::wire::error::ApiError;

/// Rejects a `transfer-encoding` other than one `chunked` (RFC 9112 § 6.1). hyper looks only at the last encoding.
pub(super) fn check(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut encodings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(encoding) = encodings.next() else {
        return Ok(());
    };
    if encoding.as_bytes().eq_ignore_ascii_case(b"chunked") && encodings.next().is_none() {
        return Ok(());
    }
    Err(ApiError::invalid(
        "invalid header `transfer-encoding`; expected one with the value `chunked`",
    ))
}
