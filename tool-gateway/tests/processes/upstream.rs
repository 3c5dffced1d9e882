//! An upstream of all gateways, which answers by the content of the request.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Server of the Messages API. The user's last text is a plan: a JSON list with the content of each message of the model, or any other text,
/// which is repeated. Each message of the model since this text is a step of the plan, and the last step repeats the results.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    requests: Mutex<Vec<Value>>,
    /// Number of requests that are answered; more wait.
    admitted: watch::Sender<usize>,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            requests: Mutex::default(),
            admitted: watch::Sender::new(usize::MAX),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared }
    }

    /// Returns the bodies of all requests.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Answers only this number of requests, until the next call.
    pub(crate) fn admit(&self, requests: usize) {
        self.shared.admitted.send_replace(requests);
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = message(&request);
    let number = {
        let mut requests = shared.requests.lock().unwrap();
        requests.push(request);
        requests.len()
    };
    let mut admitted = shared.admitted.subscribe();
    let _ = admitted.wait_for(|admitted| number <= *admitted).await;
    ([(header::CONTENT_TYPE, "application/json")], message.to_string()).into_response()
}

/// Returns the blocks of a message, of which one text may be a string.
fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        content => content.as_array().cloned().unwrap_or_default(),
    }
}

fn message(request: &Value) -> Value {
    let none = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&none);
    let text_of = |message: &Value| {
        let blocks = blocks(message);
        let text = blocks.iter().rfind(|block| block["type"] == "text")?;
        Some(text["text"].as_str().unwrap_or_default().to_owned())
    };
    let said = messages.iter().enumerate().rev().find_map(|(index, message)| {
        (message["role"] == "user").then(|| Some((index, text_of(message)?)))?
    });
    let (index, text) = said.unwrap_or_default();
    let step = messages
        .iter()
        .skip(index)
        .filter(|message| message["role"] == "assistant");
    let step = step.count();
    let plan: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|_| vec![json!(text)]);
    let content = match plan.get(step) {
        Some(Value::Array(calls)) => calls.clone(),
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        _ => {
            let results = messages.last().map(blocks).unwrap_or_default();
            let results: Vec<_> = results
                .iter()
                .map(|result| result["content"].to_string())
                .collect();
            vec![json!({ "type": "text", "text": format!("results: {}", results.join(" ")) })]
        }
    };
    let has_calls = content.iter().any(|block| block["type"] == "tool_use");
    json!({
        "id": format!("msg_{index}_{step}"), "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": if has_calls { "tool_use" } else { "end_turn" }, "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 5 },
    })
}
