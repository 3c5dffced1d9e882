//! [`LogLines`]: the log as JSON, one line for each event.
//!
//! Each request has a log line and one or two spans. `tracing_subscriber` serializes each field with `serde`, which took a tenth
//! of the time of a request.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, Scope};

use crate::wire::object::push_string;

/// Layer that passes each line to `write`: the time, level, fields and target of the event, and the enclosing spans with their fields.
pub(super) struct LogLines<F> {
    write: F,
}

impl<F: Fn(&[u8])> LogLines<F> {
    pub(super) fn new(write: F) -> Self {
        Self { write }
    }
}

/// Fields of a span, as an object without its closing brace.
struct SpanFields(String);

impl<S, F> Layer<S> for LogLines<F>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    F: Fn(&[u8]) + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        // A text that grows with each field takes several allocations.
        let mut object = String::with_capacity(384);
        object.push_str(r#"{"name":"#);
        push_string(&mut object, span.name());
        attributes.record(&mut LineFields(&mut object));
        span.extensions_mut().insert(SpanFields(object));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(SpanFields(object)) = span.extensions_mut().get_mut() {
            values.record(&mut LineFields(object));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line = String::with_capacity(512);
        line.push_str(r#"{"timestamp":""#);
        // Writes to memory do not fail.
        let _ = SystemTime.format_time(&mut Writer::new(&mut line));
        line.push_str(r#"","level":""#);
        line.push_str(metadata.level().as_str());
        line.push('"');
        event.record(&mut LineFields(&mut line));
        line.push_str(r#","target":"#);
        push_string(&mut line, metadata.target());
        let mut before = r#","spans":["#;
        let scope = context.event_scope(event).map(Scope::from_root);
        for span in scope.into_iter().flatten() {
            if let Some(SpanFields(object)) = span.extensions().get() {
                line.push_str(before);
                line.push_str(object);
                line.push('}');
                before = ",";
            }
        }
        if before == "," {
            line.push(']');
        }
        line.push_str("}\n");
        (self.write)(line.as_bytes());
    }
}

/// Appends fields to an object that already has a field.
struct LineFields<'t>(&'t mut String);

impl LineFields<'_> {
    fn push(&mut self, field: &Field, json: impl fmt::Display) {
        self.push_name(field);
        // Writes to memory do not fail.
        let _ = write!(self.0, "{json}");
    }

    fn push_text(&mut self, field: &Field, value: &str) {
        self.push_name(field);
        push_string(self.0, value);
    }

    fn push_name(&mut self, field: &Field) {
        // The names are identifiers, which need no escapes.
        self.0.push_str(",\"");
        self.0.push_str(field.name());
        self.0.push_str("\":");
    }
}

impl Visit for LineFields<'_> {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no infinite numbers and no NaN.
        if value.is_finite() {
            self.push(field, value);
        } else {
            self.push_text(field, &value.to_string());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push_text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push_text(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn logged(log: impl FnOnce()) -> Vec<Value> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let layer = LogLines::new(move |line: &[u8]| {
            assert!(line.ends_with(b"\n"));
            written
                .lock()
                .unwrap()
                .push(serde_json::from_slice(line).unwrap());
        });
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        std::mem::take(&mut lines.lock().unwrap())
    }

    #[test]
    fn writes_the_fields_of_an_event() {
        let lines = logged(|| {
            let error = std::io::Error::other("a \"quoted\"\nerror");
            tracing::warn!(%error, text = "é", count = -3, size = u64::MAX, half = 0.5, none = f64::NAN, yes = true, list = ?[1, 2], "said");
        });
        let Value::Object(mut line) = lines[0].clone() else {
            panic!("{lines:?}")
        };
        let timestamp = line.remove("timestamp").unwrap();
        let timestamp = timestamp.as_str().unwrap();
        assert!(
            timestamp.len() == 27 && timestamp.ends_with('Z') && timestamp.contains('T'),
            "{timestamp}"
        );
        let expected = json!({
            "level": "WARN", "message": "said", "error": "a \"quoted\"\nerror", "text": "é", "count": -3, "size": u64::MAX, "half": 0.5,
            "none": "NaN", "yes": true, "list": "[1, 2]", "target": module_path!(),
        });
        assert_eq!(Value::Object(line), expected);
    }

    #[test]
    fn writes_the_spans_of_an_event_from_the_outermost() {
        let lines = logged(|| {
            let outer = tracing::info_span!("outer", id = "a", later = tracing::field::Empty);
            outer.record("later", 5);
            let _outer = outer.enter();
            let _inner = tracing::info_span!("inner").entered();
            tracing::info!("inside");
            tracing::info!(parent: None, "outside");
        });
        let spans = json!([{ "name": "outer", "id": "a", "later": 5 }, { "name": "inner" }]);
        assert_eq!(lines[0]["spans"], spans);
        assert_eq!(lines[1].get("spans"), None);
    }
}
