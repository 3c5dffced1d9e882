//! Responses of Chat Completions as the events of the Messages API. The entry is [`turn_body`].

// A module uses only modules that are declared before it.
pub(super) mod expected;
mod chunk;
mod stop_reason;
mod usage;
mod message;
mod error;

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::http::Response;
use futures_core::Stream;
use http_body::Body as _;
use tool_runtime::sse::{Frame, SseDecoder};

use self::expected::ExpectedResponse;
use self::message::MessageBuilder;
use crate::off_worker::in_place;
use crate::upstream::answer::{MessageEvent, MessageEvents, TurnBody};
use crate::upstream::error::UpstreamError;
use crate::upstream::transport::response::{MAX_RESPONSE, is_stream};

/// Converts a response of Chat Completions to the response of a turn. Waits for the first chunk, so that an error before it has a status.
pub(super) async fn turn_body(
    response: Response<Body>,
    expected: ExpectedResponse,
) -> Result<Response<TurnBody>, UpstreamError> {
    if !response.status().is_success() {
        return error::error_response(response).await;
    }
    let mut events = ChatEvents::new(&response, expected);
    let (mut head, body) = response.into_parts();
    events.body = body;
    let first = poll_fn(|cx| events.poll_read(cx)).await;
    head.headers.remove(axum::http::header::CONTENT_LENGTH);
    first?;
    Ok(Response::from_parts(
        head,
        TurnBody::Message(MessageEvents::new(events)),
    ))
}

/// Events of a message, from the body of a response.
struct ChatEvents {
    body: Body,
    form: ResponseForm,
    /// Maximum number of bytes that are still read.
    rest: usize,
    message: MessageBuilder,
    failure: Option<UpstreamError>,
    is_over: bool,
}

/// Form of a response, which may differ from the requested one.
enum ResponseForm {
    Stream(SseDecoder),
    Whole(Vec<u8>),
}

impl ChatEvents {
    fn new(response: &Response<Body>, expected: ExpectedResponse) -> Self {
        let form = if is_stream(response.headers()) {
            ResponseForm::Stream(SseDecoder::new())
        } else {
            ResponseForm::Whole(Vec::new())
        };
        Self {
            body: Body::empty(),
            form,
            rest: MAX_RESPONSE,
            message: MessageBuilder::new(expected),
            failure: None,
            is_over: false,
        }
    }

    /// Reads the body until there is an event, or the end.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamError>> {
        while !self.is_over && !self.message.has_events() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.push(&data)?;
                    }
                }
                Some(Err(error)) => {
                    let error = UpstreamError::new(format!("the upstream's response was cut off: {error}"));
                    return Poll::Ready(Err(error));
                }
                None => self.finish()?,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), UpstreamError> {
        let too_large = || UpstreamError::new("the upstream's response was cut off: length limit exceeded");
        self.rest = self.rest.checked_sub(bytes.len()).ok_or_else(too_large)?;
        match &mut self.form {
            ResponseForm::Whole(whole) => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
            ResponseForm::Stream(decoder) => {
                decoder.push(bytes);
                self.read_frames()
            }
        }
    }

    /// Ends the body.
    fn finish(&mut self) -> Result<(), UpstreamError> {
        self.body = Body::empty();
        match &mut self.form {
            ResponseForm::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                let text = String::from_utf8_lossy(&bytes);
                let message = &mut self.message;
                in_place(text.len(), || message.read_whole(&text))?;
            }
            ResponseForm::Stream(decoder) => {
                decoder.finish();
                self.read_frames()?;
                if !self.is_over {
                    self.message.end()?;
                }
            }
        }
        self.is_over = true;
        Ok(())
    }

    fn read_frames(&mut self) -> Result<(), UpstreamError> {
        let ResponseForm::Stream(decoder) = &mut self.form else {
            return Ok(());
        };
        while !self.is_over
            && let Some(frame) = decoder.next_frame()
        {
            let event = match frame {
                Frame::Event(event) if event.ended() => event,
                Frame::Oversized { .. } => {
                    return Err(UpstreamError::new(
                        "the upstream sent an event that is too large to be read",
                    ));
                }
                _ => continue,
            };
            let Some(data) = event.data().filter(|data| !data.is_empty()) else {
                continue;
            };
            let data = String::from_utf8_lossy(&data);
            if data.trim_ascii() == "[DONE]" {
                self.message.end()?;
                self.is_over = true;
            } else {
                self.message.read_chunk(&data)?;
            }
        }
        Ok(())
    }
}

impl Stream for ChatEvents {
    type Item = Result<MessageEvent, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.message.pop() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = self.failure.take() {
                self.is_over = true;
                return Poll::Ready(Some(Err(error)));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(self.poll_read(cx)) {
                // Events before the error are sent first.
                self.failure = Some(error);
            }
        }
    }
}
