//! Requests over the limits of the gateway, row by row as `docs/faults.md` has them.

use axum::body::Body;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tower::ServiceExt as _;

use crate::fault_rows::{Log, row};
use crate::faults::{Silent, chat, comes_to_its_end, lab_with};
use crate::lab::{post, text};
use crate::reply::Reply;

/// Two bodies of one client are being read. Half of the bytes of all clients are in the first.
#[tokio::test]
async fn requests_are_too_large_together() {
    let row = row("requests_are_too_large_together");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| {
        gateway.with_max_body(4000).with_max_bodies(8000)
    });
    let (is_read, read) = tokio::sync::oneshot::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let body = stream::once(async { Ok::<_, std::io::Error>(" ".repeat(3900)) }).chain(stream::once(async {
        is_read.send(()).unwrap();
        ended.await.unwrap();
        Ok(String::new())
    }));
    let request = post("/v1/messages", "", &[]).map(|_| Body::from_stream(body));
    let first = tokio::spawn(lab.app.clone().oneshot(request));
    read.await.unwrap();
    row.client_sees(&Reply::read(lab.send(post("/v1/messages", &chat(false, "go").body, &[])).await).await);
    row.host_learns(&lab, &log).await;
    assert!(lab.script.requests().is_empty());
    // The bytes are free after the first request.
    end.send(()).unwrap();
    assert_eq!(first.await.unwrap().unwrap().status(), 400);
    comes_to_its_end(&lab, &chat(false, "go")).await;
}

#[tokio::test]
async fn request_has_too_many_blocks() {
    let row = row("request_has_too_many_blocks");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway.with_max_blocks(2));
    let mut three = chat(false, "go");
    three.messages()[0]["content"] = json!([text("a"), text("b"), text("c")]);
    row.client_sees(&Reply::read(lab.send(post("/v1/messages", &three.body, &[])).await).await);
    row.host_learns(&lab, &log).await;
    assert!(lab.script.requests().is_empty());
}
