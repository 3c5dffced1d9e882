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

impl<T> Ended<T> {
    /// As nobody told it to stop.
    pub(crate) fn by_itself(output: Result<T, Failure>) -> Self {
        Self {
            output,
            stopped: None,
        }
    }
}

/// Runs `future` until it ends, panics, is past its deadline or is cancelled.
///
/// Needs tokio's timer only when there is a deadline or a token. Where it is missing, or goes away with its runtime,
/// nobody can watch the time: the call ends as cancelled, and the host is told why.
pub(crate) async fn run<T>(future: Boxed<T>, stop: Stop<'_>) -> Ended<T> {
    let Stop {
        deadline,
        token,
        mut tell,
        grace,
    } = stop;
    let mut body = Body::new(future);
    let mut late = deadline.map(|deadline| Timer::new(|| sleep_until(deadline.into())));
    let mut cancelled = token.map(|token| Box::pin(token.cancelled()));
    let mut left: Option<Timer> = None;
    let mut stopped = None;
    poll_fn(|waking| {
        if let Poll::Ready(output) = body.poll(waking) {
            let is_cancelled = token.is_some_and(CancellationToken::is_cancelled);
            // What blocks its thread ends before anybody could tell it to.
            let is_late = output.is_ok() && deadline.is_some_and(|deadline| deadline <= Instant::now());
            let stopped = stopped
                .or(is_cancelled.then_some(Failure::Cancelled))
                .or(is_late.then_some(Failure::TimedOut));
            return Poll::Ready(Ended { output, stopped });
        }
        if stopped.is_none() {
            let mut has_grace = !grace.is_zero();
            match late.as_mut().map(|late| late.poll(waking)) {
                Some(Poll::Ready(Ok(()))) => stopped = Some(Failure::TimedOut),
                Some(Poll::Ready(Err(NoTimer))) => {
                    stopped = Some(Failure::Cancelled);
                    has_grace = false;
                }
                _ if is_over(cancelled.as_mut(), waking) => stopped = Some(Failure::Cancelled),
                _ => {}
            }
            if stopped.is_some() {
                left = has_grace.then(|| Timer::new(|| sleep(grace)));
                // Whoever listens is woken by this, and polled again above.
                drop(tell.take());
            }
        }
        let Some(failure) = stopped else {
            return Poll::Pending;
        };
        match left.as_mut().map(|left| left.poll(waking)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(_)) | None => Poll::Ready(Ended {
                output: Err(failure),
                stopped,
            }),
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

/// Tokio's timer, which panics where there is none, or none any more.
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn new(sleep: impl FnOnce() -> Sleep) -> Self {
        Self(
            catch_unwind(AssertUnwindSafe(sleep))
                .map(Box::pin)
                .map_err(unwatched)
                .ok(),
        )
    }

    fn poll(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), NoTimer>> {
        let Some(sleep) = &mut self.0 else {
            return Poll::Ready(Err(NoTimer));
        };
        let polled = catch_unwind(AssertUnwindSafe(|| sleep.as_mut().poll(waking)));
        polled.map_or_else(
            |payload| Poll::Ready(Err(unwatched(payload))),
            |polled| polled.map(Ok),
        )
    }
}

/// There is nothing that could watch the time.
#[derive(Debug)]
struct NoTimer;

#[allow(
    clippy::needless_pass_by_value,
    reason = "what `catch_unwind` hands over ends here"
)]
fn unwatched(payload: Box<dyn Any + Send>) -> NoTimer {
    tracing::error!(panic = text_of(&*payload), "the time of a call cannot be watched");
    NoTimer
}

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future that is polled, and also dropped, behind [`call`].
pub(crate) struct Body<T>(Option<Boxed<T>>);

impl<T> Body<T> {
    pub(crate) fn new(future: Boxed<T>) -> Self {
        Self(Some(future))
    }

    pub(crate) fn poll(&mut self, waking: &mut Waking<'_>) -> Poll<Result<T, Failure>> {
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
        if self.0.is_some() {
            let _ = self.end();
        }
    }
}

/// Tells the host what the panic said; the model only hears that there was one.
fn panicked(payload: Box<dyn Any + Send>) -> Failure {
    tracing::error!(panic = text_of(&*payload), "a tool panicked");
    // A payload may panic when it is dropped; then it is leaked, which is the lesser evil.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    Failure::Panicked
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&'static str>().copied())
        .unwrap_or("no message")
}
