//! [`PolledAgain`]: a future that is polled again at once if its own poll has woken it.
//!
//! A connection's task reads the body of a request and takes it, too: the one wakes the other, which is itself. For a task that was
//! woken in its poll the runtime wakes another thread, which finds nothing to do; that costs more than the poll.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often it is polled in a row: others have their turn, too.
const MAX_POLLS: usize = 4;

/// A future whose wakes in its own poll do not reach the runtime.
pub(super) struct PolledAgain<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

impl<F> PolledAgain<F> {
    pub(super) fn new(future: F) -> Self {
        let wakes = Arc::new(Wakes::default());
        Self {
            future: Box::pin(future),
            waker: Waker::from(Arc::clone(&wakes)),
            wakes,
        }
    }
}

impl<F: Future> Future for PolledAgain<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, wakes, waker } = &mut *self;
        wakes.task.register(cx.waker());
        for _ in 0..MAX_POLLS {
            wakes.state.swap(POLLING, Ordering::AcqRel);
            let polled = future.as_mut().poll(&mut Context::from_waker(waker));
            let before = wakes.state.swap(WAITING, Ordering::AcqRel);
            if polled.is_ready() || before == POLLING {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

const WAITING: u8 = 0;
const POLLING: u8 = 1;
const WOKEN: u8 = 2;

#[derive(Default)]
struct Wakes {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Always written, so that the next poll sees what this wake is about.
        if self.state.swap(WOKEN, Ordering::AcqRel) == WAITING {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts what reaches the runtime.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn wakes_in_a_poll_poll_again_and_do_not_reach_the_runtime() {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let mut polls = 0;
        let mut future = PolledAgain::new(poll_fn(move |cx: &mut Context<'_>| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(polls);
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!((polled, counted.0.load(Ordering::SeqCst)), (Poll::Ready(3), 0));
    }

    #[test]
    fn a_future_that_always_wakes_itself_leaves_others_their_turn() {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let mut future = PolledAgain::new(poll_fn(|cx: &mut Context<'_>| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        for polled in 1..4 {
            assert!(
                Pin::new(&mut future)
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            assert_eq!(counted.0.load(Ordering::SeqCst), polled);
        }
    }

    #[test]
    fn wakes_between_polls_reach_the_runtime() {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let inner = Arc::new(AtomicWaker::new());
        let registered = Arc::clone(&inner);
        let mut future = PolledAgain::new(poll_fn(move |cx: &mut Context<'_>| {
            registered.register(cx.waker());
            Poll::<()>::Pending
        }));
        for polled in 1..4 {
            assert!(
                Pin::new(&mut future)
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            inner.wake();
            assert_eq!(counted.0.load(Ordering::SeqCst), polled);
        }
    }
}
