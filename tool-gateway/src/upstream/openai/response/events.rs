//! [`ChatEvents`]: the events of a message, from the body of a response.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use futures_core::Stream;
use http_body::Body as _;
use tokio::time::Sleep;
use tool_runtime::sse::{Frame, SseDecoder};

use super::expected::ExpectedResponse;
use super::failure::ChatFailure;
use super::message::{MessageBuilder, StreamEnd};
use crate::off_worker::in_place;
use crate::upstream::answer::MessageEvent;
use crate::upstream::error::UpstreamError;
use crate::upstream::transport::response::{MAX_RESPONSE, is_stream, text};

/// Events of a message, from the body of a response.
pub(super) struct ChatEvents {
    body: Body,
    form: ResponseForm,
    /// Maximum number of bytes that are still read.
    rest: usize,
    message: MessageBuilder,
    failure: Option<UpstreamError>,
    is_over: bool,
    /// Timer of the pieces behind a finish reason.
    last_pieces: Option<Pin<Box<Sleep>>>,
}

/// Time in which pieces behind a finish reason, such as the usage, are awaited.
const LAST_PIECES: Duration = Duration::from_secs(5);

/// Form of a response, which may differ from the requested one.
enum ResponseForm {
    /// No byte has arrived except white space. The media type decides about an empty body.
    Unknown {
        is_stream: bool,
    },
    Stream(SseDecoder),
    Whole(Vec<u8>),
}

impl ChatEvents {
    pub(super) fn new(headers: &HeaderMap, body: Body, expected: ExpectedResponse) -> Self {
        Self {
            body,
            form: ResponseForm::Unknown {
                is_stream: is_stream(headers),
            },
            rest: MAX_RESPONSE,
            message: MessageBuilder::new(expected),
            failure: None,
            is_over: false,
            last_pieces: None,
        }
    }

    /// Waits for the start of the message.
    pub(super) fn poll_begin(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamError>> {
        while !self.is_over && !self.message.has_events() {
            if let Err(error) = ready!(self.poll_read(cx)) {
                if !self.message.has_events() {
                    return Poll::Ready(Err(error));
                }
                self.failure = Some(error);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads the next bytes of the body, or its end.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamError>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            if self.message.is_finished() {
                let timer = self
                    .last_pieces
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep(LAST_PIECES)));
                ready!(timer.as_mut().poll(cx));
                return Poll::Ready(self.finish());
            }
            return Poll::Pending;
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => frame.into_data().map_or(Ok(()), |data| self.push(&data)),
            // The message is complete, whatever ends the connection.
            Some(Err(_)) if self.message.is_finished() => self.finish(),
            Some(Err(error)) => Err(UpstreamError::new(format!(
                "the upstream's response was cut off: {error}"
            ))),
            None => self.finish(),
        })
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), UpstreamError> {
        let too_large = || UpstreamError::new("the upstream's response was cut off: length limit exceeded");
        self.rest = self.rest.checked_sub(bytes.len()).ok_or_else(too_large)?;
        if let ResponseForm::Unknown { .. } = &self.form {
            match bytes.trim_ascii_start().first() {
                None => return Ok(()),
                // Servers send JSON where a stream was asked, and the reverse; proxies send pages.
                Some(b'{' | b'[' | b'<') => self.form = ResponseForm::Whole(Vec::new()),
                Some(_) => self.form = ResponseForm::Stream(SseDecoder::new()),
            }
        }
        match &mut self.form {
            ResponseForm::Unknown { .. } => Ok(()),
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
            ResponseForm::Unknown { is_stream: true } => self.end(StreamEnd::Closed),
            ResponseForm::Unknown { is_stream: false } => self.read_whole(b""),
            ResponseForm::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                self.read_whole(&bytes)
            }
            ResponseForm::Stream(decoder) => {
                decoder.finish();
                self.read_frames()?;
                if self.is_over {
                    return Ok(());
                }
                self.end(StreamEnd::Closed)
            }
        }
    }

    fn read_whole(&mut self, bytes: &[u8]) -> Result<(), UpstreamError> {
        self.is_over = true;
        let text = text(bytes);
        let message = &mut self.message;
        in_place(text.len(), || message.read_whole(&text))
    }

    fn end(&mut self, end: StreamEnd) -> Result<(), UpstreamError> {
        self.is_over = true;
        self.message.end(end)
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
            let data = text(&data);
            if data.trim_ascii() == "[DONE]" {
                self.is_over = true;
                self.message.end(StreamEnd::Done)?;
            } else if event.name() == Some("error") {
                return Err(ChatFailure::parse(&data).into_error());
            } else {
                self.message.read_chunk(&data)?;
                if self.message.is_ended() {
                    // The server need not generate the rest.
                    self.is_over = true;
                    self.body = Body::empty();
                }
            }
        }
        Ok(())
    }
}

impl Stream for ChatEvents {
    type Item = Result<MessageEvent, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = self.message.pop() {
            return Poll::Ready(Some(Ok(event)));
        }
        if self.failure.is_none() {
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(self.poll_read(cx)) {
                self.failure = Some(error);
            }
        }
        // Events before the error are sent first.
        if let Some(event) = self.message.pop() {
            return Poll::Ready(Some(Ok(event)));
        }
        if let Some(error) = self.failure.take() {
            self.is_over = true;
            return Poll::Ready(Some(Err(error)));
        }
        // Bytes without an event, such as a comment, restart the idle timeout.
        Poll::Ready(if self.is_over {
            None
        } else {
            Some(Ok(MessageEvent::keep_alive()))
        })
    }
}
