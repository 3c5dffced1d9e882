//! Runs functions and futures in isolation: catches panics, and enforces deadlines and cancellation.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep, sleep_until};

use crate::call::deadline::SharedDeadline;
use crate::host::context::{CancelOnDrop, CancellationToken};
use crate::wire::result::Failure;

/// Deadline and token that can stop a future.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CallLimits<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) token: Option<&'a CancellationToken>,
}

impl CallLimits<'_> {
    /// Returns whether the limits have neither a deadline nor a token.
    pub(crate) fn is_empty(self) -> bool {
        self.deadline.is_none() && self.token.is_none()
    }

    /// Returns the failure if a limit is already exceeded.
    pub(crate) fn stop_reason(self) -> Option<Failure> {
        if self.token.is_some_and(CancellationToken::is_cancelled) {
            return Some(Failure::Cancelled);
        }
        let is_late = self.deadline.is_some_and(|deadline| deadline <= now());
        is_late.then_some(Failure::TimedOut)
    }
}

/// Completion of a future.
#[derive(Debug)]
pub(crate) struct Completion<T> {
    pub(crate) output: Result<T, Failure>,
    /// Reason why the future was stopped. Also set if the future completed within the grace period.
    pub(crate) stop_reason: Option<Failure>,
}

impl<T> From<Result<T, Failure>> for Completion<T> {
    /// Returns the completion of a future that was not stopped.
    fn from(output: Result<T, Failure>) -> Self {
        Self {
            output,
            stop_reason: None,
        }
    }
}

/// Runs `future` until it is ready or panics, until its deadline, or until its cancellation.
///
/// The deadline in `limits` applies until `shared` has another deadline.
///
/// At the deadline or the cancellation, `on_stop` is dropped, which cancels the future's token. The future is then
/// polled for another `grace_period`.
///
/// Tokio's timer is needed only with a deadline or a token. If no timer is running, the call completes as cancelled,
/// and the reason is logged.
pub(crate) async fn run<T>(
    future: BoxFuture<T>,
    limits: CallLimits<'_>,
    shared: Option<&SharedDeadline>,
    on_stop: Option<CancelOnDrop>,
    grace_period: Duration,
) -> Completion<T> {
    let CallLimits { mut deadline, token } = limits;
    let mut on_stop = on_stop;
    let mut future = CatchUnwind::new(future);
    let timer = |deadline: Instant| Timer::new(|| sleep_until(deadline.into()));
    let mut timeout = deadline.map(timer);
    let mut cancelled = token.map(|token| Box::pin(token.cancelled()));
    let mut grace: Option<Timer> = None;
    let mut stop_reason = None;
    poll_fn(|cx| {
        let polled = Pin::new(&mut future).poll(cx);
        // The future may have paused or moved its deadline.
        if let Some(current) = shared.map(SharedDeadline::get)
            && current != deadline
        {
            deadline = current;
            timeout = deadline.map(timer);
        }
        if let Poll::Ready(output) = polled {
            if output.is_err() {
                return Poll::Ready(output.into()); // a panic is reported even after the deadline
            }
            let is_cancelled = token.is_some_and(CancellationToken::is_cancelled);
            // A future that blocks its thread can become ready after its deadline.
            let is_late = deadline.is_some_and(|deadline| deadline <= now());
            let stop_reason = stop_reason
                .or(is_cancelled.then_some(Failure::Cancelled))
                .or(is_late.then_some(Failure::TimedOut));
            return Poll::Ready(Completion { output, stop_reason });
        }
        if stop_reason.is_none() {
            let mut has_grace = !grace_period.is_zero();
            match timeout.as_mut().map(|timeout| timeout.poll(cx)) {
                Some(Poll::Ready(Ok(()))) => stop_reason = Some(Failure::TimedOut),
                Some(Poll::Ready(Err(NoTimer))) => {
                    stop_reason = Some(Failure::Cancelled);
                    has_grace = false;
                }
                _ if is_ready(cancelled.as_mut(), cx) => stop_reason = Some(Failure::Cancelled),
                _ => {}
            }
            if stop_reason.is_some() {
                grace = has_grace.then(|| Timer::new(|| sleep(grace_period)));
                // Wakes a future that awaits its token. The next iteration polls the future again.
                drop(on_stop.take());
            }
        }
        let Some(failure) = stop_reason else {
            return Poll::Pending;
        };
        match grace.as_mut().map(|grace| grace.poll(cx)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(_)) | None => Poll::Ready(Completion {
                output: Err(failure),
                stop_reason,
            }),
        }
    })
    .await
}

/// Returns the time of tokio's clock. Deadlines use this clock, and tests can pause it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Calls `function`, and converts a panic into a failure.
pub(crate) fn catch_panic<T>(function: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(function)).map_err(log_panic)
}

fn is_ready<F: Future + ?Sized>(future: Option<&mut Pin<Box<F>>>, cx: &mut Context<'_>) -> bool {
    future.is_some_and(|future| future.as_mut().poll(cx).is_ready())
}

/// Timer of tokio. Without a running timer, it returns an error and does not panic.
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn new(sleep: impl FnOnce() -> Sleep) -> Self {
        Self(
            catch_unwind(AssertUnwindSafe(sleep))
                .map(Box::pin)
                .map_err(log_no_timer)
                .ok(),
        )
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NoTimer>> {
        let Some(sleep) = &mut self.0 else {
            return Poll::Ready(Err(NoTimer));
        };
        let poll = catch_unwind(AssertUnwindSafe(|| sleep.as_mut().poll(cx)));
        poll.map_or_else(
            |payload| Poll::Ready(Err(log_no_timer(payload))),
            |poll| poll.map(Ok),
        )
    }
}

/// Error of a call without a running timer.
#[derive(Debug)]
struct NoTimer;

#[allow(
    clippy::needless_pass_by_value,
    reason = "drops the payload of `catch_unwind`"
)]
fn log_no_timer(payload: Box<dyn Any + Send>) -> NoTimer {
    tracing::error!(
        panic = panic_message(&*payload),
        "the time of a call cannot be watched"
    );
    NoTimer
}

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Future that catches panics of `poll` and `drop`.
pub(crate) struct CatchUnwind<T>(Option<BoxFuture<T>>);

impl<T> CatchUnwind<T> {
    pub(crate) fn new(future: BoxFuture<T>) -> Self {
        Self(Some(future))
    }

    fn drop_inner(&mut self) {
        let future = self.0.take();
        let _ = catch_panic(|| drop(future));
    }
}

impl<T> Future for CatchUnwind<T> {
    type Output = Result<T, Failure>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_panic(|| {
            let polled = self.0.as_mut()?.as_mut().poll(cx);
            if polled.is_ready() {
                self.0 = None;
            }
            Some(polled)
        });
        match polled {
            Ok(None | Some(Poll::Pending)) => Poll::Pending,
            Ok(Some(Poll::Ready(output))) => Poll::Ready(Ok(output)),
            Err(failure) => {
                self.drop_inner();
                Poll::Ready(Err(failure))
            }
        }
    }
}

impl<T> Drop for CatchUnwind<T> {
    fn drop(&mut self) {
        if self.0.is_some() {
            self.drop_inner();
        }
    }
}

/// Logs the message of a panic, which the model does not see.
fn log_panic(payload: Box<dyn Any + Send>) -> Failure {
    tracing::error!(panic = panic_message(&*payload), "a tool panicked");
    // The drop of the payload may panic. The payload of this second panic is leaked, since its drop may panic again.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    Failure::Panicked
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&'static str>().copied())
        .unwrap_or("no message")
}
