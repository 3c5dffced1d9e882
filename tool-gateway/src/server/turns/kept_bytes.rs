//! [`KeptBytes`]: the number of bytes that turns keep for retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes that a client's turns keep, and the bytes of all clients. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptBytes {
    of_client: Arc<AtomicUsize>,
    of_all: Arc<AtomicUsize>,
}

impl KeptBytes {
    /// Creates the counters for the turns of a client. `of_all` is the counter that all clients share.
    pub(crate) fn for_client(of_all: &Arc<AtomicUsize>) -> Self {
        Self {
            of_client: Arc::default(),
            of_all: Arc::clone(of_all),
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.of_client.fetch_add(bytes, Ordering::Relaxed);
        self.of_all.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, bytes: usize) {
        self.of_client.fetch_sub(bytes, Ordering::Relaxed);
        self.of_all.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns whether any turn of the client has a clone of these counters.
    pub(crate) fn is_used(&self) -> bool {
        Arc::strong_count(&self.of_client) > 1
    }

    /// Returns the number of bytes of the client's turns.
    pub(crate) fn of_client(&self) -> usize {
        self.of_client.load(Ordering::Relaxed)
    }
}
