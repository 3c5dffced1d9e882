//! Streams whose events arrive with delays.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::Sleep;

/// Body of a stream.
#[derive(Debug)]
pub(super) struct Playback {
    events: std::vec::IntoIter<Bytes>,
    /// Delay between events.
    event_delay: Duration,
    delay: Option<Pin<Box<Sleep>>>,
}

impl Playback {
    pub(super) fn new(events: Vec<Bytes>, event_delay: Duration) -> Self {
        Self {
            events: events.into_iter(),
            event_delay,
            delay: None,
        }
    }
}

impl Stream for Playback {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(delay) = &mut self.delay {
            ready!(delay.as_mut().poll(context));
            self.delay = None;
        }
        let event = self.events.next();
        if self.events.len() > 0 && !self.event_delay.is_zero() {
            self.delay = Some(Box::pin(tokio::time::sleep(self.event_delay)));
        }
        Poll::Ready(event.map(Ok))
    }
}
