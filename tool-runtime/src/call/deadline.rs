//! The deadline of a call, which is paused while a layer waits for a decision.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Deadline of a call in layers. The layers share the deadline with the future that enforces it, and may pause it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedDeadline {
    deadline: Arc<Mutex<Option<Instant>>>,
    /// Deadline of the layers around a nested registry. A pause applies to it, too.
    outer: Option<Arc<SharedDeadline>>,
}

impl SharedDeadline {
    pub(crate) fn new(deadline: Option<Instant>, outer: Option<SharedDeadline>) -> Self {
        Self {
            deadline: Arc::new(Mutex::new(deadline)),
            outer: outer.map(Arc::new),
        }
    }

    /// Returns the current deadline; `None` without a deadline, and during a pause.
    pub(crate) fn get(&self) -> Option<Instant> {
        *self.lock()
    }

    /// Pauses the deadline until the guard is dropped.
    pub(crate) fn pause(&self) -> Pause<'_> {
        Pause {
            deadline: self,
            paused: self.lock().take(),
            began: tokio::time::Instant::now(),
            _outer: self.outer.as_ref().map(|outer| Box::new(outer.pause())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        // No panic can leave a partial change, so the value of a poisoned lock is valid.
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that pauses a [`SharedDeadline`] until the guard is dropped. A pause within another pause has no effect.
#[derive(Debug)]
pub(crate) struct Pause<'a> {
    deadline: &'a SharedDeadline,
    paused: Option<Instant>,
    /// Start of the pause by tokio's clock, which the deadline uses.
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
        if let Some(paused) = self.paused {
            *self.deadline.lock() = paused.checked_add(self.began.elapsed());
        }
    }
}
