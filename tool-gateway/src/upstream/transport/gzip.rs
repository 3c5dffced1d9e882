//! [`GzipDecoder`]: decodes response bodies that arrive compressed although `accept-encoding: identity` was sent.

use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody as _};
use axum::http::{Response, header};
use flate2::write::MultiGzDecoder;
use http_body::{Frame, SizeHint};

use crate::wrapped_body::{BodyWrapper, FramePoll, WrappedBody};

/// Decodes the frames of a body as they arrive.
struct GzipDecoder {
    /// `None` after the end of the body, or after an error.
    decoder: Option<MultiGzDecoder<Vec<u8>>>,
    /// Whether a byte has arrived. A body without bytes is empty, and not an incomplete archive.
    has_begun: bool,
}

/// Decodes the body of a response with `content-encoding: gzip`. Other responses are returned unchanged.
pub(super) fn decode(mut response: Response<Body>) -> Response<Body> {
    let mut encodings = response.headers().get_all(header::CONTENT_ENCODING).iter();
    let (Some(encoding), None) = (encodings.next(), encodings.next()) else {
        return response;
    };
    let encoding = encoding.to_str().unwrap_or_default().trim();
    if !["gzip", "x-gzip"]
        .iter()
        .any(|gzip| encoding.eq_ignore_ascii_case(gzip))
    {
        return response;
    }
    for name in [header::CONTENT_ENCODING, header::CONTENT_LENGTH] {
        response.headers_mut().remove(name);
    }
    response.map(|body| {
        let decoder = GzipDecoder {
            decoder: Some(MultiGzDecoder::new(Vec::new())),
            has_begun: false,
        };
        Body::new(WrappedBody::new(body, decoder))
    })
}

impl BodyWrapper<Body> for GzipDecoder {
    fn poll_frame(&mut self, body: &mut Body, cx: &mut Context<'_>) -> FramePoll<axum::Error> {
        while let Some(decoder) = &mut self.decoder {
            let frame = ready!(Pin::new(&mut *body).poll_frame(cx)).transpose()?;
            let is_end = frame.is_none();
            let decoded = match frame.map(Frame::into_data) {
                Some(Ok(data)) => {
                    self.has_begun |= !data.is_empty();
                    // Events of a stream are passed on as they arrive.
                    decoder.write_all(&data).and_then(|()| decoder.flush())
                }
                Some(Err(other)) => return Poll::Ready(Some(Ok(other))),
                None if self.has_begun => decoder.try_finish(),
                None => Ok(()),
            };
            let data = std::mem::take(decoder.get_mut());
            if is_end || decoded.is_err() {
                self.decoder = None;
            }
            if let Err(error) = decoded {
                return Poll::Ready(Some(Err(axum::Error::new(error))));
            }
            if !data.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(data.into()))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self, _: &Body) -> bool {
        self.decoder.is_none()
    }

    fn size_hint(&self, _: &Body) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use futures_util::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    fn response(encoding: &str, pieces: Vec<Vec<u8>>) -> Response<Body> {
        let pieces = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
        let response = Response::builder().header(header::CONTENT_ENCODING, encoding);
        let response = response.header(header::CONTENT_LENGTH, 5);
        response.body(Body::from_stream(pieces)).unwrap()
    }

    #[tokio::test]
    async fn flushed_parts_are_decoded_as_they_arrive() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut pieces = Vec::new();
        for part in ["first", "second"] {
            encoder.write_all(part.as_bytes()).unwrap();
            encoder.flush().unwrap();
            pieces.push(std::mem::take(encoder.get_mut()));
        }
        pieces.push(encoder.finish().unwrap());
        let response = decode(response("GZip", pieces));
        assert!(response.headers().is_empty());
        let mut body = response.into_body();
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            frames.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(frames, ["first", "second"]);
    }

    #[tokio::test]
    async fn incomplete_archives_are_errors_and_empty_bodies_are_empty() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"text").unwrap();
        let mut cut = encoder.finish().unwrap();
        cut.truncate(cut.len() - 9);
        for (pieces, expected) in [
            (vec![cut], false),
            (vec![b"text".to_vec()], false),
            (vec![], true),
        ] {
            let body = decode(response("gzip", pieces)).into_body();
            assert_eq!(body.collect().await.is_ok(), expected);
        }
    }

    #[tokio::test]
    async fn other_encodings_are_unchanged() {
        let response = decode(response("br", vec![b"text".to_vec()]));
        assert_eq!(response.headers().len(), 2);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(bytes, "text");
    }
}
