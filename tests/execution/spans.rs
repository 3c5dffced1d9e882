//! Spans and events for a host: names and fields of OpenTelemetry's GenAI conventions, without arguments, and the warnings of a
//! registration.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::json;
use tool_runtime::{Structured, ToolDefinition, ToolOutput, ToolRegistry, tool};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::execution::tools::registry;

/// Name and fields of a span.
type Named = (String, BTreeMap<String, String>);

#[derive(Clone, Default)]
struct Seen {
    spans: Arc<Mutex<Vec<Named>>>,
    events: Arc<Mutex<Vec<BTreeMap<String, String>>>>,
}

impl Seen {
    /// Creates a subscriber that records here, beside the subscriber of the process.
    fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        tests::subscriber::keep();
        tracing_subscriber::registry().with(self.clone())
    }
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(
            field.name().to_owned(),
            format!("{value:?}").trim_matches('"').to_owned(),
        );
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        self.spans
            .lock()
            .unwrap()
            .push((attributes.metadata().name().to_owned(), fields.0));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.spans.lock().unwrap().last_mut().unwrap().1.extend(fields.0);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.events.lock().unwrap().push(fields.0);
    }
}

async fn seen_of(name: &str, input: &str) -> Seen {
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.subscriber());
    registry().execute_tool("toolu_1", name, input).await;
    seen
}

fn only_span(seen: &Seen) -> Named {
    let spans = seen.spans.lock().unwrap();
    assert_eq!(spans.len(), 1);
    spans[0].clone()
}

#[tokio::test]
async fn call_is_one_span_with_the_conventional_fields() {
    let (name, fields) = only_span(&seen_of("answer", "{}").await);
    assert_eq!(name, "execute_tool");
    let expected = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.call.id", "toolu_1"),
        ("gen_ai.tool.name", "answer"),
        ("gen_ai.tool.type", "function"),
        ("otel.name", "execute_tool answer"),
    ];
    assert_eq!(fields, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
}

#[tokio::test]
async fn failed_call_has_an_error_type() {
    for (tool, failure) in [
        ("fail", "tool_error"),
        ("nope", "tool_not_found"),
        ("panic", "panic"),
    ] {
        let (_, fields) = only_span(&seen_of(tool, "{}").await);
        assert_eq!(fields.get("error.type").map(String::as_str), Some(failure));
        assert_eq!(fields.get("otel.status_code").map(String::as_str), Some("ERROR"));
    }
}

#[tokio::test]
async fn neither_arguments_nor_results_are_recorded() {
    let seen = seen_of("answer", r#"{"secret_key":"hunter2"}"#).await;
    let all = format!(
        "{:?} {:?}",
        seen.spans.lock().unwrap(),
        seen.events.lock().unwrap()
    );
    assert!(!all.contains("hunter2") && !all.contains("42"), "{all}");
}

#[tokio::test]
async fn warnings_are_events_with_code_and_path() {
    let seen = seen_of("answer", r#"{"unheard":"of"}"#).await;
    let events = seen.events.lock().unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["code"], "unknown_parameter");
    assert_eq!(events[0]["path"], "/unheard");
    assert_eq!(events[0]["tool"], "answer");
}

#[tokio::test]
async fn call_rejected_by_a_layer_has_a_span() {
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.subscriber());
    let shut = tower::timeout::TimeoutLayer::new(std::time::Duration::ZERO);
    registry().layer(shut).execute_tool("toolu_1", "hang", "{}").await;
    let (_, fields) = only_span(&seen);
    assert_eq!(fields.get("error.type").map(String::as_str), Some("layer_error"));
}

/// A number that is serialized as a string.
struct Lie;

impl Serialize for Lie {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({ "count": "many" }).serialize(serializer)
    }
}

impl JsonSchema for Lie {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Lie".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "properties": { "count": { "type": "integer" } } })
    }
}

/// Count the books.
#[tool]
async fn count() -> Structured<Lie> {
    Structured(Lie)
}

/// In a release build, this is not checked.
#[tokio::test]
async fn wrong_structured_value_is_one_event_of_a_debug_build() {
    let mut library = ToolRegistry::new();
    library.register::<count>().unwrap();
    let mut definition = ToolDefinition::new("weigh", "Weigh a book.", json!({ "type": "object" }));
    definition.output_schema = Some(json!({ "type": "object", "required": ["grams"] }));
    let weigh = async |_, _| ToolOutput::text("heavy").with_structured(json!({}));
    library.register_dynamic(definition, weigh).unwrap();
    let mut city = ToolRegistry::new();
    city.nest("library", library.clone()).unwrap();
    for (registry, name) in [
        (&library, "count"),
        (&library, "weigh"),
        (&city, "library__count"),
        (&city, "library__weigh"),
    ] {
        let seen = Seen::default();
        let _guard = tracing::subscriber::set_default(seen.subscriber());
        let result = registry.execute_tool("toolu_1", name, "{}").await;
        assert!(!result.is_error && result.structured.is_some(), "{name}");
        let events = seen.events.lock().unwrap();
        assert_eq!(
            events.len(),
            usize::from(cfg!(debug_assertions)),
            "{name}: {events:?}"
        );
        assert!(events.iter().all(|event| event["tool"] == name), "{events:?}");
    }
}

/// Returns the warnings of a registration: tool, path and text.
fn warned_of(register: impl FnOnce(&mut ToolRegistry)) -> Vec<[String; 3]> {
    let seen = Seen::default();
    tracing::subscriber::with_default(seen.subscriber(), || register(&mut ToolRegistry::new()));
    let events = seen.events.lock().unwrap();
    events
        .iter()
        .map(|event| ["tool", "path", "message"].map(|field| event[field].clone()))
        .collect()
}

#[test]
fn registration_warns_of_unenforced_keywords() {
    let warned = warned_of(|registry| {
        let schema = json!({
            "type": "object",
            "properties": { "x": { "type": "string", "pattern": "(?=a)b" }, "y": { "type": "integer" } },
        });
        let definition = ToolDefinition::new("loose", "Is loose.", schema);
        registry.register_dynamic(definition, async |_, _| "").unwrap();
    });
    let [[tool, path, message]] = warned.as_slice() else {
        panic!("{warned:?}")
    };
    assert_eq!([tool.as_str(), path], ["loose", "/properties/x/pattern"]);
    assert!(message.contains("pattern"), "{message}");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    /// Latitude.
    lat: f64,
    lon: f64,
}

/// Go somewhere.
#[tool]
async fn go(
    /// Destination.
    to: Place,
) -> f64 {
    to.lat + to.lon
}

#[test]
fn registration_warns_of_nested_properties_without_a_description() {
    let warned = warned_of(|registry| {
        registry.register::<go>().unwrap();
    });
    let expected = [
        "go",
        "/properties/to/properties/lon",
        "this property has no description, the model has to guess",
    ];
    assert_eq!(warned, [expected.map(ToOwned::to_owned)]);
}

/// A long text.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[schemars(extend("pattern" = "a".repeat(20_000)))]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Essay(String);

/// A longer text.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Novel {
    /// Text of the value.
    #[schemars(extend("pattern" = "b".repeat(30_000)))]
    text: String,
}

/// Print it.
#[tool]
async fn print(
    /// First value.
    novel: Novel,
    /// Then.
    essay: Essay,
) {
    let _ = (novel, essay);
}

#[test]
fn registration_warns_of_long_definitions_and_names_the_largest_types() {
    let warned = warned_of(|registry| {
        registry.register::<print>().unwrap();
        let schema = json!({ "type": "object", "properties": {
            "short": { "type": "integer" }, "long": { "type": "string", "description": "c".repeat(33_000) },
        } });
        let definition = ToolDefinition::new("import", "Import it.", schema);
        registry.register_dynamic(definition, async |_, _| "").unwrap();
        let schema = json!({
            "type": "object",
            "properties": {
                "at": { "$ref": "#/$defs/Point" }, "text": { "type": "string", "description": "d".repeat(33_000) },
            },
            "$defs": { "Point": { "type": "object", "properties": { "x": { "type": "integer" } } } },
        });
        let definition = ToolDefinition::new("draw", "Draw it.", schema);
        registry.register_dynamic(definition, async |_, _| "").unwrap();
    });
    let [typed, dynamic, both] = warned.as_slice() else {
        panic!("{warned:?}")
    };
    assert_eq!(typed[0], "print");
    let expected =
        "the definition is 50 KB long and is sent with every request; its largest parts: `Novel` (30";
    assert!(typed[2].starts_with(expected), "{}", typed[2]);
    assert!(typed[2].contains(" bytes), `Essay` (20"), "{}", typed[2]);
    assert_eq!(dynamic[0], "import");
    assert!(dynamic[2].contains("largest parts: `long` (33"), "{}", dynamic[2]);
    assert!(both[2].contains("largest parts: `text` (33"), "{}", both[2]);
    assert!(both[2].contains(" bytes), `Point` ("), "{}", both[2]);
}
