//! The deadline of a call, which is paused while a layer waits for a decision.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The deadline of a call in layers: one value for the watcher that stops the call and for the layers, which may pause it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedDeadline {
    deadline: Arc<Mutex<Option<Instant>>>,
    /// That of the layers around a nested registry, which is paused, too.
    outer: Option<Arc<SharedDeadline>>,
}

impl SharedDeadline {
    pub(crate) fn new(deadline: Option<Instant>, outer: Option<SharedDeadline>) -> Self {
        Self {
            deadline: Arc::new(Mutex::new(deadline)),
            outer: outer.map(Arc::new),
        }
    }

    /// Returns the current deadline; `None` if there is none, or if it is paused.
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
        // A change is one step.
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pauses a [`SharedDeadline`]. Of two pauses at once, the first counts.
#[derive(Debug)]
pub(crate) struct Pause<'a> {
    deadline: &'a SharedDeadline,
    paused: Option<Instant>,
    /// By tokio's clock, which the deadline is watched by.
    began: tokio::time::Instant,
    _outer: Option<Box<Pause<'a>>>,
}

impl Pause<'_> {
    /// Ends the pause, and returns how long it was.
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
