//! The service for one's own router: statuses, events, and the end of calls and clients.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body as _;
use tokio::sync::Notify;
use tokio::time::timeout;
use tool_mcp::{McpBody, McpPrincipal, McpServer, McpService};
use tool_runtime::serde_json::{Value, from_slice, from_str, json};
use tool_runtime::{CancellationToken, State, ToolRegistry, tool, tool_set};
use tower_service::Service as _;

use crate::process::{call, request};
use crate::served;

/// Response with its whole body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }

    fn events(&self) -> Vec<Value> {
        events(&self.body)
    }
}

fn events(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| from_str(line).unwrap()).collect()
}

/// Returns a request with all headers of its revision.
pub(crate) fn post(message: &Value) -> Request<Body> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost:8484")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(version) = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str() {
        request = request
            .header("mcp-protocol-version", version)
            .header("mcp-method", message["method"].as_str().unwrap());
        if let Some(name) = message["params"]["name"].as_str() {
            request = request.header("mcp-name", name);
        }
    }
    request.body(message.to_string().into()).unwrap()
}

async fn respond(service: &McpService, request: Request<Body>) -> Response<McpBody> {
    service.clone().call(request).await.unwrap()
}

/// Returns the next bytes of a body.
async fn next(body: &mut McpBody) -> Option<String> {
    let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
    Some(String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap())
}

pub(crate) async fn ask(service: &McpService, request: Request<Body>) -> Answer {
    let (parts, mut body) = respond(service, request).await.into_parts();
    let mut text = String::new();
    while let Some(bytes) = next(&mut body).await {
        text += &bytes;
    }
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: text,
    }
}

pub(crate) fn service() -> McpService {
    McpServer::new(served::registry()).http()
}

/// One long body must not keep the thread from other requests.
#[test]
fn long_bodies_are_parsed_on_another_thread() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let occupied = tokio::task::spawn_blocking(move || gate.recv());
        let service = service();
        let long = call(
            1,
            "add",
            json!({ "left": 1, "right": 2, "note": "x".repeat(300 << 10) }),
        );
        let other = service.clone();
        let long = tokio::spawn(async move { ask(&other, post(&long)).await });
        for _ in 0..100 {
            let short = call(2, "add", json!({ "left": 1, "right": 2 }));
            assert_eq!(ask(&service, post(&short)).await.status, StatusCode::OK);
        }
        assert!(!long.is_finished());
        drop(open);
        occupied.await.unwrap().unwrap_err();
        assert_eq!(long.await.unwrap().status, StatusCode::OK);
    });
}

fn legacy(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

#[tokio::test]
async fn serves_both_revisions_without_a_session() {
    let service = service();
    let answer = ask(&service, post(&request(1, "server/discover", json!({})))).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(
        answer.json()["result"]["supportedVersions"],
        json!(["2026-07-28"])
    );
    assert_eq!(answer.json()["result"]["cacheScope"], "public");
    let add = call("a", "add", json!({ "left": "2", "right": 3 }));
    assert_eq!(
        ask(&service, post(&add)).await.json()["result"]["content"][0]["text"],
        "5"
    );

    let initialize = legacy(1, "initialize", json!({ "protocolVersion": "2025-06-18" }));
    let answer = ask(&service, post(&initialize)).await;
    assert_eq!(answer.headers.get("mcp-session-id"), None);
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer.json()["result"]["capabilities"], json!({ "tools": {} }));
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let answer = ask(&service, post(&initialized)).await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::ACCEPTED, ""));
    let numbers = legacy(2, "tools/call", json!({ "name": "numbers" }));
    assert_eq!(
        ask(&service, post(&numbers)).await.json()["result"],
        json!({ "content": [{ "type": "text", "text": "[1,2]" }] })
    );
    assert_eq!(
        ask(&service, post(&legacy(3, "ping", json!({})))).await.json()["result"],
        json!({})
    );
}

#[tokio::test]
async fn statuses_follow_the_revision() {
    let service = service();
    let other_version = |version: &str| {
        let mut message = request(1, "tools/list", json!({}));
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.into();
        post(&message)
    };
    let without = |header: &str, message: &Value| {
        let mut request = post(message);
        request.headers_mut().remove(header);
        request
    };
    let with = |header: &'static str, value: &'static str, message: &Value| {
        let mut request = post(message);
        request.headers_mut().insert(header, value.parse().unwrap());
        request
    };
    let list = request(1, "tools/list", json!({}));
    let old_list = legacy(1, "tools/list", json!({}));
    let body = |text: &str| {
        let mut request = post(&list);
        *request.body_mut() = text.to_owned().into();
        request
    };
    for (name, request, status, code) in [
        ("unknown tool", post(&call(1, "no", json!({}))), 200, -32602),
        (
            "unknown cursor",
            post(&request(1, "tools/list", json!({ "cursor": "x" }))),
            200,
            -32602,
        ),
        (
            "unknown method",
            post(&request(1, "resources/list", json!({}))),
            404,
            -32601,
        ),
        (
            "removed method",
            post(&request(1, "initialize", json!({}))),
            404,
            -32601,
        ),
        (
            "old unknown method",
            post(&legacy(1, "resources/list", json!({}))),
            200,
            -32601,
        ),
        (
            "old unknown tool",
            post(&legacy(1, "tools/call", json!({ "name": "no" }))),
            200,
            -32602,
        ),
        ("no JSON", body("{"), 400, -32700),
        ("batch", body("[{}]"), 400, -32600),
        ("no request", body("5"), 400, -32600),
        ("later version", other_version("2027-01-01"), 400, -32022),
        (
            "earlier version in `_meta`",
            other_version("2025-11-25"),
            400,
            -32022,
        ),
        (
            "no `_meta`",
            with("mcp-protocol-version", "2026-07-28", &old_list),
            400,
            -32020,
        ),
        (
            "other version",
            with("mcp-protocol-version", "2025-11-25", &list),
            400,
            -32020,
        ),
        ("no version", without("mcp-protocol-version", &list), 400, -32020),
        ("no method", without("mcp-method", &list), 400, -32020),
        (
            "other method",
            with("mcp-method", "tools/call", &list),
            400,
            -32020,
        ),
        (
            "other name",
            with("mcp-name", "fail", &call(1, "add", json!({}))),
            400,
            -32020,
        ),
        ("host", with("host", "evil.example", &list), 403, -32600),
        (
            "origin",
            with("origin", "https://evil.example", &list),
            403,
            -32600,
        ),
        ("type", with("content-type", "text/plain", &list), 415, -32600),
        ("accept", with("accept", "text/html", &list), 406, -32600),
    ] {
        let answer = ask(&service, request).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["error"]["code"].as_i64()),
            (status, Some(code)),
            "{name}: {}",
            answer.body
        );
        let is_read = !matches!(status, 403 | 406 | 415) && !matches!(code, -32700 | -32600);
        assert_eq!(answer.json()["id"] == 1, is_read, "{name}: {}", answer.body);
    }
    let mut incomplete = list.clone();
    incomplete["params"]["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    let answer = ask(&service, post(&incomplete)).await;
    assert_eq!(answer.json()["error"]["code"], -32602);
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let mut bare = with("mcp-protocol-version", "2026-07-28", &old_list);
    bare.headers_mut()
        .insert("mcp-method", "tools/list".parse().unwrap());
    let answer = ask(&service, bare).await;
    assert_eq!(answer.json()["error"]["code"], -32602);
    for method in ["GET", "DELETE"] {
        let mut request = post(&list);
        *request.method_mut() = method.parse().unwrap();
        let answer = ask(&service, request).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(answer.headers["allow"], "POST");
    }
    let small = service.with_max_body_bytes(100);
    let answer = ask(&small, post(&list)).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    let chunked = Body::from_stream(ChunkStream(100));
    let mut request = post(&list);
    *request.body_mut() = chunked;
    assert_eq!(ask(&small, request).await.status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// Chunks of a body of unknown length.
struct ChunkStream(usize);

impl futures_core::Stream for ChunkStream {
    type Item = Result<&'static str, std::io::Error>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0 -= 1;
        std::task::Poll::Ready((self.0 > 0).then_some(Ok("    ")))
    }
}

#[tokio::test]
async fn calls_with_a_token_have_events() {
    let service = service();
    for is_modern in [true, false] {
        let mut message = call(1, "report", json!({ "steps": 3 }));
        if !is_modern {
            message["params"]["_meta"] = json!({});
        }
        assert_eq!(
            ask(&service, post(&message)).await.headers["content-type"],
            "application/json"
        );
        message["params"]["_meta"]["progressToken"] = 7.into();
        let answer = ask(&service, post(&message)).await;
        assert_eq!(answer.headers["content-type"], "text/event-stream");
        assert_eq!(answer.headers["x-accel-buffering"], "no");
        let events = answer.events();
        let (last, progress) = events.split_last().unwrap();
        assert_eq!(
            (&last["id"], &last["result"]["content"][0]["text"]),
            (&json!(1), &json!("3"))
        );
        assert_eq!(last["result"].get("resultType").is_some(), is_modern);
        assert!(!progress.is_empty());
        for notification in progress {
            assert_eq!(notification["params"]["progressToken"], 7);
        }
        let mut request = post(&message);
        request
            .headers_mut()
            .insert("accept", "application/json".parse().unwrap());
        assert_eq!(ask(&service, request).await.json()["id"], 1);
    }
    let mut request = post(&call(1, "add", json!({ "left": 1, "right": 1 })));
    request
        .headers_mut()
        .insert("accept", "text/event-stream".parse().unwrap());
    assert_eq!(
        ask(&service, request).await.events()[0]["result"]["content"][0]["text"],
        "2"
    );
}

/// Start and end of a call.
#[derive(Default)]
struct Signals {
    began: Notify,
    cancelled: Notify,
    released: Notify,
    done: Notify,
}

async fn hold(signals: &Signals, cancel: &CancellationToken) {
    signals.began.notify_one();
    tokio::select! {
        () = cancel.cancelled() => signals.cancelled.notify_one(),
        () = signals.released.notified() => signals.done.notify_one(),
    }
}

/// Wait.
#[tool]
async fn hold_write(signals: State<Arc<Signals>>, cancel: CancellationToken) {
    hold(&signals, &cancel).await;
}

/// Wait, and change nothing.
#[tool(read_only)]
async fn hold_read(signals: State<Arc<Signals>>, cancel: CancellationToken) {
    hold(&signals, &cancel).await;
}

#[tokio::test]
async fn calls_end_with_their_clients() {
    let signals = Arc::<Signals>::default();
    let registry = ToolRegistry::new()
        .with_state(Arc::clone(&signals))
        .with_tools(tool_set![hold_write, hold_read])
        .unwrap();
    let service = McpServer::new(registry).http();
    for (tool, is_modern, is_cancelled) in [
        ("hold_write", true, true),
        ("hold_read", true, true),
        ("hold_read", false, true),
        ("hold_write", false, false),
    ] {
        for has_token in [false, true] {
            let mut message = call(1, tool, json!({}));
            if !is_modern {
                message["params"]["_meta"] = json!({});
            }
            if has_token {
                message["params"]["_meta"]["progressToken"] = 7.into();
            }
            let client = tokio::spawn({
                let service = service.clone();
                async move { ask(&service, post(&message)).await.status }
            });
            signals.began.notified().await;
            client.abort();
            assert!(client.await.unwrap_err().is_cancelled());
            if is_cancelled {
                signals.cancelled.notified().await;
            } else {
                signals.released.notify_one();
                signals.done.notified().await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn streams_have_a_comment_each_15_seconds() {
    let service = service();
    let mut message = call(1, "wait", json!({}));
    message["params"]["_meta"]["progressToken"] = 7.into();
    let mut body = respond(&service, post(&message)).await.into_body();
    for _ in 0..3 {
        let begin = tokio::time::Instant::now();
        assert_eq!(next(&mut body).await.unwrap(), ":\n\n");
        assert_eq!(begin.elapsed().as_secs(), 15);
    }
}

#[tokio::test]
async fn subscriptions_receive_changes_up_to_the_end_of_the_server() {
    let server = McpServer::new(served::registry());
    let service = server.http();
    let id = "io.modelcontextprotocol/subscriptionId";
    let listen = request(
        "s",
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true } }),
    );
    let mut body = respond(&service, post(&listen)).await.into_body();
    let first = events(&next(&mut body).await.unwrap());
    assert_eq!(first[0]["method"], "notifications/subscriptions/acknowledged");
    server.replace(ToolRegistry::new());
    let change = events(&next(&mut body).await.unwrap());
    assert_eq!(
        change,
        [json!({
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
            "params": { "_meta": { id: "s" } },
        })]
    );
    server.close();
    let end = events(&next(&mut body).await.unwrap());
    assert_eq!(
        (&end[0]["id"], &end[0]["result"]["_meta"][id]),
        (&json!("s"), &json!("s"))
    );
    assert_eq!(next(&mut body).await, None);
    assert_eq!(
        ask(&service, post(&listen)).await.status,
        StatusCode::SERVICE_UNAVAILABLE
    );
}

#[tokio::test]
async fn a_client_has_at_most_128_subscriptions() {
    let service = service();
    let listen = || {
        let mut request = post(&request(1, "subscriptions/listen", json!({})));
        request.extensions_mut().insert(McpPrincipal::new("ada"));
        request
    };
    let mut bodies = Vec::new();
    for _ in 0..128 {
        bodies.push(respond(&service, listen()).await);
    }
    let answer = ask(&service, listen()).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.json()["id"], 1);
    let other = post(&request(1, "subscriptions/listen", json!({})));
    assert_eq!(respond(&service, other).await.status(), StatusCode::OK);
    bodies.pop();
    // The task of the subscription ends when its body is dropped.
    let again = async {
        while respond(&service, listen()).await.status() != StatusCode::OK {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), again).await.unwrap();
}

#[tokio::test]
async fn sessions_and_caches_are_those_of_a_client() {
    let service = service();
    let count = async |principal: Option<&'static str>, session: Option<&str>| {
        let mut message = call(1, "count", json!({}));
        if let Some(session) = session {
            message["params"]["_meta"]["tool-runtime/session"] = session.into();
        }
        let mut request = post(&message);
        if let Some(principal) = principal {
            request.extensions_mut().insert(McpPrincipal::new(principal));
        }
        ask(&service, request).await.json()["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .parse::<u32>()
            .unwrap()
    };
    assert_eq!(count(Some("ada"), None).await, 1);
    assert_eq!(count(Some("ada"), None).await, 2);
    assert_eq!(count(Some("bob"), None).await, 1);
    assert_eq!(count(None, None).await, 1);
    assert_eq!(count(Some("ada"), Some("s")).await, 1);
    assert_eq!(count(Some("bob"), Some("s")).await, 1);
    assert_eq!(count(Some("ada"), Some("s")).await, 2);

    let mut list = post(&request(1, "tools/list", json!({})));
    list.extensions_mut().insert(McpPrincipal::new("ada"));
    assert_eq!(
        ask(&service, list).await.json()["result"]["cacheScope"],
        "private"
    );
}

#[tokio::test]
async fn hosts_and_origins_can_be_allowed() {
    let service = service()
        .with_allowed_hosts(["mcp.example.com"])
        .with_allowed_origins(["app://obsidian.md"]);
    let status = async |service: &McpService, host: &str, origin: Option<&str>| {
        let mut request = post(&request(1, "tools/list", json!({})));
        request.headers_mut().insert("host", host.parse().unwrap());
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        ask(service, request).await.status.as_u16()
    };
    assert_eq!(status(&service, "mcp.example.com", None).await, 200);
    assert_eq!(
        status(&service, "mcp.example.com", Some("app://obsidian.md")).await,
        200
    );
    assert_eq!(status(&service, "evil.example", None).await, 403);
    let any = service.with_any_host();
    assert_eq!(status(&any, "evil.example", None).await, 200);
    assert_eq!(
        status(&any, "mcp.example.com", Some("https://evil.example")).await,
        403
    );
    assert_eq!(
        status(
            &any.with_any_origin(),
            "mcp.example.com",
            Some("https://evil.example")
        )
        .await,
        200
    );
}

#[tokio::test]
async fn a_body_that_is_not_utf8_is_no_json() {
    let mut request = post(&json!({}));
    *request.body_mut() = Body::from(&b"{\"id\":\"\xff\"}"[..]);
    let answer = ask(&service(), request).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        from_slice::<Value>(answer.body.as_bytes()).unwrap()["error"]["code"],
        -32700
    );
}
