//! An annotated function behind the Messages API: the client declares its own tool, the model calls both in one message.
//!
//! `cargo run --example gateway` asks twice, in memory; `cargo run --example gateway -- serve` listens on <http://127.0.0.1:8484>.

#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "an example")]

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use tool_gateway::upstream::ScriptUpstream;
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

/// What the model says: first it calls both tools, then it has both results.
const SCRIPT: &str = r#"{ "turns": [
    { "content": [
        { "type": "text", "text": "I look at both." },
        { "type": "tool_use", "name": "local_time", "input": { "city": "Oslo" } },
        { "type": "tool_use", "name": "get_weather", "input": { "city": "Oslo" } }
    ] },
    { "content": [{ "type": "text", "text": "Noon, and 21 °C." }] }
] }"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = ToolRegistry::new();
    registry.register::<local_time>()?;
    let upstream = ScriptUpstream::from_json(SCRIPT)?;
    let app = Gateway::new(registry, upstream.clone())
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

    let requests = upstream.requests();
    let last: Value = from_slice(&requests.last().ok_or("the upstream was asked")?.body)?;
    println!("the model saw    {}", last["messages"][2]["content"]);
    Ok(())
}

/// Sends a conversation to the gateway, as any client of the Messages API does.
async fn ask(app: &Router, messages: &[Value]) -> Result<Value, Box<dyn std::error::Error>> {
    let tools = json!([{ "name": "get_weather", "description": "Get the weather.", "input_schema": { "type": "object" } }]);
    let body = json!({ "model": "demo", "max_tokens": 1024, "tools": tools, "messages": messages });
    let request = Request::post("/v1/messages").body(Body::from(body.to_string()))?;
    let response = app.clone().oneshot(request).await?;
    Ok(from_slice(&to_bytes(response.into_body(), usize::MAX).await?)?)
}
