//! Requests to a server that answers with scripted responses.

mod counting;
mod credentials;
mod detection;
mod model_list;
mod rejections;
mod stream_ends;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::OpenAiUpstream;
use super::models::ModelRule;
use super::settings::ChatSettings;
use crate::upstream::answer::{Part, TurnBody};
use crate::upstream::error::UpstreamError;
use crate::upstream::service::{Upstream, UpstreamFuture};
use crate::wire::event::StreamEvent;

/// A server with scripted responses, each a status and a body.
#[derive(Clone, Default)]
struct Server {
    responses: Arc<Mutex<VecDeque<(u16, Value)>>>,
    requests: Arc<Mutex<Vec<Value>>>,
    /// Path of each request.
    paths: Arc<Mutex<Vec<String>>>,
    /// Headers of each request.
    headers: Arc<Mutex<Vec<HeaderMap>>>,
    has_key: bool,
}

impl Server {
    fn new(responses: Vec<(u16, Value)>) -> Self {
        Self {
            responses: Arc::new(Mutex::new(responses.into())),
            ..Self::default()
        }
    }

    fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

impl Upstream for Server {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let body = serde_json::from_slice(request.body()).unwrap_or_default();
        self.requests.lock().unwrap().push(body);
        self.paths.lock().unwrap().push(request.uri().path().to_owned());
        self.headers.lock().unwrap().push(request.headers().clone());
        let response = self.responses.lock().unwrap().pop_front();
        let Some((status, body)) = response else {
            return Box::pin(async { Err(UpstreamError::new("no connection")) });
        };
        let response = Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .header("x-ratelimit-remaining-tokens", "9")
            .header("retry-after", "3")
            .header("server", "uvicorn");
        let response = response.body(Body::from(body.to_string())).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn has_credentials(&self) -> bool {
        self.has_key
    }

    fn name(&self) -> String {
        "server".to_owned()
    }
}

/// Returns a request of the Messages API.
fn request(path: &str) -> Request<Bytes> {
    let body = json!({
        "model": "m", "max_tokens": 32000, "temperature": 0.5,
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let request = Request::post(path);
    request.body(body.to_string().into()).unwrap()
}

fn completion() -> (u16, Value) {
    let message = json!({ "role": "assistant", "content": "hi" });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    (200, json!({ "choices": [choice] }))
}

fn rejection(status: u16, message: &str) -> (u16, Value) {
    (
        status,
        json!({ "error": { "message": message, "code": "some_code" } }),
    )
}

/// Returns the response, and its body if it is an error.
async fn ask(upstream: &OpenAiUpstream<Server>) -> (Response<()>, Value) {
    let response = upstream.turn(request("/v1/messages")).await.unwrap();
    let (head, body) = response.into_parts();
    let error = match body {
        TurnBody::Message(_) => Value::Null,
        TurnBody::Error(body) => {
            let body = body.collect().await.unwrap().to_bytes();
            serde_json::from_slice(&body).unwrap()
        }
    };
    (Response::from_parts(head, ()), error)
}

async fn json_body(response: Response<Body>) -> Value {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn headers_name_the_served_model() {
    let (response, error) = ask(&OpenAiUpstream::over(Server::new(vec![completion()]))).await;
    assert_eq!((response.status().as_u16(), error), (200, Value::Null));
    assert_eq!(response.headers()["x-tool-gateway-model"], "m");
    assert!(!response.headers().contains_key("server"));
}

#[tokio::test]
async fn responses_have_the_clients_name_of_the_model() {
    let models: Vec<ModelRule> =
        serde_json::from_value(json!([{ "match": "m", "serve": "qwen3-coder" }])).unwrap();
    let server = Server::new(vec![completion()]);
    let settings = ChatSettings {
        models,
        ..ChatSettings::default()
    };
    let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
    let response = upstream.turn(request("/v1/messages")).await.unwrap();
    assert_eq!(response.headers()["x-tool-gateway-model"], "qwen3-coder");
    assert_eq!(server.requests()[0]["model"], "qwen3-coder");
    let TurnBody::Message(mut events) = response.into_body() else {
        panic!("an error");
    };
    let first = std::future::poll_fn(|cx| events.poll_next(cx)).await.unwrap();
    let Part::Event(StreamEvent::MessageStart(message)) = first.unwrap().0 else {
        panic!("no start");
    };
    assert!(message.object().is("model", "m"));
}

#[tokio::test]
async fn betas_are_warned_about() {
    let server = Server::new(vec![completion()]);
    let upstream = OpenAiUpstream::over(server.clone());
    let mut request = request("/v1/messages");
    let betas = "interleaved-thinking-2025-05-14".parse().unwrap();
    request.headers_mut().insert("anthropic-beta", betas);
    upstream.turn(request).await.unwrap();
    assert_eq!(upstream.warnings.count("betas"), 1);
    assert!(!server.headers.lock().unwrap()[0].contains_key("anthropic-beta"));
}
