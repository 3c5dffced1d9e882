//! [`SelfWakes`]: hides the wakes that a future causes within its own poll from the future's task.
//!
//! The task of a connection both reads and consumes the body of a request, so its reader wakes the task that is already running. After such
//! a wake, the runtime wakes another thread, which has no work; the wake costs more than the poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Maximum number of polls in a row, so that other tasks can run.
const MAX_POLLS: usize = 4;

/// Polls a future whose wakes within its own poll do not reach the task.
pub(crate) struct SelfWakes {
    shared: Arc<WakeState>,
    waker: Waker,
}

impl Default for SelfWakes {
    fn default() -> Self {
        let shared = Arc::new(WakeState::default());
        Self {
            waker: Waker::from(Arc::clone(&shared)),
            shared,
        }
    }
}

impl SelfWakes {
    /// Polls. If the poll has woken its own task, polls again at once.
    pub(crate) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Self { shared, waker } = self;
        shared.task.register(cx.waker());
        for _ in 0..MAX_POLLS {
            shared.state.swap(POLLING, Ordering::AcqRel);
            let polled = poll(&mut Context::from_waker(waker));
            let before = shared.state.swap(WAITING, Ordering::AcqRel);
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
struct WakeState {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Wake for WakeState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Always written, so that the next poll sees all changes before this wake.
        if self.state.swap(WOKEN, Ordering::AcqRel) == WAITING {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts the wakes that reach the task.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn wakes_in_a_poll_poll_again_and_do_not_reach_the_task() {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let mut polls = 0;
        let polled = SelfWakes::default().poll(&mut Context::from_waker(&waker), |cx| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(polls);
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        assert_eq!((polled, counted.0.load(Ordering::SeqCst)), (Poll::Ready(3), 0));
    }

    #[test]
    fn self_waking_future_does_not_starve_others() {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let own = SelfWakes::default();
        for polled in 1..4 {
            let poll = own.poll(&mut Context::from_waker(&waker), |cx| {
                cx.waker().wake_by_ref();
                Poll::<()>::Pending
            });
            assert!(poll.is_pending());
            assert_eq!(counted.0.load(Ordering::SeqCst), polled);
        }
    }

    #[test]
    fn wakes_between_polls_reach_the_task() {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let own = SelfWakes::default();
        let inner = AtomicWaker::new();
        for polled in 1..4 {
            let poll = own.poll(&mut Context::from_waker(&waker), |cx| {
                inner.register(cx.waker());
                Poll::<()>::Pending
            });
            assert!(poll.is_pending());
            inner.wake();
            assert_eq!(counted.0.load(Ordering::SeqCst), polled);
        }
    }
}
