//! Body whose last frames are sent before its error ([`Flushed`]).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Body;

use crate::wrapped_body::{BodyWrapper, FramePoll};

/// Delays the error of a body by one poll. On an error, hyper closes the connection and drops all frames that are still unwritten; on
/// `Pending`, hyper writes them.
pub(crate) struct Flushed<E> {
    error: Option<E>,
}

impl<E> Flushed<E> {
    pub(crate) fn new() -> Self {
        Self { error: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> BodyWrapper<B> for Flushed<B::Error> {
    fn poll_frame(&mut self, body: &mut B, cx: &mut Context<'_>) -> FramePoll<B::Error> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match ready!(Pin::new(body).poll_frame(cx)) {
            Some(Err(error)) => {
                self.error = Some(error);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self, body: &B) -> bool {
        self.error.is_none() && body.is_end_stream()
    }
}
