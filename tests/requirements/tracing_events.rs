//! Counts the events of one level that are sent to `tracing`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Clone)]
pub struct EventCount {
    level: Level,
    count: Arc<AtomicUsize>,
}

impl Default for EventCount {
    /// Counts warnings.
    fn default() -> Self {
        Self::at(Level::WARN)
    }
}

impl EventCount {
    pub fn at(level: Level) -> Self {
        let count = Arc::default();
        Self { level, count }
    }

    /// Counts the events of this thread until the guard is dropped.
    pub fn collect(&self) -> DefaultGuard {
        tests::subscriber::keep();
        tracing::subscriber::set_default(self.clone())
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

impl Subscriber for EventCount {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == self.level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
