//! Telemetry that a host receives through `tracing`: events and span fields by call, from all threads.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

/// Recorded spans and events of one call.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// `error.type` of the call's span.
    pub error_type: Option<String>,
    /// Events in the call's span: `LEVEL message; field=value`.
    pub events: Vec<String>,
}

/// Returns the recorded spans and events of the call with this id, or the events of the MCP server with this name outside of calls. Each
/// test has unique ids and names.
pub fn of(id: &str) -> Telemetry {
    let recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    recorded.get(id).cloned().unwrap_or_default()
}

/// Starts the recording for all tests of the process.
pub fn record() {
    static RECORDING: Once = Once::new();
    RECORDING.call_once(|| {
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Recorder)).unwrap();
    });
}

static RECORDED: Mutex<BTreeMap<String, Telemetry>> = Mutex::new(BTreeMap::new());

fn change(id: &str, change: impl FnOnce(&mut Telemetry)) {
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    change(recorded.entry(id.to_owned()).or_default());
}

struct Recorder;

/// Returns the id of a span's call.
struct CallId(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, span: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(id) = fields.0.remove(ID) {
            let span = context.span(span).unwrap();
            span.extensions_mut().insert(CallId(id));
        }
    }

    fn on_record(&self, span: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        let span = context.span(span).unwrap();
        if let Some(CallId(id)) = span.extensions().get() {
            change(id, |recorded| recorded.error_type = fields.0.remove("error.type"));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let message = fields.0.remove("message").unwrap_or_default();
        let mut text = format!("{} {message}", event.metadata().level());
        let event_id = fields.0.remove(ID);
        let server = fields.0.get("server").cloned();
        for (name, value) in fields.0 {
            let _ = write!(text, "; {name}={value}");
        }
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(CallId(id)) = span.extensions().get() {
                assert!(
                    event_id.as_ref().is_none_or(|event_id| event_id == id),
                    "{text} is of {id:?}"
                );
                return change(id, |recorded| recorded.events.push(text));
            }
        }
        // Events of an MCP server, outside of its calls.
        if let Some(server) = server {
            change(&server, |recorded| recorded.events.push(text));
        }
    }
}

const ID: &str = "gen_ai.tool.call.id";

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}
