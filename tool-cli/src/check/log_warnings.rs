//! Captures the warnings that the runtime logs during a call.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};

/// Runs `run` and returns its result, and the messages of the warnings that it logged.
pub(crate) fn warnings_of<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let result = subscriber::with_default(Listener(Arc::clone(&warnings)), run);
    let mut warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
    (result, std::mem::take(&mut warnings))
}

struct Listener(Arc<Mutex<Vec<String>>>);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        let mut warnings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(words.message);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Words {
    message: String,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_warnings_only() {
        let (result, warnings) = warnings_of(|| {
            tracing::warn!(path = "/a", "{} is odd", 1);
            tracing::info!("all is well");
            2
        });
        assert_eq!((result, warnings), (2, vec!["1 is odd".to_owned()]));
    }
}
