//! Requests over the limits of the gateway, row by row as `docs/faults.md` has them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use axum::http::Request;
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::session::file::FileStore;
use tool_gateway::upstream::{Upstream, UpstreamFuture};
use tool_runtime::tool;
use tower::ServiceExt as _;

use crate::fault_rows::{Log, row};
use crate::faults::{Silent, answer_with, chat, comes_to_its_end, lab_with};
use crate::lab::{Lab, Runs, call, post, registry, says, text};
use crate::reply::Reply;
use crate::test_script::TestScript;

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

/// Number of calls of `hang` that began.
static HANGING: AtomicUsize = AtomicUsize::new(0);
static GATE: OnceLock<()> = OnceLock::new();

/// Waits until the end of the test.
#[tool(blocking)]
fn hang() {
    HANGING.fetch_add(1, Ordering::SeqCst);
    GATE.wait();
}

/// Calls `write` for messages that begin with `go`, otherwise `hang` eight times, and ends the turn after the results.
struct HangingCalls;

impl Upstream for HangingCalls {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let hanging = || {
            (0..8)
                .map(|id| json!({ "type": "tool_use", "id": format!("h{id}"), "name": "hang", "input": {} }))
        };
        answer_with(match (messages[0]["content"].as_str(), messages.len()) {
            (Some("go"), 1) => json!([call("write", "a")]),
            (_, 1) => hanging().collect(),
            _ => json!([text("Done.")]),
        })
    }

    fn name(&self) -> String {
        "hanging calls".to_owned()
    }
}

/// The store, blocking tools and offloaded files have separate threads.
#[tokio::test]
async fn blocking_tools_of_another_client_hang() {
    let row = row("blocking_tools_of_another_client_hang");
    let log = Log::start();
    let folder = std::env::temp_dir().join(format!("tool-gateway-hanging-{}", std::process::id()));
    let runs = Runs::default();
    let mut registry = registry(&runs);
    registry.register::<hang>().unwrap();
    let store = FileStore::open(folder.join("sessions.redb")).unwrap();
    let app = Gateway::new(registry, HangingCalls).with_store(store).router();
    let script = TestScript::from_json(&json!({ "turns": [says(&[text("Unused.")])] }).to_string()).unwrap();
    let lab = Lab { app, script, runs };
    let turns = (0..75).map(|number| {
        let mut eve = chat(false, &format!("hang {number}"));
        eve.body["tools"] = json!([{ "name": "hang" }]);
        let app = lab.app.clone();
        tokio::spawn(app.oneshot(post("/v1/messages", &eve.body, &[("x-api-key", "key of eve")])))
    });
    let turns: Vec<_> = turns.collect();
    // The runtime has 512 blocking threads; tools use three quarters of them.
    while HANGING.load(Ordering::SeqCst) < 384 {
        tokio::task::yield_now().await;
    }
    row.client_sees(&chat(false, "go").ask(&lab).await);
    row.host_learns(&lab, &log).await;
    assert_eq!(lab.runs.begun(), ["write a"]);
    GATE.set(()).unwrap();
    for turn in join_all(turns).await {
        assert_eq!(turn.unwrap().unwrap().status(), 200);
    }
    assert_eq!(HANGING.load(Ordering::SeqCst), 600);
    drop(lab);
    std::fs::remove_dir_all(folder).unwrap();
}
