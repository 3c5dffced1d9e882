//! Captures the warnings that a function logs.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use super::subscriber;

/// Runs a function on this thread. Returns the function's result and the messages of its warnings.
pub fn warnings_of<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    subscriber::keep();
    let messages = Messages::default();
    let subscriber = tracing_subscriber::registry().with(messages.clone().with_filter(LevelFilter::WARN));
    let result = tracing::subscriber::with_default(subscriber, run);
    let found = messages.0.lock().unwrap().clone();
    (result, found)
}

#[derive(Clone, Default)]
struct Messages(Arc<Mutex<Vec<String>>>);

impl Visit for &Messages {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.lock().unwrap().push(format!("{value:?}"));
        }
    }
}

impl<S: Subscriber> Layer<S> for Messages {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut &*self);
    }
}
