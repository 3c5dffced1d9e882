//! Malformed requests, and malformed streams of an upstream: every request gets an answer in the API's form, and no call of a
//! message that did not arrive whole is run. `GATEWAY_LONG=1` tries a hundred times as many.

#![cfg(feature = "server")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use serde_json::Value;
use tool_gateway::upstream::{ScriptUpstream, Upstream, UpstreamFuture};
use tool_gateway::{Gateway, Offer};
use tool_runtime::{State, ToolRegistry, tool};
use tower::ServiceExt as _;

/// Count.
#[tool]
async fn count(counter: State<Arc<AtomicUsize>>) -> String {
    counter.fetch_add(1, Ordering::Relaxed).to_string()
}

fn registry(counter: &Arc<AtomicUsize>) -> ToolRegistry {
    let mut registry = ToolRegistry::new().with_state(Arc::clone(counter));
    registry.register::<count>().unwrap();
    registry
}

/// A small generator: the same texts on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    /// A text with a few bytes removed, repeated, replaced or put in.
    fn damaged(&mut self, text: &[u8]) -> Vec<u8> {
        const PIECES: [&[u8]; 12] = [
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"",
            b",",
            b"null",
            b"\\u0000",
            b"\xff",
            b"1e999",
            b"\n\n",
            b"\"type\":",
        ];
        let mut text = text.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(text.len() + 1);
            let end = (at + self.below(20)).min(text.len());
            match self.below(4) {
                0 => drop(text.drain(at..end)),
                1 => {
                    let piece = text[at..end].to_vec();
                    text.splice(at..at, piece);
                }
                2 => text.truncate(at),
                _ => drop(text.splice(at..at, PIECES[self.below(PIECES.len())].iter().copied())),
            }
        }
        text
    }
}

fn tries() -> usize {
    if std::env::var_os("GATEWAY_LONG").is_some() {
        100_000
    } else {
        1_000
    }
}

const REQUEST: &str = r#"{"model":"m","max_tokens":5,"stream":true,"system":[{"type":"text","text":"s"}],
    "tools":[{"name":"count"},{"name":"own","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},
    "messages":[{"role":"user","content":"hi"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"a","name":"own","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","cache_control":{"type":"ephemeral"}}]}],
    "metadata":{"user_id":"{\"session_id\":\"1\"}"}}"#;

#[tokio::test]
async fn malformed_requests_get_an_error_of_the_api() {
    let counter = Arc::new(AtomicUsize::new(0));
    let script = r#"{"turns":[{"content":[{"type":"text","text":"fine"}]}]}"#;
    let upstream = ScriptUpstream::from_json(script).unwrap();
    let app = Gateway::new(registry(&counter), upstream).router();
    let mut random = Random(1);
    let mut answered = 0;
    for _ in 0..tries() {
        let body = random.damaged(REQUEST.as_bytes());
        let path = ["/v1/messages", "/v1/messages/count_tokens"][random.below(2)];
        let request = Request::post(path).body(Body::from(body.clone())).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let answer = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = || {
            format!(
                "{status} for {}: {}",
                String::from_utf8_lossy(&body),
                String::from_utf8_lossy(&answer)
            )
        };
        if status == StatusCode::OK {
            answered += 1;
            continue;
        }
        assert_eq!(status, StatusCode::BAD_REQUEST, "{}", text());
        let error: Value = serde_json::from_slice(&answer).unwrap_or_else(|_| panic!("{}", text()));
        assert_eq!(error["error"]["type"], "invalid_request_error", "{}", text());
        assert!(
            error["error"]["message"]
                .as_str()
                .is_some_and(|message| message.len() > 10),
            "{}",
            text()
        );
    }
    assert!(answered > tries() / 20, "{answered}");
}

/// An upstream that answers with these bytes.
struct Bytes(Vec<u8>, bool);

impl Upstream for Bytes {
    fn send(&self, _: Request<bytes::Bytes>) -> UpstreamFuture<'_> {
        let kind = if self.1 {
            "text/event-stream"
        } else {
            "application/json"
        };
        let response = Response::builder()
            .header("content-type", kind)
            .body(Body::from(self.0.clone()))
            .unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "bytes".to_owned()
    }
}

const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":3}}}\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
    event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n\
    event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"count\",\"input\":{}}}\n\n\
    event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n\
    event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n\
    event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":4}}\n\n\
    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// The call never ends as one, so it must never run, whatever happens to the stream.
#[tokio::test]
async fn malformed_streams_run_nothing_and_end_with_an_event_or_an_error() {
    let counter = Arc::new(AtomicUsize::new(0));
    let mut random = Random(2);
    for _ in 0..tries() {
        let bytes = random.damaged(STREAM.as_bytes());
        let is_stream = random.below(10) > 0;
        let app = Gateway::new(registry(&counter), Bytes(bytes.clone(), is_stream))
            .with_offer(Offer::Always)
            .router();
        let wants_stream = random.below(2) == 0;
        let body = format!(r#"{{"stream":{wants_stream},"messages":[{{"role":"user","content":"hi"}}]}}"#);
        let request = Request::post("/v1/messages").body(Body::from(body)).unwrap();
        let response = app.oneshot(request).await.unwrap();
        let status = response.status();
        let answer = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        let text = || format!("{status} {}\n=>\n{answer}", String::from_utf8_lossy(&bytes));
        assert_eq!(counter.load(Ordering::Relaxed), 0, "{}", text());
        if status != StatusCode::OK {
            assert!(answer.contains(r#""type":"error""#), "{}", text());
        } else if wants_stream {
            let last = answer.trim_end().rsplit("\n\n").next().unwrap_or_default();
            let is_end = last.starts_with("event: message_stop") || last.starts_with("event: error");
            assert!(is_end, "{}", text());
        } else {
            assert!(
                serde_json::from_str::<Value>(&answer).is_ok_and(|message| message.is_object()),
                "{}",
                text()
            );
        }
    }
}
