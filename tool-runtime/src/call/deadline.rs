//! The deadline of a call, which is paused while a layer waits for a decision.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Deadline of a call in layers. The layers share the deadline with the future that enforces it, and may pause it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedDeadline {
    state: Arc<Mutex<PausableDeadline>>,
    /// Deadline of the layers around a nested registry. A pause applies to it, too.
    outer: Option<Arc<SharedDeadline>>,
}

#[derive(Debug, Default)]
struct PausableDeadline {
    /// The deadline, not yet extended by the current pauses.
    deadline: Option<Instant>,
    /// Number of current pauses. A layer may send a call to several services at once, and each of them may pause the deadline.
    pauses: usize,
    /// Start of the earliest current pause by tokio's clock, which the deadline uses.
    paused_at: Option<tokio::time::Instant>,
}

impl SharedDeadline {
    pub(crate) fn new(deadline: Option<Instant>, outer: Option<SharedDeadline>) -> Self {
        let state = PausableDeadline {
            deadline,
            ..PausableDeadline::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            outer: outer.map(Arc::new),
        }
    }

    /// Returns the current deadline; `None` without a deadline, and during a pause.
    pub(crate) fn get(&self) -> Option<Instant> {
        let state = self.lock();
        state.deadline.filter(|_| state.pauses == 0)
    }

    /// Pauses the deadline until the guard is dropped.
    pub(crate) fn pause(&self) -> Pause<'_> {
        let began = tokio::time::Instant::now();
        let mut state = self.lock();
        state.pauses += 1;
        state.paused_at.get_or_insert(began);
        drop(state);
        Pause {
            deadline: self,
            began,
            _outer: self.outer.as_ref().map(|outer| Box::new(outer.pause())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PausableDeadline> {
        // No panic can leave a partial change, so the value of a poisoned lock is valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that pauses a [`SharedDeadline`] until the guard is dropped. With several guards, the pause ends with the last one.
#[derive(Debug)]
pub(crate) struct Pause<'a> {
    deadline: &'a SharedDeadline,
    /// Start of the pause by tokio's clock.
    began: tokio::time::Instant,
    _outer: Option<Box<Pause<'a>>>,
}

impl Pause<'_> {
    /// Ends the pause, and returns its duration.
    pub(crate) fn end(self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut state = self.deadline.lock();
        state.pauses -= 1;
        if state.pauses == 0
            && let Some(began) = state.paused_at.take()
        {
            // A deadline that cannot be represented is no limit.
            state.deadline = state
                .deadline
                .and_then(|deadline| deadline.checked_add(began.elapsed()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first of two overlapping pauses ends before the second.
    #[tokio::test(start_paused = true)]
    async fn overlapping_pauses_pause_until_the_last_one_ends() {
        let second = Duration::from_secs(1);
        let deadline = Instant::now() + 10 * second;
        let outer = SharedDeadline::new(Some(deadline), None);
        let inner = SharedDeadline::new(Some(deadline), Some(outer.clone()));
        let first = inner.pause();
        tokio::time::advance(second).await;
        let last = inner.pause();
        tokio::time::advance(second).await;
        drop(first);
        assert_eq!((inner.get(), outer.get()), (None, None));
        tokio::time::advance(second).await;
        assert_eq!(last.end(), 2 * second);
        let resumed = Some(deadline + 3 * second);
        assert_eq!((inner.get(), outer.get()), (resumed, resumed));
    }

    #[tokio::test(start_paused = true)]
    async fn pause_without_a_deadline_has_no_effect() {
        let deadline = SharedDeadline::default();
        drop(deadline.pause());
        assert_eq!(deadline.get(), None);
    }
}
