//! Faults of clients of a served registry, by row of `docs/faults.md`.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::Frame;
use tool_runtime::serde_json::{Value, json};

use crate::fault_rows::check;
use crate::http::{ask, post, service};
use crate::process::{ServerProcess, call, request};
use crate::telemetry;

async fn check_line(test: &str, line: &str) {
    let mut server = ServerProcess::start(0);
    server.write(&format!("{line}\n")).await;
    check(test, None, &server.receive().await, &[]);
    let answer = server.ask(json!({ "id": "next", "method": "ping" })).await;
    assert_eq!(answer["result"], json!({}), "the next line is answered");
}

async fn check_request(test: &str, request: Value) {
    check_line(test, &request.to_string()).await;
}

#[tokio::test]
async fn line_is_no_json() {
    check_line("line_is_no_json", "Hello").await;
}

#[tokio::test]
async fn line_is_a_batch() {
    check_request("line_is_a_batch", json!([{ "id": 1, "method": "ping" }])).await;
}

#[tokio::test]
async fn line_is_too_long() {
    check_line("line_is_too_long", &"x".repeat(17 << 20).replacen('x', "{", 1)).await;
}

#[tokio::test]
async fn method_is_unknown() {
    check_request("method_is_unknown", request(1, "resources/list", json!({}))).await;
}

#[tokio::test]
async fn metadata_is_incomplete() {
    let mut list = request(1, "tools/list", json!({}));
    let meta = list["params"]["_meta"].as_object_mut().unwrap();
    meta.remove("io.modelcontextprotocol/clientCapabilities");
    check_request("metadata_is_incomplete", list).await;
}

#[tokio::test]
async fn revision_is_unsupported() {
    let mut list = request(1, "tools/list", json!({}));
    list["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2027-01-01".into();
    check_request("revision_is_unsupported", list).await;
}

#[tokio::test]
async fn tool_is_unknown() {
    check_request("tool_is_unknown", call(1, "brew", json!({}))).await;
}

#[tokio::test]
async fn list_has_changed() {
    let mut server = ServerProcess::start(120);
    let list = server.ask(request(1, "tools/list", json!({}))).await;
    server.ask(call(2, "change", json!({}))).await;
    let cursor = json!({ "cursor": list["result"]["nextCursor"] });
    let answer = server.ask(request(3, "tools/list", cursor)).await;
    check("list_has_changed", None, &answer, &[]);
}

#[tokio::test]
async fn arguments_are_wrong() {
    check_request("arguments_are_wrong", call(1, "add", json!({ "left": 1 }))).await;
}

#[tokio::test]
async fn too_many_calls() {
    let mut server = ServerProcess::start(0);
    for id in 0..136 {
        server.send(call(id, "wait", json!({}))).await;
    }
    for _ in 0..8 {
        server.wait_for_log("waiting").await;
    }
    // Calls are admitted as their tasks run, so any of the waiting ones may be the one too many.
    server.send(call(136, "wait", json!({}))).await;
    let answer = server.receive().await;
    check("too_many_calls", None, &answer, &[]);
}

#[tokio::test]
async fn tool_prints() {
    check_request("tool_prints", call(1, "print", json!({}))).await;
}

#[tokio::test]
async fn tool_panics() {
    telemetry::record();
    let answer = ask(&service(), post(&call("tool_panics", "panic", json!({})))).await;
    let recorded = telemetry::of("tool_panics");
    check(
        "tool_panics",
        Some(answer.status.as_u16()),
        &answer.json(),
        &recorded.events,
    );
}

#[tokio::test]
async fn host_is_unexpected() {
    let mut request = post(&request(1, "tools/list", json!({})));
    request
        .headers_mut()
        .insert("host", "evil.example".parse().unwrap());
    let answer = ask(&service(), request).await;
    check(
        "host_is_unexpected",
        Some(answer.status.as_u16()),
        &answer.json(),
        &[],
    );
}

#[tokio::test]
async fn origin_is_unexpected() {
    let mut request = post(&request(1, "tools/list", json!({})));
    let origin = "https://evil.example".parse().unwrap();
    request.headers_mut().insert("origin", origin);
    let answer = ask(&service(), request).await;
    check(
        "origin_is_unexpected",
        Some(answer.status.as_u16()),
        &answer.json(),
        &[],
    );
}

#[tokio::test]
async fn header_differs_from_the_body() {
    let mut request = post(&call(1, "add", json!({})));
    request.headers_mut().insert("mcp-name", "fail".parse().unwrap());
    let answer = ask(&service(), request).await;
    check(
        "header_differs_from_the_body",
        Some(answer.status.as_u16()),
        &answer.json(),
        &[],
    );
}

#[tokio::test]
async fn body_is_too_large() {
    let request = post(&request(1, "tools/list", json!({})));
    let answer = ask(&service().with_max_body_bytes(100), request).await;
    check(
        "body_is_too_large",
        Some(answer.status.as_u16()),
        &answer.json(),
        &[],
    );
}

#[tokio::test]
async fn body_is_compressed() {
    let mut request = post(&request(1, "tools/list", json!({})));
    let gzip = "gzip".parse().unwrap();
    request.headers_mut().insert("content-encoding", gzip);
    let answer = ask(&service(), request).await;
    check(
        "body_is_compressed",
        Some(answer.status.as_u16()),
        &answer.json(),
        &[],
    );
}

/// Body with this text, and no end.
struct EndlessBody(Bytes);

impl http_body::Body for EndlessBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        let text = std::mem::take(&mut self.0);
        if text.is_empty() {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(Frame::data(text))))
    }
}

fn endless(text: Bytes) -> http::Request<axum::body::Body> {
    let request = post(&request(1, "tools/list", json!({})));
    request.map(|_| axum::body::Body::new(EndlessBody(text)))
}

#[tokio::test(start_paused = true)]
async fn body_has_no_end() {
    let answer = ask(&service(), endless("{".into())).await;
    check(
        "body_has_no_end",
        Some(answer.status.as_u16()),
        &answer.json(),
        &[],
    );
}

#[tokio::test(start_paused = true)]
async fn bodies_are_too_large_together() {
    let service = service();
    let text = Bytes::from(vec![b' '; 16 << 20]);
    let mut stalled: Vec<_> = (0..4)
        .map(|_| Box::pin(ask(&service, endless(text.clone()))))
        .collect();
    for request in &mut stalled {
        let mut context = Context::from_waker(Waker::noop());
        assert!(request.as_mut().poll(&mut context).is_pending());
    }
    let list = || post(&request(1, "tools/list", json!({})));
    let answer = ask(&service, list()).await;
    check(
        "bodies_are_too_large_together",
        Some(answer.status.as_u16()),
        &answer.json(),
        &[],
    );
    drop(stalled.pop());
    assert_eq!(ask(&service, list()).await.status, 200);
}
