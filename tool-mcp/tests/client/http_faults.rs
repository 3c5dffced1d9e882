//! Faults of MCP servers over HTTP, by row of `docs/faults.md`. The server is called `cafe`.

use std::io;
use std::sync::Mutex;

use tool_runtime::ToolCall;
use tool_runtime::serde_json::{Value, json};

use crate::fault_rows::{Row, row};
use crate::http_peer::{HttpPeer, Pieces, Received, Reply, brew, coffee, event};
use crate::support::registry;

/// Calls `brew` at a server without a handshake, which answers in this form.
async fn check_call(row: &Row, answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) {
    check_call_at(row, HttpPeer::modern(brew(), answer)).await;
}

async fn check_call_at(row: &Row, peer: HttpPeer) {
    let client = peer.client().max_message_bytes(100_000).connect().await.unwrap();
    let outcome = registry(&client)
        .call(ToolCall::new(row.id(), "brew", "{}"))
        .await;
    client.stop().await;
    row.check(&outcome);
}

/// Checks the column of the host for a server that cannot be connected.
async fn check_connect(row: &Row, answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) {
    let peer = HttpPeer::new(answer);
    row.check_host([peer.client().connect().await.unwrap_err()]);
}

#[tokio::test]
async fn cannot_be_reached() {
    let row = row("cannot_be_reached");
    check_call(&row, |_| Reply::failure(io::ErrorKind::ConnectionRefused)).await;
}

#[tokio::test]
async fn breaks_the_connection() {
    let row = row("breaks_the_connection");
    check_call(&row, |_| Reply::failure(io::ErrorKind::ConnectionReset)).await;
}

#[tokio::test]
async fn ends_its_stream_early() {
    let row = row("ends_its_stream_early");
    check_call(&row, |_| Reply::events("id: 1\ndata:\n\n")).await;
}

#[tokio::test(start_paused = true)]
async fn continues_its_stream() {
    let row = row("continues_its_stream");
    let call = Mutex::new(Value::Null);
    let peer = HttpPeer::legacy(brew(), move |request| {
        if request.header("last-event-id").is_some() {
            return Reply::events(event(&call.lock().unwrap()));
        }
        *call.lock().unwrap() = request.answer(coffee());
        Reply::events("id: 1\ndata:\n\n")
    });
    check_call_at(&row, peer).await;
}

#[tokio::test]
async fn fails_with_a_status() {
    let row = row("fails_with_a_status");
    check_call(&row, |_| Reply::text(502, "text/plain", "no upstream")).await;
}

#[tokio::test]
async fn refuses_with_a_status() {
    let row = row("refuses_with_a_status");
    check_call(&row, |_| Reply::text(403, "text/plain", "no")).await;
}

#[tokio::test]
async fn limits_the_rate() {
    let row = row("limits_the_rate");
    check_call(&row, |_| Reply::empty(429)).await;
}

#[tokio::test]
async fn redirects_the_call() {
    let row = row("redirects_the_call");
    check_call(&row, |_| {
        Reply::empty(307).with_header("location", "http://other.example/")
    })
    .await;
}

#[tokio::test]
async fn refuses_the_credentials() {
    let row = row("refuses_the_credentials");
    check_call(&row, |_| Reply::empty(401)).await;
}

#[tokio::test]
async fn refuses_the_credentials_of_another_call() {
    static STREAMS: Mutex<Vec<Pieces>> = Mutex::new(Vec::new());
    let row = row("refuses_the_credentials_of_another_call");
    let peer = HttpPeer::modern(brew(), |_| {
        let mut streams = STREAMS.lock().unwrap();
        if !streams.is_empty() {
            return Reply::empty(401);
        }
        let (reply, pieces) = Reply::stream("text/event-stream");
        streams.push(pieces);
        reply
    });
    let client = peer.connect().await;
    let registry = registry(&client);
    let (first, call) = (registry.clone(), ToolCall::new(row.id(), "brew", "{}"));
    let first = tokio::spawn(async move { first.call(call).await });
    peer.wait_for("tools/call", 1).await;
    let second = registry.execute_tool("toolu_02", "brew", "{}").await;
    assert!(
        second
            .text()
            .unwrap()
            .contains("refused the credentials of this program")
    );
    row.check(&first.await.unwrap());
    client.stop().await;
}

#[tokio::test]
async fn answers_with_a_page() {
    let row = row("answers_with_a_page");
    check_call(&row, |_| Reply::text(200, "text/html", "<html>")).await;
}

#[tokio::test]
async fn compresses_its_answer() {
    let row = row("compresses_its_answer");
    check_call(&row, |request| {
        request.result(coffee()).with_header("content-encoding", "gzip")
    })
    .await;
}

#[tokio::test]
async fn answers_with_a_large_event() {
    let row = row("answers_with_a_large_event");
    check_call(&row, |_| Reply::events(format!("data: {}", "x".repeat(200_000)))).await;
}

#[tokio::test]
async fn forgets_the_session() {
    let row = row("forgets_the_session");
    let calls = Mutex::new(0);
    let peer = HttpPeer::legacy(brew(), move |request| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        if *calls == 1 {
            Reply::empty(404)
        } else {
            request.result(coffee())
        }
    });
    check_call_at(&row, peer).await;
}

#[tokio::test]
async fn refuses_the_headers() {
    let row = row("refuses_the_headers");
    let calls = Mutex::new(0);
    check_call(&row, move |request| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        if *calls == 1 {
            request.error(400, json!({ "code": -32020, "message": "headers" }))
        } else {
            request.result(coffee())
        }
    })
    .await;
}

#[tokio::test]
async fn host_has_no_headers() {
    let row = row("host_has_no_headers");
    let peer = HttpPeer::modern(brew(), |request| request.result(coffee()));
    let client = peer
        .client()
        .call_headers(|_| Err("missing header `x-mcp-token`".to_owned()));
    let registry = registry(&client.connect().await.unwrap());
    row.check(&registry.call(ToolCall::new(row.id(), "brew", "{}")).await);
}

#[tokio::test]
async fn tool_has_an_invalid_header() {
    let row = row("tool_has_an_invalid_header");
    let property = json!({ "type": "array", "x-mcp-header": "Cups" });
    let tools = json!([{ "name": "brew", "inputSchema": { "properties": { "cups": property } } }]);
    let peer = HttpPeer::modern(tools, |request| request.result(coffee()));
    row.check_host(peer.connect().await.left_out());
}

#[tokio::test]
async fn cannot_be_reached_at_the_start() {
    let row = row("cannot_be_reached_at_the_start");
    check_connect(&row, |_| Reply::failure(io::ErrorKind::ConnectionRefused)).await;
}

#[tokio::test]
async fn refuses_the_credentials_at_the_start() {
    let row = row("refuses_the_credentials_at_the_start");
    check_connect(&row, |_| Reply::empty(401)).await;
}

#[tokio::test]
async fn redirects_at_the_start() {
    let row = row("redirects_at_the_start");
    check_connect(&row, |_| Reply::empty(308)).await;
}

#[tokio::test]
async fn has_the_transport_of_2024() {
    let row = row("has_the_transport_of_2024");
    check_connect(&row, |request| match request.method() {
        "GET" => Reply::events("event: endpoint\ndata: /messages\n\n"),
        _ => Reply::empty(405),
    })
    .await;
}

#[tokio::test]
async fn is_no_server_of_the_protocol() {
    let row = row("is_no_server_of_the_protocol");
    check_connect(&row, |_| Reply::text(404, "text/html", "<html>")).await;
}
