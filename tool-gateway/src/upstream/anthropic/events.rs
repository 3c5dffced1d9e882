//! Responses of servers of the Messages API. All server-sent events of upstreams are read here.
//!
//! [`MessageReader`] reads a message from the bytes of a body, also while these bytes pass to a client unchanged; [`turn_body`] reads a
//! whole body.

use std::collections::VecDeque;
use std::future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Response, header};
use futures_core::Stream;
use futures_util::{FutureExt as _, stream};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tool_runtime::sse::{Frame, SseDecoder};

use crate::off_worker::in_place;
use crate::upstream::answer::{MessageEvent, MessageEvents, Part, TurnBody};
use crate::upstream::error::UpstreamError;
use crate::upstream::transport::response::{MAX_RESPONSE, is_stream, text};
use crate::wire::delta::{Delta, TextEvent, TextRun};
use crate::wire::event::StreamEvent;
use crate::wire::message::{MessageError, WholeMessage};
use crate::wire::received_error::{ForeignError, ReceivedError};

/// Reads a message from the bytes of a response, which is a stream of events or one JSON object.
#[derive(Debug)]
pub(crate) struct MessageReader {
    form: Form,
    /// Number of bytes that may still be read.
    rest: usize,
}

#[derive(Debug)]
enum Form {
    Stream(SseDecoder),
    /// Bytes of a whole message, until the end of the body.
    Whole {
        bytes: Vec<u8>,
        is_complete: bool,
    },
}

/// A part of a message.
#[derive(Debug)]
pub(crate) enum MessagePart<'r> {
    /// An event that appends to a text, as nearly all events do.
    Text(TextEvent<'r>),
    Event(StreamEvent),
    Whole(WholeMessage),
}

/// Error of an unreadable part of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// Response with too many bytes.
    ResponseTooLarge,
    /// Event with too many bytes.
    EventTooLarge,
    /// A response that is not streamed has too many content blocks.
    TooManyBlocks,
    /// An event of a stream is not an event of the API.
    InvalidEvent,
    /// A response that is not streamed is not a message of the API.
    InvalidMessage,
    /// The upstream sent an error in the form of another API.
    Foreign(ForeignError),
}

impl From<ReadError> for UpstreamError {
    fn from(error: ReadError) -> Self {
        Self::new(match error {
            ReadError::Foreign(error) => return Self::new(error.message).with_status(error.status),
            ReadError::ResponseTooLarge => "the upstream's response was cut off: length limit exceeded",
            ReadError::EventTooLarge => "the upstream sent an event that is too large to be read",
            ReadError::TooManyBlocks => return MessageError::TooManyBlocks.into(),
            ReadError::InvalidEvent => "the upstream sent an invalid event",
            ReadError::InvalidMessage => return MessageError::Invalid.into(),
        })
    }
}

impl MessageReader {
    pub(crate) fn new(is_stream: bool) -> Self {
        Self::with_limit(is_stream, MAX_RESPONSE)
    }

    /// Creates a reader for at most `limit` bytes.
    pub(crate) fn with_limit(is_stream: bool, limit: usize) -> Self {
        let form = if is_stream {
            Form::Stream(SseDecoder::new())
        } else {
            Form::Whole {
                bytes: Vec::new(),
                is_complete: false,
            }
        };
        Self { form, rest: limit }
    }

    /// Adds the next bytes of the body.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let rest = self.rest.checked_sub(bytes.len());
        self.rest = rest.ok_or(ReadError::ResponseTooLarge)?;
        match &mut self.form {
            Form::Stream(decoder) => decoder.push(bytes),
            Form::Whole { bytes: whole, .. } => whole.extend_from_slice(bytes),
        }
        Ok(())
    }

    /// Marks the end of the body.
    pub(crate) fn finish(&mut self) {
        match &mut self.form {
            Form::Stream(decoder) => decoder.finish(),
            Form::Whole { is_complete, .. } => *is_complete = true,
        }
    }

    /// Passes the available parts to `take`. After an error, the remaining parts can be read.
    pub(crate) fn read(&mut self, mut take: impl FnMut(MessagePart<'_>)) -> Result<(), ReadError> {
        let decoder = match &mut self.form {
            Form::Stream(decoder) => decoder,
            Form::Whole { bytes, is_complete } => {
                if std::mem::take(is_complete) {
                    // The message has a copy of the bytes.
                    let text = String::from_utf8(std::mem::take(bytes))
                        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                    take(match in_place(text.len(), || WholeMessage::parse(&text)) {
                        Ok(message) => MessagePart::Whole(message),
                        Err(MessageError::TooManyBlocks) => return Err(ReadError::TooManyBlocks),
                        Err(MessageError::Invalid) => MessagePart::Event(error_response(&text)?),
                    });
                }
                return Ok(());
            }
        };
        while let Some(frame) = decoder.next_frame() {
            let event = match frame {
                Frame::Event(event) if event.ended() => event,
                Frame::Oversized { .. } => return Err(ReadError::EventTooLarge),
                _ => continue,
            };
            if let Some(event) = TextEvent::parse(event.raw()) {
                take(MessagePart::Text(event));
                continue;
            }
            let Some(data) = event.data().filter(|data| !data.is_empty()) else {
                continue;
            };
            // UTF-8 is checked once for the event, and not again for each string. Invalid bytes become U+FFFD.
            let data = text(&data);
            take(MessagePart::Event(match StreamEvent::parse(&data) {
                None | Some(StreamEvent::Error(_) | StreamEvent::Other(_)) => {
                    other_event(event.name() == Some("error"), &data)?
                }
                Some(event) => event,
            }));
        }
        Ok(())
    }
}

/// Reads a response that is not streamed and not a message.
fn error_response(text: &str) -> Result<StreamEvent, ReadError> {
    match ReceivedError::parse(text) {
        Some(ReceivedError::Api(error)) => Ok(StreamEvent::Error(error)),
        Some(ReceivedError::Foreign(error)) => Err(ReadError::Foreign(error)),
        None => Err(ReadError::InvalidMessage),
    }
}

/// Reads an event of a stream that is an error or of an unknown type. `is_error` is whether the event has the name `error`.
fn other_event(is_error: bool, data: &str) -> Result<StreamEvent, ReadError> {
    let event = StreamEvent::parse(data);
    if !is_error && let Some(event @ StreamEvent::Other(_)) = event {
        return Ok(event);
    }
    match (ReceivedError::parse(data), event) {
        (Some(ReceivedError::Api(error)), _) => Ok(StreamEvent::Error(error)),
        (Some(ReceivedError::Foreign(error)), _) => Err(ReadError::Foreign(error)),
        (None, Some(event)) => Ok(event),
        (None, None) if is_error => Err(ReadError::Foreign(ForeignError {
            status: None,
            message: data.trim().to_owned(),
        })),
        (None, None) => Err(ReadError::InvalidEvent),
    }
}

/// Returns the encoding of a body that cannot be read.
fn encoding(headers: &HeaderMap) -> Option<&str> {
    let encoding = headers
        .get(header::CONTENT_ENCODING)?
        .to_str()
        .unwrap_or("unknown");
    (!encoding.trim().eq_ignore_ascii_case("identity")).then_some(encoding)
}

/// Converts the response of a server of the Messages API to the response of a turn.
pub(crate) fn turn_body(response: Response<Body>) -> Response<TurnBody> {
    turn_body_with_limit(response, MAX_RESPONSE)
}

fn turn_body_with_limit(response: Response<Body>, limit: usize) -> Response<TurnBody> {
    let (head, body) = response.into_parts();
    let body = if let Some(encoding) = encoding(&head.headers).filter(|_| head.status.is_success()) {
        let error = format!("the upstream's response has the encoding `{encoding}`; expected `identity`");
        TurnBody::Message(MessageEvents::new(stream::once(future::ready(Err(
            UpstreamError::new(error),
        )))))
    } else if head.status.is_success() {
        TurnBody::Message(MessageEvents::new(BodyEvents {
            body,
            reader: MessageReader::with_limit(is_stream(&head.headers), limit),
            ready: VecDeque::new(),
            is_over: false,
        }))
    } else {
        TurnBody::Error(body)
    };
    Response::from_parts(head, body)
}

/// Events of a message, from the body of a response.
struct BodyEvents {
    body: Body,
    reader: MessageReader,
    /// Events that are read but not yet taken. Consecutive events that append to one text are merged.
    ready: VecDeque<Result<MessageEvent, UpstreamError>>,
    is_over: bool,
}

impl Stream for BodyEvents {
    type Item = Result<MessageEvent, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                match &event {
                    Ok(MessageEvent(Part::Event(StreamEvent::MessageStop))) => self.read_rest(),
                    Ok(MessageEvent(Part::Whole(_))) | Err(_) => drop(self.end()),
                    Ok(_) => {}
                }
                return Poll::Ready(Some(event));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        match self.reader.push(&data) {
                            Ok(()) => self.read(),
                            Err(error) => self.ready.push_back(Err(error.into())),
                        }
                    }
                    if self.ready.is_empty() {
                        return Poll::Ready(Some(Ok(MessageEvent::keep_alive())));
                    }
                }
                Some(Err(error)) => {
                    let error = UpstreamError::new(format!("the upstream's response was cut off: {error}"));
                    self.ready.push_back(Err(error));
                }
                None => {
                    // Some streams panic when they are polled after their end.
                    self.body = Body::empty();
                    self.reader.finish();
                    self.read();
                    let error = "the upstream's response ended before its message did";
                    self.ready.push_back(Err(UpstreamError::new(error)));
                }
            }
        }
    }
}

impl BodyEvents {
    /// Reads the available bytes. An unreadable part is an error.
    fn read(&mut self) {
        let ready = &mut self.ready;
        let read = self.reader.read(|part| match part {
            MessagePart::Text(event) => push_text(ready, &event),
            MessagePart::Event(event) => ready.push_back(Ok(MessageEvent(Part::Event(event)))),
            MessagePart::Whole(message) => ready.push_back(Ok(MessageEvent(Part::Whole(message)))),
        });
        if let Err(error) = read {
            ready.push_back(Err(error.into()));
        }
    }

    /// Ends the events. Returns the rest of the body.
    fn end(&mut self) -> Body {
        self.is_over = true;
        self.ready.clear();
        std::mem::take(&mut self.body)
    }

    /// Ends the events, and reads the body to its end, after which the connection can serve the next request.
    fn read_rest(&mut self) {
        let mut body = self.end();
        let mut rest = Box::pin(async move {
            for _ in 0..MAX_REST {
                let Some(Ok(_)) = body.frame().await else { break };
            }
        });
        if rest.as_mut().now_or_never().is_none() {
            tokio::spawn(tokio::time::timeout(REST_TIME, rest));
        }
    }
}

/// Maximum number of pieces of a body after its message, and maximum time for these pieces. Above either limit, the connection is closed.
const MAX_REST: usize = 16;
const REST_TIME: Duration = Duration::from_secs(1);

/// Appends an event that appends to a text. Merges the event with the last one, if both change the same text.
fn push_text(ready: &mut VecDeque<Result<MessageEvent, UpstreamError>>, event: &TextEvent<'_>) {
    if let Some(Ok(MessageEvent(Part::Event(StreamEvent::BlockDelta {
        delta: Delta::Texts(run),
        ..
    })))) = ready.back_mut()
        && run.push(event)
    {
        return;
    }
    ready.push_back(Ok(MessageEvent(Part::Event(StreamEvent::BlockDelta {
        index: event.index,
        delta: Delta::Texts(TextRun::new(event)),
    }))));
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use super::*;

    const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

    fn events(response: Response<Body>, limit: usize) -> MessageEvents {
        match turn_body_with_limit(response, limit).into_body() {
            TurnBody::Message(events) => events,
            TurnBody::Error(_) => panic!("an error response"),
        }
    }

    #[tokio::test]
    async fn endless_response_is_an_error() {
        for kind in ["text/event-stream", "application/json"] {
            let endless = stream::repeat(Ok::<_, Infallible>(PING));
            let response = Response::builder().header(header::CONTENT_TYPE, kind);
            let response = response.body(Body::from_stream(endless)).unwrap();
            let mut events = events(response, 1000);
            let error = loop {
                if let Err(error) = poll_fn(|cx| events.poll_next(cx)).await.unwrap() {
                    break error.to_string();
                }
            };
            assert_eq!(
                error,
                "the upstream's response was cut off: length limit exceeded"
            );
            assert!(poll_fn(|cx| events.poll_next(cx)).await.is_none());
        }
    }

    /// Some streams panic when they are polled after their end.
    #[tokio::test]
    async fn body_is_not_read_beyond_its_end() {
        let message = r#"{"type":"message","id":"m","role":"assistant","model":"m","usage":{},"stop_reason":"tool_use",
            "content":[{"type":"tool_use","id":"toolu_a","name":"lookup","input":{}}]}"#;
        for (kind, body) in [("application/json", message), ("text/event-stream", PING)] {
            let once = stream::unfold(Some(body), async |rest| {
                rest.map(|body| (Ok::<_, Infallible>(body), None))
            });
            let response = Response::builder().header(header::CONTENT_TYPE, kind);
            let mut events = events(response.body(Body::from_stream(once)).unwrap(), 1000);
            while poll_fn(|cx| events.poll_next(cx)).await.is_some() {}
        }
    }

    #[tokio::test]
    async fn bytes_without_an_event_keep_the_response_alive() {
        let pieces = [": comment\n\n", "event: ping\nda", "ta: {\"type\":\"ping\"}\n\n"];
        let body = Body::from_stream(stream::iter(pieces.map(Ok::<_, Infallible>)));
        let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
        let mut events = events(response.body(body).unwrap(), 1000);
        for expected in ["KeepAlive", "KeepAlive", "Event(Ping)"] {
            let MessageEvent(part) = poll_fn(|cx| events.poll_next(cx)).await.unwrap().unwrap();
            assert_eq!(format!("{part:?}"), expected);
        }
    }
}
