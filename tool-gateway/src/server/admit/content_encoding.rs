//! [`ContentEncoding`]: compressed bodies of requests.

use std::io::Read;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::off_worker::BlockingThreads;
use crate::wire::error::ApiError;

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentEncoding {
    Gzip,
    Brotli,
    Zstd,
}

/// Size of the reads from a Brotli stream, in bytes.
const BROTLI_BUFFER: usize = 4096;

impl ContentEncoding {
    /// Removes the encoding from a request's headers. Returns `None` if the body is not compressed.
    pub(super) fn take(headers: &mut HeaderMap) -> Result<Option<Self>, ApiError> {
        if !headers.contains_key(header::CONTENT_ENCODING) {
            return Ok(None);
        }
        let encodings = headers.get_all(header::CONTENT_ENCODING).iter();
        let encodings = encodings.flat_map(|value| value.to_str().unwrap_or("?").split(','));
        let mut encodings = encodings
            .map(|encoding| encoding.trim().to_ascii_lowercase())
            .filter(|encoding| encoding != "identity");
        let encoding = match (encodings.next().as_deref(), encodings.next()) {
            (None, _) => None,
            (Some("gzip" | "x-gzip"), None) => Some(Self::Gzip),
            (Some("br"), None) => Some(Self::Brotli),
            (Some("zstd"), None) => Some(Self::Zstd),
            (Some(_), _) => {
                let message = "unsupported `content-encoding`; expected one of gzip, br, zstd, or none";
                return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
            }
        };
        drop(encodings);
        headers.remove(header::CONTENT_ENCODING);
        headers.remove(header::CONTENT_LENGTH);
        Ok(encoding)
    }

    /// Decompresses a body of at most this many bytes, on a blocking thread, since a short body may be long after decompression.
    pub(super) async fn decompress(self, body: Bytes, limit: usize) -> Result<Bytes, ApiError> {
        match THREADS.run(move || self.read(&body, limit)).await {
            Ok(read) => read,
            Err(_) => Err(ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the gateway is being stopped; send the request to another, or later",
            )),
        }
    }

    fn read(self, body: &[u8], limit: usize) -> Result<Bytes, ApiError> {
        match self {
            Self::Gzip => read_limited(MultiGzDecoder::new(body), limit),
            Self::Brotli => read_limited(Decompressor::new(body, BROTLI_BUFFER), limit),
            Self::Zstd => match StreamingDecoder::new(body) {
                Ok(decoder) => read_limited(decoder, limit),
                Err(error) => Err(invalid(&error)),
            },
        }
    }
}

/// Threads for compressed bodies.
static THREADS: BlockingThreads = BlockingThreads::new(16);

fn read_limited(decoder: impl Read, limit: usize) -> Result<Bytes, ApiError> {
    let mut text = Vec::new();
    let over = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    decoder
        .take(over)
        .read_to_end(&mut text)
        .map_err(|error| invalid(&error))?;
    if text.len() > limit {
        let message = format!(
            "the request is larger than {} MiB after decompression; send less",
            limit >> 20
        );
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    Ok(text.into())
}

fn invalid(error: &dyn std::error::Error) -> ApiError {
    ApiError::invalid(format!("the body does not match its `content-encoding`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(values: &[&str]) -> Result<Option<ContentEncoding>, u16> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::CONTENT_ENCODING, value.parse().unwrap());
        }
        ContentEncoding::take(&mut headers).map_err(|error| error.status.as_u16())
    }

    #[test]
    fn accepts_one_known_encoding() {
        for (values, expected) in [
            (&[][..], Ok(None)),
            (&["identity"], Ok(None)),
            (&["GZIP"], Ok(Some(ContentEncoding::Gzip))),
            (&["identity, br"], Ok(Some(ContentEncoding::Brotli))),
            (&["zstd"], Ok(Some(ContentEncoding::Zstd))),
            (&["deflate"], Err(415)),
            (&["gzip, gzip"], Err(415)),
            (&["gzip", "br"], Err(415)),
        ] {
            assert_eq!(encoding(values), expected, "{values:?}");
        }
    }

    /// `{"a":1}` in each encoding.
    const BODIES: [(ContentEncoding, &[u8]); 3] = [
        (
            ContentEncoding::Gzip,
            include_bytes!("../../../tests/server/compressed/body.json.gz"),
        ),
        (
            ContentEncoding::Brotli,
            include_bytes!("../../../tests/server/compressed/body.json.br"),
        ),
        (
            ContentEncoding::Zstd,
            include_bytes!("../../../tests/server/compressed/body.json.zst"),
        ),
    ];

    #[test]
    fn bodies_are_capped_after_decompression_and_broken_ones_are_errors() {
        let text = include_bytes!("../../../tests/server/compressed/body.json");
        for (encoding, body) in BODIES {
            assert_eq!(
                encoding.read(body, text.len()).unwrap(),
                &text[..],
                "{encoding:?}"
            );
            let error = encoding.read(body, text.len() - 1).unwrap_err();
            assert_eq!(error.status, StatusCode::PAYLOAD_TOO_LARGE, "{encoding:?}");
            for broken in [&body[..body.len() / 2], b"{}"] {
                let error = encoding.read(broken, 1000).unwrap_err();
                assert_eq!(error.status, StatusCode::BAD_REQUEST, "{encoding:?}");
            }
        }
    }
}
