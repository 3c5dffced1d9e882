//! The upstream `script`: delays; and the chunks and cut-off streams of the test script.

use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use tokio::time::Instant;
use tool_gateway::upstream::{AnthropicUpstream, Upstream as _};

use crate::body::{ask, bytes, events, pieces, post};
use crate::test_script::TestScript;

const STREAM: &str = r#"{"stream": true, "messages": []}"#;
const WHOLE: &str = r#"{"messages": []}"#;

/// Builds a script with one turn: a text of six events, and these fields.
fn script(fields: &Value) -> TestScript {
    let mut turn = json!({"id": "msg_1", "content": [{"type": "text", "text": "Hello"}]});
    for (name, value) in fields.as_object().unwrap() {
        turn[name] = value.clone();
    }
    TestScript::from_json(&json!({"turns": [turn]}).to_string()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn delay_comes_before_the_response() {
    let start = Instant::now();
    let script = script(&json!({"delay_ms": 5000}));
    for body in [WHOLE, STREAM] {
        ask(&script, body).await;
    }
    assert_eq!(start.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn event_delay_comes_between_events() {
    let start = Instant::now();
    let script = script(&json!({"event_delay_ms": 1000}));
    let (pieces, error) = pieces(ask(&script, STREAM).await.into_body()).await;
    assert!(error.is_none());
    assert_eq!(pieces.len(), 6);
    for piece in &pieces {
        assert_eq!(events(piece).len(), 1);
    }
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn chunks_have_that_size_and_hold_the_same_bytes() {
    let whole = bytes(ask(&script(&json!({})), STREAM).await.into_body()).await;
    for size in [1, 7, 100, 1_000_000] {
        let chunked = script(&json!({"chunk": size}));
        let (pieces, error) = pieces(ask(&chunked, STREAM).await.into_body()).await;
        assert!(error.is_none());
        assert_eq!(pieces.concat(), whole);
        let (last, full) = pieces.split_last().unwrap();
        assert!(full.iter().all(|piece| piece.len() == size) && last.len() <= size);
    }
    let delayed = script(&json!({"chunk": 7, "event_delay_ms": 10}));
    let (pieces, _) = pieces(ask(&delayed, STREAM).await.into_body()).await;
    assert_eq!(pieces.concat(), whole);
    assert!(pieces.iter().all(|piece| piece.len() <= 7));
}

#[tokio::test]
async fn cut_breaks_the_connection_after_that_many_events() {
    for count in [0, 1, 3, 6, 100] {
        let script = script(&json!({"cut_after": count}));
        let (pieces, error) = pieces(ask(&script, STREAM).await.into_body()).await;
        assert_eq!(pieces.len(), count.min(6));
        assert_eq!(error.unwrap().to_string(), "the script cuts the response here");
    }
    let script = script(&json!({"cut_after": 0}));
    let (pieces, error) = pieces(ask(&script, WHOLE).await.into_body()).await;
    assert!(error.is_some());
    assert!(serde_json::from_slice::<Value>(&pieces.concat()).is_err_and(|error| error.is_eof()));
}

/// The answer of a script is equal over a connection and in the process.
#[tokio::test]
async fn cut_and_chunked_streams_arrive_over_a_connection() {
    for fields in [
        json!({"cut_after": 3}),
        json!({"cut_after": 3, "chunk": 5}),
        json!({"chunk": 3}),
        json!({"chunk": 50, "event_delay_ms": 1}),
    ] {
        let script = script(&fields);
        let (expected, cut) = pieces(ask(&script, STREAM).await.into_body()).await;

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = script.clone();
        let handler = async move |request: axum::extract::Request| {
            let (parts, body) = request.into_parts();
            let body = bytes(body).await;
            let request = axum::http::Request::from_parts(parts, body);
            served.send(request).await.unwrap()
        };
        let router = Router::new().fallback(handler);
        tokio::spawn(async move { axum::serve(listener, router).await });

        let upstream = AnthropicUpstream::new(&url, None).unwrap();
        let response = upstream.send(post("/v1/messages", STREAM)).await.unwrap();
        let (arrived, error) = pieces(response.into_body()).await;
        assert_eq!(arrived.concat(), expected.concat());
        assert_eq!(error.is_some(), cut.is_some());
        if cut.is_none() {
            assert_eq!(arrived, expected);
        }
    }
}
