//! Passes requests and responses on, byte for byte. What the model said is read on the way, so that the session is known later.

use std::collections::VecDeque;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use futures_util::FutureExt as _;
use http_body::Body as HttpBody;
use http_body_util::{BodyExt, Limited};
use serde_json::{Map, Value};
use tool_runtime::sse::{Frame, SseDecoder};

use super::guard;
use super::idle_body::IdleBody;
use super::principal;
use super::shared::Shared;
use crate::turn::event::Event;
use crate::wire::assembly::Assembly;
use crate::wire::block::Block;
use crate::wire::delta::{Delta, TextEvent, TextRun};
use crate::wire::error::ApiError;
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;

/// Sends a client's request to the upstream with this body; that it cannot be reached is an error that clients retry.
pub(super) async fn send(
    shared: &Shared,
    client_request: &Parts,
    body: Bytes,
) -> Result<Response<Body>, ApiError> {
    let mut request = Request::new(body);
    *request.method_mut() = client_request.method.clone();
    *request.uri_mut() = client_request.uri.clone();
    *request.headers_mut() = client_request.headers.clone();
    let hops = guard::hops(&client_request.headers) + 1;
    request.headers_mut().insert(guard::HOP, hops.into());
    if !shared.keys.is_empty() {
        // It is for the gateway, and none of the upstream's business.
        principal::remove_key(&shared.secret, &shared.keys, request.headers_mut());
    }
    let warn = |error: &dyn Display| {
        tracing::warn!(upstream = shared.upstream.name(), %error, "no response of the upstream");
    };
    let idle = shared.upstream_idle;
    match tokio::time::timeout(idle, shared.upstream.send(request)).await {
        Ok(Ok(response)) => Ok(response.map(|body| IdleBody::wrap(body, idle))),
        Ok(Err(error)) => {
            warn(&error);
            Err(ApiError::new(StatusCode::BAD_GATEWAY, error.to_string()))
        }
        Err(_) => {
            let seconds = idle.as_secs_f64();
            let message = format!("the upstream did not answer within {seconds} s");
            warn(&message);
            Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, message))
        }
    }
}

/// Whether a response is a stream of events.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    has_type(headers, "text/event-stream")
}

/// Whether a body is of this media type, whatever its parameters.
pub(super) fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|sent| sent.to_str().ok());
    let media_type = sent.and_then(|sent| sent.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(wanted))
}

/// How many bytes of a response are kept: an upstream must not fill the memory. No stored record is larger.
pub(super) const MAX_RESPONSE: usize = 256 << 20;

/// What a client is sent, as blocks, read from the bytes that pass.
#[derive(Debug)]
pub(super) struct PassingMessage {
    stream: Option<SseDecoder>,
    bytes: Vec<u8>,
    assembly: Assembly,
    usage: Map<String, Value>,
    /// How many bytes may still come.
    rest: usize,
    is_complete: bool,
    is_lost: bool,
}

impl PassingMessage {
    pub(super) fn new(is_stream: bool) -> Self {
        Self::with_limit(is_stream, MAX_RESPONSE)
    }

    fn with_limit(is_stream: bool, limit: usize) -> Self {
        Self {
            rest: limit,
            stream: is_stream.then(SseDecoder::new),
            bytes: Vec::new(),
            assembly: Assembly::default(),
            usage: Map::new(),
            is_complete: false,
            is_lost: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(rest) = self.rest.checked_sub(bytes.len()) else {
            // It passes all the same, and its session does not go on from it.
            *self = Self {
                is_lost: true,
                ..Self::with_limit(self.stream.is_some(), 0)
            };
            return;
        };
        self.rest = rest;
        let Some(decoder) = &mut self.stream else {
            self.bytes.extend_from_slice(bytes);
            return;
        };
        decoder.push(bytes);
        while let Some(frame) = decoder.next_frame() {
            // What is too large to be read makes the message another.
            self.is_lost |= matches!(frame, Frame::Oversized { .. });
            let Frame::Event(event) = frame else { continue };
            if let Some(event) = TextEvent::parse(event.raw()) {
                self.assembly.push_text(&event);
                continue;
            }
            let Some(data) = event.data() else { continue };
            // Checked once, and not again for each string in it.
            let Ok(data) = std::str::from_utf8(&data) else {
                continue;
            };
            let event = StreamEvent::parse(data);
            let mut counted = match event.and_then(|event| self.assembly.push(event)) {
                Some(StreamEvent::MessageStart(fields) | StreamEvent::MessageDelta(fields)) => fields,
                Some(StreamEvent::MessageStop) => {
                    self.is_complete = true;
                    continue;
                }
                _ => continue,
            };
            // Cumulative within a message.
            if let Some(Value::Object(counted)) = counted.get_mut("usage").map(Value::take) {
                self.usage.extend(counted);
            }
        }
    }

    /// The message, if it was complete.
    fn finish(self) -> Option<PassedMessage> {
        if self.stream.is_some() {
            return (self.is_complete && !self.is_lost).then(|| PassedMessage {
                blocks: self.assembly.into_blocks(),
                usage: self.usage,
            });
        }
        let message = WholeMessage::parse(std::str::from_utf8(&self.bytes).ok()?)?;
        let (blocks, usage) = message.into_parts();
        Some(PassedMessage { blocks, usage })
    }
}

/// A message that has passed.
#[derive(Debug)]
pub(super) struct PassedMessage {
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Map<String, Value>,
}

/// A body that shows each piece to a reader on its way. What completes the message waits until the turn is stored: a client that
/// has the message can go on from it.
pub(super) struct Watched<S> {
    body: Body,
    message: Option<PassingMessage>,
    end: Option<S>,
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    held: Option<HeldFrame>,
}

type HeldFrame = Option<Result<http_body::Frame<Bytes>, axum::Error>>;

impl<S, F> Watched<S>
where
    S: FnOnce(Option<PassedMessage>) -> F + Send + Unpin + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    /// `end` gets the message, if it was complete.
    pub(super) fn wrap(body: Body, message: PassingMessage, end: S) -> Body {
        Body::new(Self {
            body,
            message: Some(message),
            end: Some(end),
            ending: None,
            held: None,
        })
    }

    /// Reads what passes; whether it has to wait.
    fn read(&mut self, frame: &HeldFrame) -> bool {
        let Some(message) = &mut self.message else {
            return false;
        };
        let is_over = match frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    message.push(data);
                }
                // Behind its announced length, no one asks for more.
                message.is_complete || self.body.size_hint().exact() == Some(0)
            }
            Some(Err(_)) | None => true,
        };
        if !is_over {
            return false;
        }
        let message = self.message.take().and_then(PassingMessage::finish);
        let Some(end) = self.end.take() else {
            return false;
        };
        self.ending = Some(Box::pin(end(message)));
        true
    }
}

impl<S, F> HttpBody for Watched<S>
where
    S: FnOnce(Option<PassedMessage>) -> F + Send + Unpin + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        if self.held.is_none() {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
            if !self.read(&frame) {
                return Poll::Ready(frame);
            }
            self.held = Some(frame);
        }
        if let Some(ending) = &mut self.ending {
            std::task::ready!(ending.as_mut().poll(cx));
            self.ending = None;
        }
        Poll::Ready(self.held.take().flatten())
    }

    fn is_end_stream(&self) -> bool {
        // The end has to be polled, or it would not be seen.
        false
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.held {
            Some(Some(Ok(frame))) => {
                let held = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.body
                    .size_hint()
                    .exact()
                    .map_or_else(http_body::SizeHint::default, |rest| {
                        http_body::SizeHint::with_exact(rest.saturating_add(held))
                    })
            }
            _ => self.body.size_hint(),
        }
    }
}

/// How many pieces a response may have after its message, and how long they may take; else its connection is closed.
const MAX_REST: usize = 16;
const REST_TIME: Duration = Duration::from_secs(1);

/// The events of an upstream's response, as a turn takes them.
pub(super) struct UpstreamEvents {
    body: Body,
    decoder: SseDecoder,
    is_stream: bool,
    ready: VecDeque<Result<Event, String>>,
    bytes: Vec<u8>,
    is_over: bool,
}

impl UpstreamEvents {
    pub(super) fn new(response: Response<Body>) -> Self {
        Self::with_limit(response, MAX_RESPONSE)
    }

    fn with_limit(response: Response<Body>, limit: usize) -> Self {
        Self {
            is_stream: is_stream(response.headers()),
            body: Body::new(Limited::new(response.into_body(), limit)),
            decoder: SseDecoder::new(),
            ready: VecDeque::new(),
            bytes: Vec::new(),
            is_over: false,
        }
    }

    /// The next event; an error says how the response broke off.
    pub(super) async fn next(&mut self) -> Result<Event, String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, Ok(Event::Stream(StreamEvent::MessageStop))) {
                    self.read_rest();
                }
                return event;
            }
            if self.is_over {
                return Err("the upstream's response ended before its message did".to_owned());
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.push(&data);
                    }
                }
                Some(Err(error)) => return Err(format!("the upstream's response broke off: {error}")),
                None => {
                    self.is_over = true;
                    if self.is_stream {
                        self.decoder.finish();
                        self.take_frames();
                    } else {
                        self.whole()?;
                    }
                }
            }
        }
    }

    /// Reads the end of the response, which comes after that of its message: only then can its connection serve the next request.
    fn read_rest(&mut self) {
        if self.is_over {
            return;
        }
        let mut body = std::mem::take(&mut self.body);
        let mut rest = Box::pin(async move {
            for _ in 0..MAX_REST {
                let Some(Ok(_)) = body.frame().await else { break };
            }
        });
        if rest.as_mut().now_or_never().is_none() {
            tokio::spawn(tokio::time::timeout(REST_TIME, rest));
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.is_stream {
            self.decoder.push(bytes);
            self.take_frames();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn take_frames(&mut self) {
        while let Some(frame) = self.decoder.next_frame() {
            // A part of the message that cannot be read is not left out.
            match frame {
                Frame::Event(event) if event.ended() => {
                    if let Some(event) = TextEvent::parse(event.raw()) {
                        push_text(&mut self.ready, &event);
                        continue;
                    }
                    let Some(data) = event.data().filter(|data| !data.is_empty()) else {
                        continue;
                    };
                    let event = std::str::from_utf8(&data)
                        .ok()
                        .and_then(StreamEvent::parse)
                        .map(Event::Stream)
                        .ok_or_else(|| "the upstream sent an event that is none of the API's".to_owned());
                    self.ready.push_back(event);
                }
                Frame::Oversized { .. } => {
                    let error = "the upstream sent an event that is too large to be read";
                    self.ready.push_back(Err(error.to_owned()));
                }
                _ => {}
            }
        }
    }

    /// Reads a message that is not streamed; one with calls as the events of one that is.
    fn whole(&mut self) -> Result<(), String> {
        let unreadable = || "the upstream's response is not a message of the API".to_owned();
        let text = std::str::from_utf8(&self.bytes).map_err(|_| unreadable())?;
        let message = WholeMessage::parse(text).ok_or_else(unreadable)?;
        if message.blocks().iter().all(|block| block.tool_use().is_none()) {
            self.ready.push_back(Ok(Event::Message(message)));
            return Ok(());
        }
        let (start, end) = message.start_and_end();
        let start = Event::Stream(StreamEvent::MessageStart(start));
        let end = [StreamEvent::MessageDelta(end), StreamEvent::MessageStop].map(Event::Stream);
        let events = [start]
            .into_iter()
            .chain(message.blocks().iter().cloned().map(Event::Block))
            .chain(end);
        self.ready.extend(events.map(Ok));
        Ok(())
    }
}

/// Appends an event that appends to a text: to the last one, if that changes the same text.
fn push_text(ready: &mut VecDeque<Result<Event, String>>, event: &TextEvent<'_>) {
    if let Some(Ok(Event::Stream(StreamEvent::BlockDelta {
        delta: Delta::Texts(run),
        ..
    }))) = ready.back_mut()
        && run.push(event)
    {
        return;
    }
    ready.push_back(Ok(Event::Stream(StreamEvent::BlockDelta {
        index: event.index,
        delta: Delta::Texts(TextRun::new(event)),
    })));
}

impl std::fmt::Debug for UpstreamEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamEvents")
            .field("is_stream", &self.is_stream)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

    #[test]
    fn media_types_are_compared_whole_and_without_case() {
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

    #[tokio::test]
    async fn endless_response_is_an_error() {
        for kind in ["text/event-stream", "application/json"] {
            let endless = futures_util::stream::repeat(Ok::<_, std::convert::Infallible>(EVENT));
            let response = Response::builder().header(header::CONTENT_TYPE, kind);
            let response = response.body(Body::from_stream(endless)).unwrap();
            let mut events = UpstreamEvents::with_limit(response, 1000);
            let error = loop {
                match events.next().await {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            assert_eq!(error, "the upstream's response broke off: length limit exceeded");
        }
    }

    /// Some streams panic when they are asked again.
    #[tokio::test]
    async fn body_is_not_read_beyond_its_end() {
        let message = r#"{"type":"message","id":"m","role":"assistant","model":"m","usage":{},"stop_reason":"tool_use",
            "content":[{"type":"tool_use","id":"toolu_a","name":"lookup","input":{}}]}"#;
        let once = futures_util::stream::unfold(Some(message), async |rest| {
            rest.map(|message| (Ok::<_, std::convert::Infallible>(message), None))
        });
        let mut events = UpstreamEvents::new(Response::new(Body::from_stream(once)));
        while !matches!(
            events.next().await.unwrap(),
            Event::Stream(StreamEvent::MessageStop)
        ) {}
    }

    #[test]
    fn passing_message_over_the_limit_is_not_kept() {
        let message = r#"{"id":"m","content":[],"usage":{}}"#;
        let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        for (is_stream, text) in [(false, message), (true, stop)] {
            for (limit, is_kept) in [(text.len(), true), (text.len() - 1, false)] {
                let mut passing = PassingMessage::with_limit(is_stream, limit);
                passing.push(text.as_bytes());
                assert_eq!(passing.finish().is_some(), is_kept, "{text}");
            }
            let mut passing = PassingMessage::with_limit(is_stream, 1000);
            for _ in 0..100 {
                passing.push(EVENT.as_bytes());
            }
            assert!(passing.bytes.is_empty() && passing.finish().is_none());
        }
    }
}
