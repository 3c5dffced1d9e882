//! [`UpstreamHeaders`]: headers of the upstream, as a turn keeps them.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use bytes::BytesMut;

/// Headers of the upstream's first response that clients receive: all headers except those that describe the body. A list takes a fourth of the
/// memory of a map, and each kept turn has one. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UpstreamHeaders(Arc<[(HeaderName, HeaderValue)]>);

impl UpstreamHeaders {
    pub(crate) fn new(headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        let headers = headers.into_iter();
        Self(headers.filter(|(name, _)| !is_of_the_body(name)).collect())
    }

    /// Copies the headers of a response. The received values share the read buffer of their connection, which is many times larger and must
    /// not be kept with the turn, so the values are copied into a buffer of the turn.
    pub(crate) fn copied(received: &HeaderMap) -> Self {
        let kept = || received.iter().filter(|(name, _)| !is_of_the_body(name));
        let length = kept().map(|(_, value)| value.len()).sum();
        let mut values = BytesMut::with_capacity(length);
        let copies = kept().map(|(name, value)| {
            values.extend_from_slice(value.as_bytes());
            let copy = HeaderValue::from_maybe_shared(values.split().freeze());
            (name.clone(), copy.unwrap_or_else(|_| value.clone()))
        });
        Self(copies.collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(HeaderName, HeaderValue)> {
        self.0.iter()
    }

    /// Appends the headers to the headers of a response.
    pub(crate) fn append_to(&self, headers: &mut HeaderMap) {
        for (name, value) in self.iter() {
            headers.append(name, value.clone());
        }
    }
}

pub(crate) const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Returns whether a header describes the upstream's body, or how the upstream sends it.
fn is_of_the_body(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "content-type"
            | "content-length"
            | "content-encoding"
            | "transfer-encoding"
            | "cache-control"
            | "x-accel-buffering"
    )
}

#[cfg(test)]
mod tests {
    use axum::http::header;
    use bytes::Bytes;

    use super::*;

    #[test]
    fn copies_share_no_buffer_and_lack_headers_of_the_body() {
        let buffer = Bytes::from(vec![b'x'; 100]);
        let value = |end| HeaderValue::from_maybe_shared(buffer.slice(..end)).unwrap();
        let received = [(header::ETAG, value(3)), (header::CONTENT_LENGTH, value(1))];
        let copied = UpstreamHeaders::copied(&HeaderMap::from_iter(received));
        assert!(buffer.is_unique());
        assert_eq!(
            copied,
            UpstreamHeaders::new([(header::ETAG, HeaderValue::from_static("xxx"))])
        );
    }
}
