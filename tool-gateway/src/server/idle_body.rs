//! [`IdleBody`]: a body that fails if nothing comes for too long.

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

/// A body each of whose pieces has to come within a time.
pub(super) struct IdleBody {
    body: Body,
    time: Duration,
    /// Runs while a piece is waited for.
    timer: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl IdleBody {
    pub(super) fn wrap(body: Body, time: Duration) -> Body {
        Body::new(Self {
            body,
            time,
            timer: Box::pin(tokio::time::sleep(time)),
            is_waiting: false,
        })
    }
}

impl HttpBody for IdleBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.is_waiting = false;
            return Poll::Ready(frame);
        }
        if !self.is_waiting {
            self.is_waiting = true;
            let timer = tokio::time::sleep(self.time);
            self.timer.set(timer);
        }
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(axum::Error::new(Idle(self.time)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Nothing came for this time.
#[derive(Debug)]
pub(super) struct Idle(pub(super) Duration);

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing came for {} s", self.0.as_secs_f64())
    }
}

impl std::error::Error for Idle {}
