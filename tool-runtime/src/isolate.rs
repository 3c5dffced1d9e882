//! Runs one future so that its panic, its hanging and its end touch nothing else.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as Waking, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep, sleep_until};

use crate::context::{CancelOnDrop, CancellationToken};
use crate::result::Failure;

/// How long a tool that was told to stop may go on to tidy up and answer by itself, before it is dropped.
pub(crate) const GRACE: Duration = Duration::from_millis(50);

/// What ends a future before it ends by itself.
#[derive(Debug, Default)]
pub(crate) struct Stop<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) token: Option<&'a CancellationToken>,
    /// Tells the future that it is over, when it listens.
    pub(crate) tell: Option<CancelOnDrop>,
    /// How long it may go on when it was told.
    pub(crate) grace: Duration,
}

/// How a future ended.
#[derive(Debug)]
pub(crate) struct Ended<T> {
    pub(crate) output: Result<T, Failure>,
    /// Why it was told to stop, also when it then had an answer.
    pub(crate) stopped: Option<Failure>,
}

/// Runs `future` until it ends, panics, is past its deadline or is cancelled.
///
/// Needs tokio's timer only when there is a deadline or a token.
pub(crate) async fn run<T>(future: Boxed<T>, stop: Stop<'_>) -> Ended<T> {
    let Stop {
        deadline,
        token,
        mut tell,
        grace,
    } = stop;
    let mut body = Body(Some(future));
    let mut late = deadline.map(|deadline| Box::pin(sleep_until(deadline.into())));
    let mut cancelled = token.map(|token| Box::pin(token.cancelled()));
    let mut left: Option<Pin<Box<Sleep>>> = None;
    let mut stopped = None;
    poll_fn(|waking| {
        if let Poll::Ready(output) = body.poll(waking) {
            let is_cancelled = token.is_some_and(CancellationToken::is_cancelled);
            let stopped = stopped.or(is_cancelled.then_some(Failure::Cancelled));
            return Poll::Ready(Ended { output, stopped });
        }
        if stopped.is_none() {
            if is_over(late.as_mut(), waking) {
                stopped = Some(Failure::TimedOut);
            } else if is_over(cancelled.as_mut(), waking) {
                stopped = Some(Failure::Cancelled);
            }
            if stopped.is_some() {
                left = Some(Box::pin(sleep(grace)));
                // Whoever listens is woken by this, and polled again above.
                drop(tell.take());
            }
        }
        match stopped {
            Some(failure) if grace.is_zero() || is_over(left.as_mut(), waking) => Poll::Ready(Ended {
                output: Err(failure),
                stopped,
            }),
            _ => Poll::Pending,
        }
    })
    .await
}

/// Calls `function`; its panic becomes a failure.
pub(crate) fn call<T>(function: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(function)).map_err(panicked)
}

fn is_over<F: Future + ?Sized>(future: Option<&mut Pin<Box<F>>>, waking: &mut Waking<'_>) -> bool {
    future.is_some_and(|future| future.as_mut().poll(waking).is_ready())
}

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future that is polled, and also dropped, behind [`call`].
struct Body<T>(Option<Boxed<T>>);

impl<T> Body<T> {
    fn poll(&mut self, waking: &mut Waking<'_>) -> Poll<Result<T, Failure>> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        match call(|| future.as_mut().poll(waking)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(self.end().map(|()| output)),
            Err(failure) => {
                let _ = self.end();
                Poll::Ready(Err(failure))
            }
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        let future = self.0.take();
        call(|| drop(future))
    }
}

impl<T> Drop for Body<T> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Tells the host what the panic said; the model only hears that there was one.
fn panicked(payload: Box<dyn Any + Send>) -> Failure {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&'static str>().copied())
        .unwrap_or("no message");
    tracing::error!(panic = message, "a tool panicked");
    // A payload may panic when it is dropped; then it is leaked, which is the lesser evil.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    Failure::Panicked
}
