//! Numbers of tokens: counted by the server, or estimated.

use axum::http::Request;
use serde_json::json;

use super::{Server, completion, json_body, request};
use crate::upstream::answer::TurnBody;
use crate::upstream::openai::OpenAiUpstream;
use crate::upstream::service::Upstream as _;

/// Size of `"messages":[{"role":"user","content":"hello"}]` in a body.
const PROMPT_BYTES: u64 = 35;

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
