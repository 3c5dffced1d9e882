//! [`IdleTimer`]: fails a body or a stream of events that is idle for too long.

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use tokio::time::{Instant, Sleep};

use crate::wrapped_body::{BodyWrapper, FramePoll, WrappedBody};

/// Timer for the next piece of a request or a response.
pub(crate) struct IdleTimer {
    time: Duration,
    /// Deadline of the next piece; `None` if no piece is awaited.
    deadline: Option<Instant>,
    /// Timer of the deadline. Reset only after it has elapsed, since most pieces arrive long before the deadline.
    timer: Option<Pin<Box<Sleep>>>,
}

impl IdleTimer {
    pub(crate) fn new(time: Duration) -> Self {
        Self {
            time,
            deadline: None,
            timer: None,
        }
    }

    /// Wraps a body, so that it fails if a frame does not arrive in time.
    pub(crate) fn wrap(body: Body, time: Duration) -> Body {
        Body::new(WrappedBody::new(body, Self::new(time)))
    }

    /// Polls for the next piece. Returns an error if the piece does not arrive in time.
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        piece: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, IdleTimeout>> {
        if let Poll::Ready(piece) = piece(cx) {
            self.stop();
            return Poll::Ready(Ok(piece));
        }
        self.poll_elapsed(cx).map(Err)
    }

    /// Stops the timer; the next poll starts it again.
    pub(crate) fn stop(&mut self) {
        self.deadline = None;
    }

    /// Starts the timer unless it runs, and polls it.
    pub(crate) fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<IdleTimeout> {
        if self.deadline.is_none() {
            self.deadline = Instant::now().checked_add(self.time);
        }
        // A deadline beyond the range of the clock never elapses.
        let Some(deadline) = self.deadline else {
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() >= deadline {
                return Poll::Ready(IdleTimeout(self.time));
            }
            timer.as_mut().reset(deadline);
        }
    }
}

impl BodyWrapper<Body> for IdleTimer {
    fn poll_frame(&mut self, body: &mut Body, cx: &mut Context<'_>) -> FramePoll<axum::Error> {
        let frame = ready!(self.poll(cx, |cx| Pin::new(body).poll_frame(cx)));
        Poll::Ready(frame.unwrap_or_else(|idle| Some(Err(axum::Error::new(idle)))))
    }
}

/// Error of a stream without a piece for this time.
#[derive(Debug)]
pub(crate) struct IdleTimeout(pub(crate) Duration);

impl fmt::Display for IdleTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no data for {} s", self.0.as_secs_f64())
    }
}

impl std::error::Error for IdleTimeout {}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    /// Returns a body without an end, with these pauses in seconds between its pieces.
    fn wrapped(pauses: &'static [u64]) -> Body {
        let pieces = stream::unfold(pauses.iter(), |mut pauses| async {
            let Some(pause) = pauses.next() else {
                return std::future::pending().await;
            };
            tokio::time::sleep(Duration::from_secs(*pause)).await;
            Some((Ok::<_, Infallible>("piece"), pauses))
        });
        IdleTimer::wrap(Body::from_stream(pieces), TIME)
    }

    #[tokio::test(start_paused = true)]
    async fn each_piece_has_the_full_timeout() {
        let mut body = wrapped(&[0, 9, 9, 0, 9, 1, 9]);
        let began = Instant::now();
        for _ in 0..7 {
            assert!(body.frame().await.unwrap().is_ok());
        }
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "no data for 10 s");
        assert_eq!(began.elapsed().as_secs(), 37 + 10);
    }

    #[tokio::test(start_paused = true)]
    async fn first_piece_has_the_full_timeout() {
        let mut body = wrapped(&[11]);
        assert!(body.frame().await.unwrap().is_err());
    }
}
