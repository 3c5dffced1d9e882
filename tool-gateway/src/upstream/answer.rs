//! [`TurnBody`]: the body of the response to a turn, as events of the Messages API.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use futures_core::Stream;

use super::error::UpstreamError;
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;

/// The body of the response to a [turn](super::Upstream::turn).
#[derive(Debug)]
pub enum TurnBody {
    /// The message, of a response whose status is a success.
    Message(MessageEvents),
    /// The body of an error response, which the client gets unchanged.
    Error(Body),
}

/// The events of a message of the model, in the form of the Messages API, as they arrive. Ends after `message_stop`, or after the one
/// event of a [whole message](MessageEvent::whole).
pub struct MessageEvents(Pin<Box<dyn Stream<Item = Result<MessageEvent, UpstreamError>> + Send>>);

impl MessageEvents {
    /// The events of a stream. An error is a message that broke off; nothing is read after it.
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

/// An event of a message of the model.
#[derive(Debug, Clone)]
pub struct MessageEvent(pub(crate) Part);

/// A part of the response to a turn.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Event(StreamEvent),
    Whole(WholeMessage),
    KeepAlive,
}

impl MessageEvent {
    /// Reads an event from its JSON, which is the `data` of a server-sent event of the Messages API.
    ///
    /// ```
    /// use tool_gateway::upstream::MessageEvent;
    ///
    /// assert!(MessageEvent::parse(r#"{"type":"content_block_stop","index":0}"#).is_ok());
    /// assert!(MessageEvent::parse(r#"{"type":"content_block_stop"}"#).is_err());
    /// ```
    pub fn parse(data: &str) -> Result<Self, UpstreamError> {
        let event = StreamEvent::parse(data);
        let event = event
            .ok_or_else(|| UpstreamError::new("the upstream sent an event that is none of the API's"))?;
        Ok(Self(Part::Event(event)))
    }

    /// Reads a message that is not streamed from its JSON, which is the body of a response of the Messages API. No other event may
    /// come before or after it.
    pub fn whole(message: &str) -> Result<Self, UpstreamError> {
        let message = WholeMessage::parse(message);
        let message = message
            .ok_or_else(|| UpstreamError::new("the upstream's response is not a message of the API"))?;
        Ok(Self(Part::Whole(message)))
    }

    /// A sign of life without content, such as a comment in a stream: the time in which the upstream may send nothing begins again.
    pub fn keep_alive() -> Self {
        Self(Part::KeepAlive)
    }
}
