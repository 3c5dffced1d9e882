//! Streams that arrive as the script has it: with delays, in chunks, and broken off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::time::Sleep;

/// How a stream arrives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Between events.
    pub(super) event_delay: Duration,
    /// The size of the pieces that the bytes come in.
    pub(super) chunk: Option<usize>,
    /// Whether the connection breaks at the end.
    pub(super) cut: bool,
}

/// A response body.
#[derive(Debug)]
pub(super) struct Playback {
    events: std::vec::IntoIter<Bytes>,
    /// What is left of the present event.
    rest: Bytes,
    pace: Pace,
    delay: Option<Pin<Box<Sleep>>>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    /// The connection breaks after one more poll: what came before is sent first.
    FlushThenCut,
    Cut,
}

impl Playback {
    pub(super) fn new(events: Vec<Bytes>, pace: Pace) -> Self {
        let events = if pace.chunk.is_some() && pace.event_delay.is_zero() {
            vec![concatenated(&events)]
        } else {
            events
        };
        Self {
            events: events.into_iter(),
            rest: Bytes::new(),
            pace,
            delay: None,
            end: if pace.cut {
                End::FlushThenCut
            } else {
                End::Complete
            },
        }
    }
}

impl Stream for Playback {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(delay) = &mut self.delay {
            ready!(delay.as_mut().poll(context));
            self.delay = None;
        }
        if self.rest.is_empty() {
            self.rest = self.events.next().unwrap_or_default();
        }
        if self.rest.is_empty() {
            return match self.end {
                End::Complete => Poll::Ready(None),
                End::FlushThenCut => {
                    self.end = End::Cut;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                End::Cut => {
                    self.end = End::Complete;
                    let error = io::Error::new(
                        io::ErrorKind::ConnectionReset,
                        "the script cuts the response here",
                    );
                    Poll::Ready(Some(Err(error)))
                }
            };
        }
        let size = self.pace.chunk.unwrap_or(usize::MAX).min(self.rest.len());
        let piece = self.rest.split_to(size);
        if self.rest.is_empty() && self.events.len() > 0 && !self.pace.event_delay.is_zero() {
            self.delay = Some(Box::pin(tokio::time::sleep(self.pace.event_delay)));
        }
        Poll::Ready(Some(Ok(piece)))
    }
}

fn concatenated(events: &[Bytes]) -> Bytes {
    let mut all = BytesMut::with_capacity(events.iter().map(Bytes::len).sum());
    for event in events {
        all.extend_from_slice(event);
    }
    all.freeze()
}
