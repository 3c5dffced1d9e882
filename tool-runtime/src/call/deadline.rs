//! The deadline of a call, which is paused while a layer waits for a decision.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Deadline of a call in layers, shared by the watcher that stops the call and by the layers, which may pause the
/// deadline.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedDeadline {
    deadline: Arc<Mutex<Option<Instant>>>,
    /// Deadline of the layers around a nested registry, which is paused, too.
    outer: Option<Arc<SharedDeadline>>,
}

impl SharedDeadline {
    pub(crate) fn new(deadline: Option<Instant>, outer: Option<SharedDeadline>) -> Self {
        Self {
            deadline: Arc::new(Mutex::new(deadline)),
            outer: outer.map(Arc::new),
        }
    }

    /// Returns the current deadline; `None` if there is none, or while it is paused.
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
        // A single assignment changes the value, so a panic cannot leave it half changed.
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pauses a [`SharedDeadline`] until dropped. Only the first of overlapping pauses counts.
#[derive(Debug)]
pub(crate) struct Pause<'a> {
    deadline: &'a SharedDeadline,
    paused: Option<Instant>,
    /// Start by tokio's clock, which watches the deadline.
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
