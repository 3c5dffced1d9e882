//! A server of `OpenAI`'s Chat Completions that plays a model, for a gateway with `--upstream-kind openai`.
//!
//! `cargo run --example chat_server` listens on <http://127.0.0.1:8000>; another address is an argument. The model writes a list down with
//! `TodoWrite`, calls `get_weather` or `Bash`, and then says what it has read, as far as the request declares these tools.

#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "an example")]

use axum::Router;
use axum::extract::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tool_runtime::serde_json::{Value, json};

/// Calls of the model, in order: the tool, and the text of its arguments, which is no JSON for the first tool.
const CALLS: [(&str, &str); 3] = [
    (
        "TodoWrite",
        "{'todos': [{'content': 'Look', 'status': 'in_progress', 'activeForm': 'Looking'}]}",
    ),
    ("get_weather", r#"{"city": "Oslo"}"#),
    ("Bash", r#"{"command": "ls", "description": "List the files"}"#),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let app = Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(models));
    Ok(axum::serve(listener, app).await?)
}

async fn models() -> Json<Value> {
    Json(json!({ "object": "list", "data": [{ "id": "demo", "object": "model", "max_model_len": 32768 }] }))
}

/// Answers with the next call, or with a text about the results.
async fn complete(Json(request): Json<Value>) -> Response {
    let list = |field: &str| request[field].as_array().cloned().unwrap_or_default();
    let (tools, messages) = (list("tools"), list("messages"));
    let is_declared = |name: &str| tools.iter().any(|tool| tool["function"]["name"] == name);
    let is_called = |name: &str| {
        let mut calls = messages
            .iter()
            .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        calls.any(|call| call["function"]["name"] == name)
    };
    let next = CALLS
        .iter()
        .enumerate()
        .find(|(_, (name, _))| is_declared(name) && !is_called(name));
    let results: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    match next {
        Some((index, (name, arguments))) => {
            let call = json!({
                "index": 0, "id": format!("call_{index}"), "type": "function",
                "function": { "name": name, "arguments": arguments },
            });
            answer(&request, &format!("I call {name}."), Some(&call))
        }
        None if results.is_empty() => answer(&request, "Hello.", None),
        None => answer(&request, &format!("I have read: {}", results.join("; ")), None),
    }
}

/// Builds a completion, or its chunks.
fn answer(request: &Value, text: &str, call: Option<&Value>) -> Response {
    let finish_reason = call.map_or("stop", |_| "tool_calls");
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
    let object = |kind: &str, choices: Value, usage: Value| json!({ "id": "chatcmpl-1", "object": kind, "model": request["model"], "choices": choices, "usage": usage });
    if request["stream"] != true {
        let calls: Vec<&Value> = call.into_iter().collect();
        let message = json!({ "role": "assistant", "content": text, "tool_calls": calls });
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish_reason });
        return Json(object("chat.completion", json!([choice]), usage)).into_response();
    }
    let mut deltas = vec![json!({ "role": "assistant", "content": text })];
    if let Some(call) = call {
        let mut start = call.clone();
        start["function"]["arguments"] = "".into();
        deltas.push(json!({ "tool_calls": [start] }));
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        deltas.extend(
            arguments
                .split_inclusive(' ')
                .map(|piece| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": piece } }] })),
        );
    }
    let chunk = |choices: Value, usage: Value| {
        format!("data: {}\n\n", object("chat.completion.chunk", choices, usage))
    };
    let mut events: String = deltas
        .iter()
        .map(|delta| json!([{ "index": 0, "delta": delta, "finish_reason": null }]))
        .map(|choices| chunk(choices, Value::Null))
        .collect();
    let end = json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason }]);
    events += &chunk(end, Value::Null);
    events += &chunk(json!([]), usage);
    events += "data: [DONE]\n\n";
    ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
}
