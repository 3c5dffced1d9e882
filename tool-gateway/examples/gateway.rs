//! An annotated function behind the Messages API. The client declares its own tool, and the model calls both tools in one message.
//!
//! `cargo run --example gateway` sends two requests in memory; `cargo run --example gateway -- serve` listens on <http://127.0.0.1:8484>.

#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "an example")]

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use bytes::Bytes;
use tool_gateway::upstream::{ScriptUpstream, Upstream, UpstreamFuture};
use tool_gateway::{Gateway, Offer};
use tool_runtime::serde_json::{Value, from_slice, json};
use tool_runtime::{ToolRegistry, tool};
use tower::ServiceExt as _;

/// Tell the time in a city.
#[tool(read_only)]
async fn local_time(
    /// The city.
    city: String,
) -> String {
    format!("It is noon in {city}.")
}

/// Builds the answers of the model: calls of both tools, then a text.
const SCRIPT: &str = r#"{ "turns": [
    { "content": [
        { "type": "text", "text": "I look at both." },
        { "type": "tool_use", "name": "local_time", "input": { "city": "Oslo" } },
        { "type": "tool_use", "name": "get_weather", "input": { "city": "Oslo" } }
    ] },
    { "content": [{ "type": "text", "text": "Noon, and 21 °C." }] }
] }"#;

/// A script that records its requests.
struct Recorded {
    script: ScriptUpstream,
    last: Arc<Mutex<Bytes>>,
}

impl Upstream for Recorded {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        if let Ok(mut last) = self.last.lock() {
            last.clone_from(request.body());
        }
        self.script.send(request)
    }

    fn name(&self) -> String {
        self.script.name()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = ToolRegistry::new();
    registry.register::<local_time>()?;
    let asked = Arc::default();
    let upstream = Recorded {
        script: ScriptUpstream::from_json(SCRIPT)?,
        last: Arc::clone(&asked),
    };
    let app = Gateway::new(registry, upstream)
        .with_offer(Offer::Always)
        .router();
    if std::env::args().nth(1).as_deref() == Some("serve") {
        println!("listening on http://127.0.0.1:8484");
        return Ok(axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8484").await?, app).await?);
    }

    let mut messages = vec![json!({ "role": "user", "content": "How is Oslo?" })];
    let answer = ask(&app, &messages).await?;
    println!("the client sees  {}", answer["content"]);
    let call = answer["content"]
        .as_array()
        .and_then(|blocks| blocks.last())
        .ok_or("the model calls a tool")?;
    let result = json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "21 °C" });
    messages.push(json!({ "role": "assistant", "content": answer["content"] }));
    messages.push(json!({ "role": "user", "content": [result] }));
    let answer = ask(&app, &messages).await?;
    println!("the client sees  {}", answer["content"]);

    let last: Value = from_slice(&asked.lock().map_err(|error| error.to_string())?)?;
    println!("the model saw    {}", last["messages"][2]["content"]);
    Ok(())
}

/// Sends a conversation to the gateway, like any client of the Messages API.
async fn ask(app: &Router, messages: &[Value]) -> Result<Value, Box<dyn std::error::Error>> {
    let tools = json!([{ "name": "get_weather", "description": "Get the weather.", "input_schema": { "type": "object" } }]);
    let body = json!({ "model": "demo", "max_tokens": 1024, "tools": tools, "messages": messages });
    let request = Request::post("/v1/messages").body(Body::from(body.to_string()))?;
    let response = app.clone().oneshot(request).await?;
    Ok(from_slice(&to_bytes(response.into_body(), usize::MAX).await?)?)
}
