//! Requests to a server that answers with scripted responses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::OpenAiUpstream;
use crate::upstream::answer::TurnBody;
use crate::upstream::service::{Upstream, UpstreamFuture};

/// A server with scripted responses, each a status and a body.
#[derive(Clone, Default)]
struct Server {
    responses: Arc<Mutex<VecDeque<(u16, Value)>>>,
    requests: Arc<Mutex<Vec<Value>>>,
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
        let body = serde_json::from_slice(request.body()).unwrap();
        self.requests.lock().unwrap().push(body);
        let (status, body) = self.responses.lock().unwrap().pop_front().unwrap();
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

#[tokio::test]
async fn statuses_of_errors_are_those_of_the_messages_api() {
    for (status, expected, kind) in [
        (400, 400, "invalid_request_error"),
        (405, 400, "invalid_request_error"),
        (422, 400, "invalid_request_error"),
        (418, 400, "invalid_request_error"),
        (402, 402, "billing_error"),
        (404, 404, "not_found_error"),
        (409, 409, "conflict_error"),
        (413, 413, "request_too_large"),
        (429, 429, "rate_limit_error"),
        (500, 500, "api_error"),
        (408, 504, "timeout_error"),
        (504, 504, "timeout_error"),
        (503, 529, "overloaded_error"),
        (529, 529, "overloaded_error"),
        (502, 502, "api_error"),
        (302, 502, "api_error"),
    ] {
        let upstream = OpenAiUpstream::over(Server::new(vec![rejection(status, "no")]));
        let (response, body) = ask(&upstream).await;
        assert_eq!(response.status(), expected, "{status}");
        let error = &body["error"];
        assert_eq!(
            (&error["type"], &error["message"]),
            (&json!(kind), &json!("no")),
            "{status}"
        );
        let details = json!({ "upstream_status": status, "upstream_code": "some_code" });
        assert_eq!(error["details"], details);
        let headers = response.headers();
        assert_eq!(headers["retry-after"], "3");
        assert_eq!(headers["anthropic-ratelimit-tokens-remaining"], "9");
        assert!(!headers.contains_key("server"));
    }
    let quota = json!({ "error": { "message": "pay", "code": "insufficient_quota" } });
    let upstream = OpenAiUpstream::over(Server::new(vec![(429, quota)]));
    assert_eq!(ask(&upstream).await.0.status(), 402);
}

#[tokio::test]
async fn rejections_of_the_gateways_key_are_not_repeated_by_clients() {
    let mut server = Server::new(vec![rejection(401, "bad key sk-secret")]);
    server.has_key = true;
    let (response, body) = ask(&OpenAiUpstream::over(server)).await;
    assert_eq!(response.status(), 502);
    assert_eq!(body["error"]["message"], "the upstream refused the gateway's key");
    assert_eq!(response.headers()["x-should-retry"], "false");
}

#[tokio::test]
async fn headers_name_the_served_model() {
    let (response, error) = ask(&OpenAiUpstream::over(Server::new(vec![completion()]))).await;
    assert_eq!((response.status().as_u16(), error), (200, Value::Null));
    assert_eq!(response.headers()["x-tool-gateway-model"], "m");
    assert!(!response.headers().contains_key("server"));
}

#[tokio::test]
async fn rejected_fields_are_learned() {
    let server = Server::new(vec![
        rejection(400, "use max_completion_tokens, not max_tokens"),
        rejection(400, "temperature is not supported"),
        completion(),
        completion(),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    for _ in 0..2 {
        assert_eq!(ask(&upstream).await.0.status(), 200);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests[2..] {
        assert_eq!(request["max_completion_tokens"], 32000);
        assert!(request.get("max_tokens").is_none() && request.get("temperature").is_none());
    }
}

#[tokio::test]
async fn a_request_has_at_most_two_repetitions() {
    let no = |message| rejection(400, message);
    let server = Server::new(vec![
        no("max_tokens"),
        no("temperature"),
        no("max_completion_tokens"),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    assert_eq!(ask(&upstream).await.0.status(), 400);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn max_tokens_are_fitted_into_the_context() {
    let message = "maximum context length is 32768 tokens and your request has 17459 input tokens";
    let server = Server::new(vec![rejection(400, message), completion(), completion()]);
    let upstream = OpenAiUpstream::over(server.clone());
    ask(&upstream).await;
    ask(&upstream).await;
    let requests = server.requests();
    let max: Vec<_> = requests.iter().map(|request| &request["max_tokens"]).collect();
    assert_eq!(max, [32000, 15245, 32000]);

    let message = "maximum context length is 18000 tokens and your request has 17459 input tokens";
    let (response, body) = ask(&OpenAiUpstream::over(Server::new(vec![rejection(400, message)]))).await;
    assert_eq!(response.status(), 400);
    let expected = "input length and `max_tokens` exceed context limit: 17459 + 32000 > 18000, \
        decrease input length or `max_tokens` and try again";
    assert_eq!(body["error"]["message"], expected);
}

#[tokio::test]
async fn tokens_are_estimated() {
    let upstream = OpenAiUpstream::over(Server::default());
    let response = upstream.send(request("/v1/messages/count_tokens")).await.unwrap();
    assert_eq!(response.headers()["x-tool-gateway-tokens"], "estimated");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(body["input_tokens"].as_u64().unwrap() > 5, "{body}");
}

#[tokio::test]
async fn models_are_converted_for_clients_of_the_messages_api() {
    let models = || {
        (
            200,
            json!({ "object": "list", "data": [{ "id": "m", "max_model_len": 9 }] }),
        )
    };
    let upstream = OpenAiUpstream::over(Server::new(vec![models(), models()]));
    for (version, expected) in [(Some("2023-06-01"), json!("model")), (None, Value::Null)] {
        let mut request = request("/v1/models");
        if let Some(version) = version {
            let headers = request.headers_mut();
            headers.insert("anthropic-version", version.parse().unwrap());
        }
        let response = upstream.send(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["data"][0]["type"], expected);
    }
}
