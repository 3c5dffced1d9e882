//! Spans of a turn: names and fields of OpenTelemetry's `GenAI` conventions, their nesting, and no contents of messages.
//!
//! A separate suite with one subscriber for the process, since turns are tasks on any thread.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use tool_gateway::upstream::ScriptUpstream;
use tool_gateway::{Gateway, Offer};
use tool_runtime::{ToolRegistry, tool};
use tower::ServiceExt as _;
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

/// Look for files.
#[tool(read_only)]
async fn look() -> &'static str {
    "secret.txt"
}

/// Returns the spans in the order in which they began.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Seeing>>>);

#[derive(Debug)]
struct Seeing {
    id: Id,
    path: String,
    fields: Fields,
}

#[derive(Debug, Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}").trim_matches('"').to_owned();
        self.0.insert(field.name().to_owned(), value);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let scope = context.span_scope(id).unwrap().from_root();
        let path: Vec<_> = scope.map(|span| span.name()).collect();
        let (id, path) = (id.clone(), path.join("/"));
        self.0.lock().unwrap().push(Seeing { id, path, fields });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut seen = self.0.lock().unwrap();
        let seen = seen.iter_mut().rev().find(|seen| seen.id == *id).unwrap();
        values.record(&mut seen.fields);
    }
}

#[tokio::test]
async fn a_turn_is_a_span_with_its_requests_and_calls_inside() {
    let seen = Seen::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(seen.clone())).unwrap();
    let mut registry = ToolRegistry::new();
    registry.register::<look>().unwrap();
    let usage = json!({ "input_tokens": 10, "output_tokens": 5 });
    let script = json!({ "turns": [
        { "content": [{ "type": "tool_use", "id": "toolu_look", "name": "look", "input": {} }], "usage": usage },
        { "content": [{ "type": "text", "text": "secret.txt" }], "usage": usage },
    ] });
    let ask = async |script: &Value, offer: Offer, content: &str| {
        let upstream = ScriptUpstream::from_json(&script.to_string()).unwrap();
        let app = Gateway::new(registry.clone(), upstream)
            .with_offer(offer)
            .router();
        let messages = json!([{ "role": "user", "content": content }]);
        let body = json!({ "model": "demo", "max_tokens": 9, "messages": messages });
        let request = Request::post("/v1/messages");
        let request = request.body(Body::from(body.to_string())).unwrap();
        let body = app.oneshot(request).await.unwrap().into_body();
        to_bytes(body, usize::MAX).await.unwrap();
        std::mem::take(&mut *seen.0.lock().unwrap())
    };

    let spans = ask(&script, Offer::Always, "secret question").await;
    let paths: Vec<_> = spans.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "invoke_agent",
            "invoke_agent/chat",
            "invoke_agent/execute_tool",
            "invoke_agent/chat"
        ]
    );
    let turn = &spans[0].fields.0;
    assert!(turn["gen_ai.conversation.id"].starts_with("ses_"), "{turn:?}");
    assert_eq!(turn["gen_ai.usage.input_tokens"], "20");
    assert_eq!(turn["gen_ai.usage.output_tokens"], "10");
    let chat = &spans[1].fields.0;
    assert_eq!(
        (chat["otel.name"].as_str(), chat["otel.kind"].as_str()),
        ("chat demo", "client")
    );
    assert_eq!(chat["gen_ai.request.model"], "demo");
    assert_eq!(spans[2].fields.0["gen_ai.tool.call.id"], "toolu_look");
    assert!(!format!("{spans:?}").contains("secret"), "{spans:?}");

    // A passed message is only a request.
    let script = json!({ "turns": [{ "content": [{ "type": "text", "text": "Hi." }], "usage": usage }] });
    let spans = ask(&script, Offer::Declared, "question").await;
    let [chat] = spans.as_slice() else {
        panic!("{spans:?}")
    };
    assert_eq!(
        (
            chat.path.as_str(),
            chat.fields.0["gen_ai.usage.output_tokens"].as_str()
        ),
        ("chat", "5")
    );
    let script = json!({ "turns": [{ "error": { "status": 529 } }] });
    for (offer, path) in [(Offer::Declared, "chat"), (Offer::Always, "invoke_agent/chat")] {
        let spans = ask(&script, offer, "question").await;
        let chat = spans.last().unwrap();
        assert_eq!(chat.path, path);
        for seen in &spans {
            assert_eq!(seen.fields.0["error.type"], "529", "{seen:?}");
            assert_eq!(seen.fields.0["otel.status_code"], "ERROR", "{seen:?}");
        }
    }
}
