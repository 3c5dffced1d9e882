//! [`scanned`]: the events of a message with the calls of its text.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use super::expected_calls::ExpectedCalls;
use super::message_scan::MessageScan;
use crate::upstream::answer::{MessageEvent, MessageEvents};
use crate::upstream::error::UpstreamError;

/// Returns the events of a message with the calls of its text.
pub(crate) fn scanned(events: MessageEvents, expected: ExpectedCalls) -> MessageEvents {
    MessageEvents::new(ScannedEvents {
        events,
        scan: MessageScan::new(expected),
        failure: None,
        is_over: false,
    })
}

/// Events of a message with the calls of its text.
struct ScannedEvents {
    events: MessageEvents,
    scan: MessageScan,
    /// Error that is sent after the held text.
    failure: Option<UpstreamError>,
    is_over: bool,
}

impl Stream for ScannedEvents {
    type Item = Result<MessageEvent, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.scan.pop() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = self.failure.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            match ready!(self.events.poll_next(cx)) {
                Some(Ok(event)) => self.scan.push(event),
                end => {
                    self.is_over = true;
                    self.scan.release();
                    self.failure = end.and_then(Result::err);
                }
            }
        }
    }
}
