//! [`TurnBody`]: the body of a turn's response, as events of the Messages API.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use futures_core::Stream;

use super::error::UpstreamError;
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;

/// Body of the response to a [turn](super::Upstream::turn).
#[derive(Debug)]
pub enum TurnBody {
    /// The message of a successful response.
    Message(MessageEvents),
    /// The body of an error response, which is sent to the client unchanged.
    Error(Body),
}

/// Events of an assistant message in the form of the Messages API. The stream ends after `message_stop`, or after the single event of a
/// [whole message](MessageEvent::whole).
pub struct MessageEvents(Pin<Box<dyn Stream<Item = Result<MessageEvent, UpstreamError>> + Send>>);

impl MessageEvents {
    /// Creates the events from a stream. An error means that the message was cut off; no later items are read.
    pub fn new(events: impl Stream<Item = Result<MessageEvent, UpstreamError>> + Send + 'static) -> Self {
        Self(Box::pin(events))
    }

    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<MessageEvent, UpstreamError>>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for MessageEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageEvents").finish_non_exhaustive()
    }
}

/// An event of an assistant message.
#[derive(Debug, Clone)]
pub struct MessageEvent(pub(crate) Part);

/// A part of a turn's response.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Event(StreamEvent),
    /// A whole block between the events of a stream: a call, which leaves when it is complete.
    Block(Block),
    /// A call that was recovered from text.
    RecoveredCall(Block),
    Whole(WholeMessage),
    KeepAlive,
}

impl MessageEvent {
    /// Parses an event from JSON, which is the `data` of a server-sent event of the Messages API.
    ///
    /// ```
    /// use tool_gateway::upstream::MessageEvent;
    ///
    /// assert!(MessageEvent::parse(r#"{"type":"content_block_stop","index":0}"#).is_ok());
    /// assert!(MessageEvent::parse(r#"{"type":"content_block_stop"}"#).is_err());
    /// ```
    pub fn parse(data: &str) -> Result<Self, UpstreamError> {
        let event = StreamEvent::parse(data);
        let event = event.ok_or_else(|| UpstreamError::new("the upstream sent an invalid event"))?;
        Ok(Self(Part::Event(event)))
    }

    /// Parses a message that is not streamed from JSON, which is the body of a response of the Messages API. Such a message must be the
    /// only event.
    pub fn whole(message: &str) -> Result<Self, UpstreamError> {
        Ok(Self(Part::Whole(WholeMessage::parse(message)?)))
    }

    /// Creates an event without content, such as a comment in a stream. The event restarts the idle timeout of the upstream.
    pub fn keep_alive() -> Self {
        Self(Part::KeepAlive)
    }
}
