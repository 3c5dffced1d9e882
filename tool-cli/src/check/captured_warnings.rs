//! [`capture_warnings`]: captures the warnings that the runtime logs.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};

/// Runs a function. Returns the result of the function and the messages of the warnings that it logged.
pub(crate) fn capture_warnings<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let result = subscriber::with_default(WarningCollector(Arc::clone(&warnings)), run);
    let mut warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
    (result, std::mem::take(&mut warnings))
}

struct WarningCollector(Arc<Mutex<Vec<String>>>);

impl Subscriber for WarningCollector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut visitor = MessageVisitor::default();
        event.record(&mut visitor);
        let mut warnings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(visitor.message);
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
struct MessageVisitor {
    message: String,
}

impl Visit for MessageVisitor {
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
        let (result, warnings) = capture_warnings(|| {
            tracing::warn!(path = "/a", "{} is odd", 1);
            tracing::info!("all is well");
            2
        });
        assert_eq!((result, warnings), (2, vec!["1 is odd".to_owned()]));
    }
}
