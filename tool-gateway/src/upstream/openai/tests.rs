//! Requests to a server that answers with scripted responses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response, Uri};
use futures_util::StreamExt as _;
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
async fn only_corrections_of_accepted_requests_are_learned() {
    let server = Server::new(vec![
        rejection(400, "unknown field temperature"),
        rejection(400, "no access"),
        completion(),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    assert_eq!(ask(&upstream).await.0.status(), 400);
    assert_eq!(ask(&upstream).await.0.status(), 200);
    let fields = server.requests();
    let temperatures: Vec<_> = fields.iter().map(|request| request.get("temperature")).collect();
    assert_eq!(temperatures, [Some(&json!(0.5)), None, Some(&json!(0.5))]);
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
async fn max_tokens_are_not_fitted_without_the_setting() {
    let message = "maximum context length is 32768 tokens and your request has 17459 input tokens";
    let server = Server::new(vec![rejection(400, message)]);
    let settings = ChatSettings {
        fit_max_tokens: false,
        ..ChatSettings::default()
    };
    let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
    let (response, body) = ask(&upstream).await;
    assert_eq!((response.status().as_u16(), server.requests().len()), (400, 1));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("input length and `max_tokens` exceed context limit: 17459 + 32000 > 32768"));
}

/// Returns the number of tokens, and the header with its source.
async fn count(upstream: &OpenAiUpstream<Server>) -> (u64, String) {
    let response = upstream.send(request("/v1/messages/count_tokens")).await.unwrap();
    assert_eq!(response.status(), 200);
    let source = response.headers()["x-tool-gateway-tokens"]
        .to_str()
        .unwrap()
        .to_owned();
    let body = json_body(response).await;
    (body["input_tokens"].as_u64().unwrap(), source)
}

async fn json_body(response: Response<Body>) -> Value {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

/// Size of `"messages":[{"role":"user","content":"hello"}]` in a body.
const PROMPT_BYTES: u64 = 35;

#[tokio::test]
async fn tokens_are_estimated_by_the_messages_alone() {
    let upstream = OpenAiUpstream::over(Server::default());
    assert_eq!(
        count(&upstream).await,
        (PROMPT_BYTES * 2 / 7, "estimated".to_owned())
    );
    assert_eq!(upstream.warnings.count("count_tokens"), 0);
}

#[tokio::test]
async fn a_usage_improves_the_estimate() {
    let (status, mut body) = completion();
    body["usage"] = json!({ "prompt_tokens": 70, "completion_tokens": 1 });
    let upstream = OpenAiUpstream::over(Server::new(vec![(status, body)]));
    let response = upstream.turn(request("/v1/messages")).await.unwrap();
    assert!(matches!(response.into_body(), TurnBody::Message(_)));
    // Two tokens a byte, and 2 % more.
    assert_eq!(count(&upstream).await, (72, "estimated".to_owned()));
}

#[tokio::test]
async fn servers_count_the_translated_messages() {
    let server = Server::new(vec![(
        200,
        json!({ "count": 42, "max_model_len": 9, "tokens": [1] }),
    )]);
    let upstream = OpenAiUpstream::over(server.clone()).with_profile("vllm").unwrap();
    assert_eq!(count(&upstream).await, (42, "counted".to_owned()));
    assert_eq!(*server.paths.lock().unwrap(), ["/tokenize"]);
    let messages = json!([{ "role": "user", "content": "hello" }]);
    assert_eq!(server.requests(), [json!({ "model": "m", "messages": messages })]);
}

#[tokio::test]
async fn servers_of_the_messages_api_count_the_messages() {
    let server = Server::new(vec![(200, json!({ "input_tokens": 42 }))]);
    let upstream = OpenAiUpstream::over(server.clone())
        .with_profile("sglang")
        .unwrap();
    assert_eq!(count(&upstream).await, (42, "counted".to_owned()));
    assert_eq!(*server.paths.lock().unwrap(), ["/v1/messages/count_tokens"]);
    let messages = json!([{ "role": "user", "content": "hello" }]);
    assert_eq!(server.requests(), [json!({ "model": "m", "messages": messages })]);
}

#[tokio::test]
async fn tokens_that_the_server_does_not_count_are_estimated() {
    for response in [
        Some((404, json!({ "detail": "Not Found" }))),
        Some((200, json!({ "tokens": [] }))),
        None,
    ] {
        let server = Server::new(response.into_iter().collect());
        let upstream = OpenAiUpstream::over(server).with_profile("vllm").unwrap();
        assert_eq!(
            count(&upstream).await,
            (PROMPT_BYTES * 2 / 7, "estimated".to_owned())
        );
        assert_eq!(upstream.warnings.count("count_tokens"), 1);
    }
}

#[tokio::test]
async fn images_have_a_number_of_tokens() {
    let upstream = OpenAiUpstream::over(Server::default());
    let count = async |data: &str| {
        let source = json!({ "type": "base64", "media_type": "image/png", "data": data });
        let content = json!([{ "type": "image", "source": source }]);
        let body =
            json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": content }] });
        let request = Request::post("/v1/messages/count_tokens").body(body.to_string().into());
        let response = upstream.send(request.unwrap()).await.unwrap();
        json_body(response).await["input_tokens"].as_u64().unwrap()
    };
    let small = count("AAAA").await;
    assert!((1600..1650).contains(&small), "{small}");
    assert_eq!(count(&"A".repeat(40_000)).await, small);
}

/// Requests a path as a client of the Messages API.
async fn get(upstream: &OpenAiUpstream<Server>, path: &str) -> (u16, Value) {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = path.parse().unwrap();
    let headers = request.headers_mut();
    headers.insert("anthropic-version", "2023-06-01".parse().unwrap());
    headers.insert("x-api-key", "sk-client".parse().unwrap());
    let response = upstream.send(request).await.unwrap();
    (response.status().as_u16(), json_body(response).await)
}

fn ids(models: &Value) -> Vec<&str> {
    let models = models["data"].as_array().unwrap().iter();
    models.map(|model| model["id"].as_str().unwrap()).collect()
}

#[derive(serde::Deserialize)]
struct Rules {
    models: Vec<ModelRule>,
}

#[tokio::test(start_paused = true)]
async fn models_are_listed_with_the_names_of_the_configuration() {
    let list = |id: &str| (200, json!({ "data": [{ "id": id, "max_model_len": 9 }] }));
    let server = Server::new(vec![list("qwen"), list("other")]);
    let rules = r#"
        models = [
            { match = "claude-test", serve = "qwen" },
            { match = "claude-*", serve = "qwen" },
            { match = "small" },
        ]"#;
    let Rules { models } = toml::from_str(rules).unwrap();
    let settings = ChatSettings {
        models,
        ..ChatSettings::default()
    };
    let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
    let (status, models) = get(&upstream, "/v1/models?limit=1000").await;
    assert_eq!(
        (status, ids(&models)),
        (200, vec!["qwen", "claude-test", "small"])
    );
    assert_eq!(models["data"][1]["max_input_tokens"], 9);
    assert_eq!(models["data"][2]["created_at"], "1970-01-01T00:00:00Z");
    // From the kept list.
    let (_, model) = get(&upstream, "/v1/models/claude-test").await;
    assert_eq!(model, models["data"][1]);
    assert_eq!(*server.paths.lock().unwrap(), ["/v1/models"]);
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let (_, models) = get(&upstream, "/v1/models").await;
    assert_eq!(ids(&models), ["other", "claude-test", "small"]);
    // No list is needed for the configured names.
    *server.responses.lock().unwrap() = vec![rejection(404, "no route")].into();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let (status, models) = get(&upstream, "/v1/models").await;
    assert_eq!((status, ids(&models)), (200, vec!["claude-test", "small"]));
}

#[tokio::test]
async fn errors_of_models_have_the_form_of_the_messages_api() {
    let mut server = Server::new(vec![
        rejection(401, "bad key"),
        rejection(404, "no model"),
        rejection(500, "no list"),
    ]);
    server.has_key = true;
    let upstream = OpenAiUpstream::over(server);
    let (status, error) = get(&upstream, "/v1/models").await;
    assert_eq!(
        (status, &error["error"]["message"]),
        (502, &json!("the upstream refused the gateway's key"))
    );
    let (status, error) = get(&upstream, "/v1/models/a/b").await;
    assert_eq!(
        (status, &error["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    assert_eq!(error["error"]["details"]["upstream_status"], 404);
}

#[tokio::test]
async fn model_of_a_server_without_its_path_is_found_in_the_list() {
    let list = json!({ "data": [{ "id": "org/m", "max_model_len": 9 }] });
    let server = Server::new(vec![
        rejection(404, "no route"),
        (200, list),
        rejection(404, "no route"),
    ]);
    let upstream = OpenAiUpstream::over(server.clone());
    let (status, model) = get(&upstream, "/v1/models/org/m").await;
    assert_eq!(
        (status, &model["id"], &model["max_input_tokens"]),
        (200, &json!("org/m"), &json!(9))
    );
    // From the kept list.
    let (status, error) = get(&upstream, "/v1/models/other").await;
    assert_eq!(
        (status, &error["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    assert_eq!(
        *server.paths.lock().unwrap(),
        ["/v1/models/org/m", "/v1/models", "/v1/models/other"]
    );
}

#[tokio::test]
async fn other_forms_of_models_are_unchanged() {
    let models = json!({ "models": ["m"] });
    let upstream = OpenAiUpstream::over(Server::new(vec![(200, models.clone())]));
    assert_eq!(get(&upstream, "/v1/models").await, (200, models));
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

/// Pieces of a stream's body, each with the seconds before it.
fn timed(pieces: &[(u64, Result<&'static str, &'static str>)]) -> Body {
    let pieces = pieces.to_vec();
    let pieces = futures_util::stream::iter(pieces).then(|(seconds, piece)| async move {
        tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
        piece.map(Bytes::from).map_err(std::io::Error::other)
    });
    Body::from_stream(pieces)
}

const HELLO: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n";

/// Returns the last events of a stream, and the seconds until its end.
async fn streamed(body: Body) -> (Result<Value, String>, u64) {
    let begun = tokio::time::Instant::now();
    let response = Response::builder()
        .header("content-type", "text/event-stream")
        .body(body)
        .unwrap();
    let response =
        super::response::turn_body(response, super::response::expected::ExpectedResponse::default());
    let TurnBody::Message(mut events) = response.await.into_body() else {
        panic!("an error")
    };
    let mut last = Ok(Value::Null);
    while let Some(event) = std::future::poll_fn(|cx| events.poll_next(cx)).await {
        match event.map(|event| event.0) {
            Ok(Part::Event(StreamEvent::MessageDelta(fields))) => {
                last = Ok(serde_json::from_str(&fields.to_json()).unwrap());
            }
            Ok(_) => {}
            Err(error) => last = Err(error.to_string()),
        }
    }
    (last, begun.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn pieces_after_a_finish_reason_are_awaited_for_five_seconds() {
    // The usage arrives in time, and the connection stays open.
    let body = timed(&[(0, Ok(HELLO)), (1, Ok(FINISH)), (4, Ok(USAGE)), (3600, Ok(HELLO))]);
    let (last, seconds) = streamed(body).await;
    let last = last.unwrap();
    assert_eq!(last["delta"]["stop_reason"], "end_turn");
    assert_eq!((last["usage"]["input_tokens"].as_u64(), seconds), (Some(7), 6));
    // The usage arrives too late.
    let body = timed(&[(0, Ok(HELLO)), (1, Ok(FINISH)), (6, Ok(USAGE))]);
    let (last, seconds) = streamed(body).await;
    let last = last.unwrap();
    assert_eq!(last["delta"]["stop_reason"], "end_turn");
    assert_ne!(last["usage"]["input_tokens"], 7);
    assert_eq!(seconds, 6);
}

#[tokio::test(start_paused = true)]
async fn a_transport_error_after_a_finish_reason_is_the_end() {
    let body = timed(&[(0, Ok(HELLO)), (0, Ok(FINISH)), (0, Ok(USAGE)), (1, Err("reset"))]);
    let (last, _) = streamed(body).await;
    assert_eq!(last.unwrap()["usage"]["output_tokens"], 3);
    let body = timed(&[(0, Ok(HELLO)), (1, Err("reset"))]);
    let (last, _) = streamed(body).await;
    assert_eq!(last.unwrap_err(), "the upstream's response was cut off: reset");
}

#[tokio::test]
async fn auto_finds_the_profile_in_the_list_of_models_with_the_credential_of_the_request() {
    for (owner, profile) in [
        ("vllm", "vllm"),
        ("sglang", "sglang"),
        ("llamacpp", "llamacpp"),
        ("library", "ollama"),
        ("me", "generic"),
    ] {
        let list = json!({ "object": "list", "data": [{ "id": "m", "owned_by": owner }] });
        let server = Server::new(vec![(200, list), completion(), completion()]);
        let settings = ChatSettings {
            pass_client_key: true,
            ..ChatSettings::default()
        };
        let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
        let upstream = upstream.with_profile("auto").unwrap();
        for _ in 0..2 {
            let mut request = request("/v1/messages");
            let headers = request.headers_mut();
            headers.insert("x-api-key", "k".parse().unwrap());
            assert_eq!(upstream.turn(request).await.unwrap().status(), 200);
        }
        let paths = server.paths.lock().unwrap().clone();
        let chat = "/v1/chat/completions";
        assert_eq!(paths, ["/v1/models", chat, chat], "{owner}");
        for headers in server.headers.lock().unwrap().iter() {
            assert_eq!(headers["authorization"], "Bearer k");
        }
        let found = upstream.profile.get().unwrap();
        let expected: super::profile::ProfileName = serde_json::from_value(profile.into()).unwrap();
        assert_eq!(*found, expected.profile(), "{owner}");
    }
}

#[tokio::test]
async fn auto_asks_again_after_a_list_of_models_that_failed() {
    let list = json!({ "data": [{ "id": "m", "owned_by": "vllm" }] });
    let answers = vec![rejection(500, "no"), completion(), (200, list), completion()];
    let server = Server::new(answers);
    let upstream = OpenAiUpstream::over(server.clone()).with_profile("auto").unwrap();
    for _ in 0..2 {
        assert_eq!(ask(&upstream).await.0.status(), 200);
    }
    assert_eq!(server.paths.lock().unwrap()[2], "/v1/models");
    assert!(upstream.profile.get().unwrap().top_k);
}

#[tokio::test]
async fn chat_path_is_the_path_of_requests_and_stands_beside_the_models() {
    let server = Server::new(vec![(200, json!({ "data": [] })), completion()]);
    let settings = ChatSettings {
        chat_path: Uri::from_static("/openai/chat/completions"),
        ..ChatSettings::default()
    };
    let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
    ask(&upstream.with_profile("auto").unwrap()).await;
    let paths = server.paths.lock().unwrap().clone();
    assert_eq!(paths, ["/openai/models", "/openai/chat/completions"]);
}

#[tokio::test]
async fn credentials_of_clients_are_sent_with_pass_client_key_alone() {
    for passes in [false, true] {
        for (name, value) in [("x-api-key", "k"), ("authorization", "Bearer k")] {
            let server = Server::new(vec![completion()]);
            let settings = ChatSettings {
                pass_client_key: passes,
                ..ChatSettings::default()
            };
            let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
            let mut request = request("/v1/messages");
            for (name, value) in [(name, value), ("traceparent", "t"), ("cookie", "c")] {
                let name: axum::http::HeaderName = name.parse().unwrap();
                request.headers_mut().insert(name, value.parse().unwrap());
            }
            upstream.turn(request).await.unwrap();
            let headers = server.headers.lock().unwrap()[0].clone();
            let credential = headers.get("authorization").map(|value| value.to_str().unwrap());
            assert_eq!(credential, passes.then_some("Bearer k"));
            assert_eq!(headers["traceparent"], "t");
            assert!(!headers.contains_key("x-api-key") && !headers.contains_key("cookie"));
        }
    }
}

/// The client's key may belong to another vendor's server.
#[tokio::test]
async fn requests_that_pass_have_the_clients_credential_with_pass_client_key_alone() {
    for passes in [false, true] {
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/files"] {
            for (name, value) in [("x-api-key", "k"), ("authorization", "Bearer k")] {
                let server = Server::new(vec![completion()]);
                let settings = ChatSettings {
                    pass_client_key: passes,
                    ..ChatSettings::default()
                };
                let upstream = OpenAiUpstream::over(server.clone()).with_settings(settings);
                let mut request = request(path);
                for (name, value) in [(name, value), ("openai-organization", "o"), ("accept", "a")] {
                    let name: axum::http::HeaderName = name.parse().unwrap();
                    request.headers_mut().append(name, value.parse().unwrap());
                }
                if path == "/v1/files" {
                    upstream.send_stream(request.map(Body::from)).await.unwrap();
                } else {
                    upstream.send(request).await.unwrap();
                }
                let headers = server.headers.lock().unwrap()[0].clone();
                let credential = headers.get("authorization").map(|value| value.to_str().unwrap());
                assert_eq!(credential, passes.then_some("Bearer k"), "{path} {name}");
                assert!(!headers.contains_key("x-api-key"), "{path} {name}");
                assert_eq!(
                    headers.contains_key("openai-organization"),
                    passes,
                    "{path} {name}"
                );
                assert_eq!(headers["accept"], "a");
            }
        }
    }
}

/// Batches and files of a server without the clients' credentials belong to all clients.
#[test]
fn clients_share_an_account_without_their_credentials() {
    for (has_key, passes, is_shared) in [
        (false, false, true),
        (false, true, false),
        (true, false, true),
        (true, true, true),
    ] {
        let server = Server {
            has_key,
            ..Server::default()
        };
        let settings = ChatSettings {
            pass_client_key: passes,
            ..ChatSettings::default()
        };
        let upstream = OpenAiUpstream::over(server).with_settings(settings);
        assert_eq!(upstream.has_credentials(), is_shared, "{has_key} {passes}");
    }
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

#[tokio::test]
async fn a_searched_stop_sequence_ends_the_request() {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<String, std::io::Error>>(1);
    let body = Body::from_stream(futures_util::stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    }));
    let expected = super::response::expected::ExpectedResponse {
        searched_stops: vec!["STOP".to_owned()],
        ..Default::default()
    };
    let response = Response::builder().header("content-type", "text/event-stream");
    let response = response.body(body).unwrap();
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"aSTOP\"}}]}\n\n";
    sender.send(Ok(chunk.to_owned())).await.unwrap();
    let response = super::response::turn_body(response, expected).await;
    // The stream of the server is dropped, though it has not ended.
    sender.closed().await;
    let TurnBody::Message(mut events) = response.into_body() else {
        panic!("an error");
    };
    let mut last = None;
    while let Some(event) = std::future::poll_fn(|cx| events.poll_next(cx)).await {
        last = Some(event.unwrap().0);
    }
    assert!(
        matches!(last, Some(Part::Event(StreamEvent::MessageStop))),
        "{last:?}"
    );
}
