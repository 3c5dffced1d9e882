//! `POST /v1/chat/completions` and `/v1/responses`. Requests and responses pass byte for byte, except for the repaired arguments of calls.
//! The gateway runs none of these calls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::stream::{Dialect, StreamRepairer};

use super::completion_text::{CompletionText, recovered_completion};
use super::response_repair::{self, RepairedResponse};
use crate::off_worker::in_place;
use crate::server::admit::request_body::{ReadRequest, read_bytes};
use crate::server::body::holding::Holding;
use crate::server::drive::forward;
use crate::server::observe::log::RepairLine;
use crate::server::turns::shared::Shared;
use crate::upstream::text_calls::expected_calls::ExpectedCalls;
use crate::upstream::transport::response::{MAX_RESPONSE, has_type, is_stream};
use crate::wire::error::ApiError;
use crate::wrapped_body::{BodyWrapper, FramePoll, WrappedBody};

pub(crate) async fn chat_completions(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, ApiError> {
    pass(shared, request, Dialect::ChatCompletions).await
}

pub(crate) async fn responses(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, ApiError> {
    pass(shared, request, Dialect::Responses).await
}

async fn pass(shared: Arc<Shared>, request: Request, dialect: Dialect) -> Result<Response, ApiError> {
    let ReadRequest { parts, body, .. } = read_bytes(&shared, request).await?;
    let began = Instant::now();
    let text_calls = shared
        .upstream
        .text_calls()
        .filter(|_| dialect == Dialect::ChatCompletions);
    let text_calls = text_calls.and_then(|reader| reader.expected_in_completion(&body));
    let response = forward::send(&shared, parts, body).await;
    // A client that disconnects before this point has had no response.
    let mut line = RepairLine::new(shared.metrics.clone(), dialect, began);
    line.status = match &response {
        Ok(response) => response.status(),
        Err(error) => error.status,
    };
    let response = response?;
    let fixing = &shared.settings.format_fixing;
    let headers = response.headers();
    let is_read = fixing.enabled || text_calls.is_some();
    if !is_read || !response.status().is_success() || is_encoded(headers) {
        return Ok(held(response, line));
    }
    if is_stream(headers) {
        let mut response = response;
        if let Some(expected) = text_calls {
            response = response.map(|body| TextCallBody::wrap(body, expected));
            response.headers_mut().remove(header::CONTENT_LENGTH);
        }
        if !fixing.enabled {
            return Ok(held(response, line));
        }
        let repairer = StreamRepairer::new(dialect, fixing.clone());
        let mut response = response.map(|body| RepairingBody::wrap(body, repairer, line));
        // The repair changes the length.
        response.headers_mut().remove(header::CONTENT_LENGTH);
        return Ok(response);
    }
    if has_type(headers, "application/json") {
        let repair = WholeRepair {
            dialect,
            fixing,
            text_calls,
        };
        let response = repair.apply(response, &mut line).await;
        return Ok(held(response, line));
    }
    Ok(held(response, line))
}

/// Writes the log line after the response has been sent.
fn held(response: Response, line: RepairLine) -> Response {
    response.map(|body| Body::new(WrappedBody::new(body, Holding(line))))
}

/// Returns whether a body is compressed. A compressed body cannot be read; the request to the upstream does not accept one.
fn is_encoded(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Repair of a response that is not streamed.
struct WholeRepair<'f> {
    dialect: Dialect,
    fixing: &'f FormatFixing,
    /// Calls that the texts may have.
    text_calls: Option<ExpectedCalls>,
}

impl WholeRepair<'_> {
    /// Repairs a response. An unreadable response passes unchanged.
    async fn apply(self, response: Response, line: &mut RepairLine) -> Response {
        let (mut head, body) = response.into_parts();
        let bytes = match read_whole(body, MAX_RESPONSE, line).await {
            Ok(bytes) => bytes,
            Err(unread) => return Response::from_parts(head, unread),
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Response::from_parts(head, bytes.into());
        };
        let expected = self.text_calls.as_ref();
        let with_calls =
            expected.and_then(|expected| in_place(text.len(), || recovered_completion(text, expected)));
        let mut repaired = RepairedResponse::default();
        if self.fixing.enabled {
            let text = with_calls.as_deref().unwrap_or(text);
            repaired = response_repair::repair(self.dialect, self.fixing, text);
        }
        line.calls = repaired.calls;
        line.count(&repaired.records);
        if let Some(error) = repaired.error {
            line.status = StatusCode::BAD_GATEWAY;
            let kind = [(header::CONTENT_TYPE, "application/json")];
            return (StatusCode::BAD_GATEWAY, kind, error).into_response();
        }
        let Some(text) = repaired.text.or(with_calls) else {
            return Response::from_parts(head, bytes.into());
        };
        head.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(head, text.into())
    }
}

/// Reads a body to its end. If the body is too large or truncated, the error is a body that begins with the received bytes.
async fn read_whole(mut body: Body, limit: usize, line: &mut RepairLine) -> Result<Vec<u8>, Body> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let error = match frame.map(Frame::into_data) {
            Ok(Ok(data)) => {
                bytes.extend_from_slice(&data);
                None
            }
            Ok(Err(_)) => None,
            Err(error) => {
                line.status = StatusCode::BAD_GATEWAY;
                Some(Err(error))
            }
        };
        if error.is_some() || bytes.len() > limit {
            let read = stream::iter([Ok(Bytes::from(bytes))]).chain(stream::iter(error));
            let body = Body::from_stream(read.chain(body.into_data_stream()));
            return Err(body);
        }
    }
    Ok(bytes)
}

/// A stream of chunks whose texts may have calls.
struct TextCallBody {
    text: CompletionText,
    /// End of the stream: trailers or an error.
    last: Option<Result<Frame<Bytes>, axum::Error>>,
    is_over: bool,
}

impl TextCallBody {
    fn wrap(body: Body, expected: ExpectedCalls) -> Body {
        let text_calls = Self {
            text: CompletionText::new(expected),
            last: None,
            is_over: false,
        };
        Body::new(WrappedBody::new(body, text_calls))
    }

    fn end(&mut self, last: Option<Result<Frame<Bytes>, axum::Error>>, out: &mut Vec<u8>) {
        self.text.finish(out);
        self.last = last;
        self.is_over = true;
    }
}

impl BodyWrapper<Body> for TextCallBody {
    fn poll_frame(&mut self, body: &mut Body, cx: &mut Context<'_>) -> FramePoll<axum::Error> {
        while !self.is_over {
            let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
            let mut out = Vec::new();
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.text.push(&data, &mut out),
                Some(Ok(Err(trailers))) => self.end(Some(Ok(trailers)), &mut out),
                Some(Err(error)) => self.end(Some(Err(error)), &mut out),
                None => self.end(None, &mut out),
            }
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
        }
        Poll::Ready(self.last.take())
    }

    /// Returns `false`, since text may be held after the end of the body.
    fn is_end_stream(&self, _: &Body) -> bool {
        false
    }

    fn size_hint(&self, _: &Body) -> SizeHint {
        SizeHint::default()
    }
}

/// A stream of events whose calls are repaired.
struct RepairingBody {
    repairer: StreamRepairer,
    line: RepairLine,
    /// End of the stream: trailers or an error.
    last: Option<Result<Frame<Bytes>, axum::Error>>,
    is_over: bool,
}

impl RepairingBody {
    fn wrap(body: Body, repairer: StreamRepairer, line: RepairLine) -> Body {
        let repairing = Self {
            repairer,
            line,
            last: None,
            is_over: false,
        };
        Body::new(WrappedBody::new(body, repairing))
    }

    /// Repairs a piece of the upstream's stream; `None` is the end. Returns the bytes for the client.
    fn push(&mut self, frame: Option<Result<Frame<Bytes>, axum::Error>>) -> Vec<u8> {
        let mut out = Vec::new();
        match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => self.repairer.push(&data, &mut out),
            Some(Ok(Err(trailers))) => {
                self.repairer.finish(&mut out);
                self.last = Some(Ok(trailers));
                self.is_over = true;
            }
            Some(Err(error)) => {
                // A partial call is not completed, but all received bytes are sent.
                self.repairer.abort(&mut out);
                self.line.status = StatusCode::BAD_GATEWAY;
                self.last = Some(Err(error));
                self.is_over = true;
            }
            None => {
                self.repairer.finish(&mut out);
                self.is_over = true;
            }
        }
        // After a failed repair, no more bytes are sent.
        self.is_over |= self.repairer.failed();
        self.line.calls = self.repairer.calls();
        self.line.count(&self.repairer.take_records());
        out
    }
}

impl BodyWrapper<Body> for RepairingBody {
    fn poll_frame(&mut self, body: &mut Body, cx: &mut Context<'_>) -> FramePoll<axum::Error> {
        while !self.is_over {
            let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
            let out = self.push(frame);
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
        }
        Poll::Ready(self.last.take())
    }

    /// Returns `false`, since the repairer may hold data after the end of the body.
    fn is_end_stream(&self, _: &Body) -> bool {
        false
    }

    fn size_hint(&self, _: &Body) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::observe::metrics::Metrics;

    #[tokio::test]
    async fn response_over_the_limit_passes_unread() {
        let body = || Body::from_stream(stream::iter(["one ", "two ", "three"].map(Ok::<_, axum::Error>)));
        let mut line = RepairLine::new(Metrics::new(), Dialect::Responses, Instant::now());
        assert_eq!(read_whole(body(), 13, &mut line).await.unwrap(), b"one two three");
        for limit in [0, 4, 12] {
            let unread = read_whole(body(), limit, &mut line).await.unwrap_err();
            assert_eq!(unread.collect().await.unwrap().to_bytes(), "one two three");
        }
        assert_eq!(line.status, StatusCode::OK);
    }
}
