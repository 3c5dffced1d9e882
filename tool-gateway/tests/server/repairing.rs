//! `/v1/chat/completions` and `/v1/responses`: passed bytes and repaired calls.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::response::Builder;
use axum::http::{Request, Response, StatusCode};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tool_gateway::Gateway;
use tool_gateway::upstream::{Upstream, UpstreamFuture};
use tool_runtime::ToolRegistry;
use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::stream::{Dialect, StreamRepairer};
use tower::ServiceExt as _;
use tracing::{Event, Subscriber, subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::lab::post;
use crate::reply;
use crate::test_script::TestScript;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const STREAM: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";

/// Answers each request with these pieces, and records the request.
#[derive(Clone)]
struct Answers {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Bytes>,
    /// Whether the response is cut off after its pieces.
    is_broken: bool,
    received: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Answers {
    fn new(kind: &str, pieces: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", kind.to_owned())],
            pieces: pieces.into_iter().map(Into::into).collect(),
            is_broken: false,
            received: Arc::default(),
        }
    }

    /// Builds a whole response with its length.
    fn json(text: &str) -> Self {
        let mut answers = Self::new(JSON, [text.to_owned()]);
        answers.headers.push(("content-length", text.len().to_string()));
        answers.headers.push(("x-request-id", "req_1".to_owned()));
        answers
    }

    fn gateway(&self, fixing: FormatFixing) -> Gateway {
        Gateway::new(ToolRegistry::new(), self.clone()).with_format_fixing(fixing)
    }

    async fn ask(&self, path: &str, fixing: FormatFixing) -> Response<Body> {
        let app = self.gateway(fixing).router();
        app.oneshot(post(path, "{}", &[])).await.unwrap()
    }
}

impl Upstream for Answers {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        self.received.lock().unwrap().push(request);
        let head = Response::builder().status(self.status);
        let head = self
            .headers
            .iter()
            .fold(head, |head: Builder, (name, value)| head.header(*name, value));
        let broken = self.is_broken.then(|| Err(std::io::Error::other("broken")));
        let pieces: Vec<_> = self.pieces.iter().cloned().map(Ok).chain(broken).collect();
        let response = head.body(Body::from_stream(stream::iter(pieces))).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "answers".to_owned()
    }
}

fn switched_off() -> FormatFixing {
    FormatFixing {
        enabled: false,
        ..FormatFixing::for_every_tool()
    }
}

fn without_fallback() -> FormatFixing {
    FormatFixing {
        fallback_on_error: false,
        ..FormatFixing::for_every_tool()
    }
}

/// Returns a recorded stream of `tests/repair/streams`, and its repaired stream.
struct Recorded {
    name: String,
    path: &'static str,
    dialect: Dialect,
    fixing: FormatFixing,
    bytes: Vec<u8>,
    repaired: Vec<u8>,
}

fn recorded() -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/repair/streams");
    let files = std::fs::read_dir(folder.join("recorded")).unwrap();
    let streams = files.filter_map(|file| {
        let name = file.unwrap().file_name().into_string().unwrap();
        let (path, dialect) = match name.split_once('_').unwrap().0 {
            "chat" => (CHAT, Dialect::ChatCompletions),
            "responses" => (RESPONSES, Dialect::Responses),
            _ => return None,
        };
        let bytes = std::fs::read(folder.join("recorded").join(&name)).unwrap();
        let first = String::from_utf8_lossy(&bytes).lines().next().unwrap().to_owned();
        let fixing = first.strip_prefix(": format_fixing ");
        let fixing = fixing.map_or_else(FormatFixing::default, |block| {
            serde_json::from_str(block).unwrap()
        });
        Some(Recorded {
            path,
            dialect,
            fixing,
            bytes,
            repaired: std::fs::read(folder.join("repaired").join(&name)).unwrap(),
            name,
        })
    });
    let streams: Vec<_> = streams.collect();
    assert!(streams.len() > 100, "{}", streams.len());
    streams
}

#[tokio::test]
async fn requests_and_responses_pass_byte_for_byte_without_repair() {
    let body = "{ \"model\" : \"m\",\n \"n\": 1.50, \"messages\": [] , \"stream\": true}\n";
    let headers = [
        ("authorization", "Bearer k"),
        ("openai-organization", "o"),
        ("user-agent", "u"),
    ];
    for stream in recorded() {
        let answers = Answers::new(STREAM, [stream.bytes.clone()]);
        let app = answers.gateway(switched_off()).router();
        let path = format!("{}?x=1", stream.path);
        let response = app.oneshot(post(&path, body, &headers)).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], STREAM);
        assert_eq!(
            reply::bytes(response.into_body()).await,
            stream.bytes,
            "{}",
            stream.name
        );
        let received = answers.received.lock().unwrap();
        assert_eq!(
            (received[0].body().as_ref(), received[0].uri().to_string()),
            (body.as_bytes(), path)
        );
        for (name, value) in headers {
            assert_eq!(received[0].headers()[name], value);
        }
    }
}

/// The upstream, not the gateway, rejects a request that is not UTF-8.
#[tokio::test]
async fn requests_with_any_bytes_pass() {
    for path in [CHAT, RESPONSES] {
        let answers = Answers::json("{}");
        let sent = b"{\"a\": \"\xff\"}";
        let request = Request::post(path).body(Body::from(&sent[..])).unwrap();
        let response = answers.gateway(FormatFixing::default()).router().oneshot(request);
        assert_eq!(response.await.unwrap().status(), StatusCode::OK);
        assert_eq!(answers.received.lock().unwrap()[0].body().as_ref(), sent);
    }
}

#[tokio::test]
async fn streams_are_repaired_equally_in_pieces_of_any_size() {
    for stream in recorded() {
        for size in [1, 7, 100, stream.bytes.len()] {
            let pieces = stream.bytes.chunks(size).map(Bytes::copy_from_slice);
            let mut answers = Answers::new(STREAM, pieces);
            let length = stream.bytes.len().to_string();
            answers.headers.push(("content-length", length));
            let response = answers.ask(stream.path, stream.fixing.clone()).await;
            assert_eq!(
                response.headers().contains_key("content-length"),
                !stream.fixing.enabled
            );
            let (sent, is_broken) = reply::until_broken(response.into_body()).await;
            assert!(!is_broken);
            let (sent, wanted) = (
                String::from_utf8_lossy(&sent),
                String::from_utf8_lossy(&stream.repaired),
            );
            assert_eq!(sent, wanted, "{} in pieces of {size}", stream.name);
        }
    }
}

/// A partial call is sent unchanged, and then the stream is cut off for the client, too.
#[tokio::test]
async fn a_stream_that_breaks_off_loses_nothing() {
    for stream in recorded().into_iter().filter(|stream| stream.fixing.enabled) {
        for cut in (0..stream.bytes.len()).step_by(113) {
            let came = &stream.bytes[..cut];
            let mut answers = Answers::new(STREAM, [came.to_vec()]);
            answers.is_broken = true;
            let response = answers.ask(stream.path, stream.fixing.clone()).await;
            let (sent, is_broken) = reply::until_broken(response.into_body()).await;
            let mut repairer = StreamRepairer::new(stream.dialect, stream.fixing.clone());
            let mut wanted = Vec::new();
            repairer.push(came, &mut wanted);
            let is_over = repairer.failed();
            repairer.abort(&mut wanted);
            assert_eq!(
                (sent, is_broken),
                (wanted.into(), !is_over),
                "{} after {cut}",
                stream.name
            );
        }
    }
}

/// Over a connection, since a server may drop unsent data when a body fails.
#[tokio::test]
async fn held_bytes_arrive_before_the_disconnect() {
    let event = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"TodoWrite","arguments":"{'a': 1"}}]}}]}"#;
    let mut answers = Answers::new(STREAM, [format!("{event}\n\ndata: half")]);
    answers.is_broken = true;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = answers.gateway(FormatFixing::default()).router();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{{}}");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut received = String::new();
    connection.read_to_string(&mut received).await.unwrap();
    assert!(
        received.contains(r#""arguments":"'a': 1""#) && received.contains("data: half"),
        "{received}"
    );
    assert!(!received.ends_with("0\r\n\r\n"), "it is not complete: {received}");
}

/// A piece of a stream reaches the client before the rest of the stream has arrived.
#[tokio::test]
async fn pieces_pass_as_they_arrive() {
    use futures_util::StreamExt as _;
    struct Endless;
    impl Upstream for Endless {
        fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
            let first = stream::iter([Ok::<_, std::io::Error>("data: {\"choices\":[]}\n\n")]);
            let body = Body::from_stream(first.chain(stream::pending()));
            let response = Response::builder().header("content-type", STREAM);
            Box::pin(async { Ok(response.body(body).unwrap()) })
        }

        fn name(&self) -> String {
            "endless".to_owned()
        }
    }
    let app = Gateway::new(ToolRegistry::new(), Endless).router();
    let response = app.oneshot(post(CHAT, "{}", &[])).await.unwrap();
    let mut pieces = response.into_body().into_data_stream();
    assert_eq!(
        pieces.next().await.unwrap().unwrap(),
        "data: {\"choices\":[]}\n\n"
    );
}

/// Python, JSON, a call of another tool, an unrepairable call, an object instead of a string, and white space to keep.
const WHOLE_CHAT: &str = r#" { "id" : "c",
  "choices":[{"index":0, "finish_reason":"tool_calls", "message":{"content":null,"tool_calls":[
    {"id":"a","type":"function","function":{"name":"TodoWrite","arguments" : "{'todos': [\"caf\u00e9\", True]}" }},
    {"id":"b","type":"function","function":{"arguments":"{\"a\": 1.50}","name":"TodoWrite"}},
    {"id":"c","type":"function","function":{"name":"Edit","arguments":"{'a': None}"}},
    {"id":"d","type":"custom","custom":{"name":"TodoWrite","input":"{'a': None}"}},
    {"id":"e","type":"function","function":{"name":"TodoWrite","arguments":"{'a': {1, 2}}"}},
    {"id":"f","type":"function","function":{"name":"TodoWrite","arguments":{"a":
 1}}}]}},
    {"index":1,"message":{"function_call":{"name":"TodoWrite","arguments":"('a',)"}},"finish_reason":"function_call"},
    {"index":2,"message":{"tool_calls":[{"id":"g","function":{"name":"TodoWrite","arguments":"{'a': 1}"}}]},"finish_reason":"length"}],
  "usage":{"total_tokens":1e1} }
"#;

#[tokio::test]
async fn whole_chat_completions_keep_every_byte_but_repaired_arguments() {
    let wanted = WHOLE_CHAT
        .replace(
            r#""{'todos': [\"caf\u00e9\", True]}""#,
            r#""{\"todos\": [\"café\", true]}""#,
        )
        .replace("{\"a\":\n 1}", r#""{\"a\":  1}""#)
        .replace("('a',)", r#"[\"a\"]"#);
    let answers = Answers::json(WHOLE_CHAT);
    let response = answers.ask(CHAT, FormatFixing::default()).await;
    assert_eq!(
        (response.status(), &response.headers()["x-request-id"]),
        (StatusCode::OK, &"req_1".parse().unwrap())
    );
    assert_eq!(response.headers()["content-length"], wanted.len().to_string());
    assert_eq!(body(response).await, wanted);
    // Includes a tool that is not repaired by default.
    let wanted = wanted.replace(
        r#""Edit","arguments":"{'a': None}""#,
        r#""Edit","arguments":"{\"a\": null}""#,
    );
    let response = answers.ask(CHAT, FormatFixing::for_every_tool()).await;
    assert_eq!(body(response).await, wanted);
}

#[tokio::test]
async fn whole_responses_keep_every_byte_but_repaired_arguments() {
    let call = |id: &str, status: &str| {
        format!(
            r#"{{ "type":"function_call", "call_id":"{id}",{status} "name":"TodoWrite","arguments":"{{'a': 1}}"}}"#
        )
    };
    for (status, repairs) in [
        ("completed", [true, true, false]),
        ("incomplete", [true, false, false]),
    ] {
        let statuses = [r#""status":"completed","#, "", r#""status":"incomplete","#];
        let calls = statuses.map(|status| call("c", status));
        let others = r#"{"type":"message","content":[]},{"type":"custom_tool_call","name":"TodoWrite","arguments":"{'a': 1}"}"#;
        let text = |calls: &[String]| {
            format!(
                r#"{{"status":"{status}","output":[{others}, {}] }}"#,
                calls.join(" ,")
            )
        };
        let repaired: Vec<_> = calls
            .iter()
            .zip(repairs)
            .map(|(call, repairs)| {
                if repairs {
                    call.replace("{'a': 1}", r#"{\"a\": 1}"#)
                } else {
                    call.clone()
                }
            })
            .collect();
        let response = Answers::json(&text(&calls))
            .ask(RESPONSES, FormatFixing::default())
            .await;
        assert_eq!(body(response).await, text(&repaired));
    }
}

/// Without a repair, the bytes and their length are unchanged.
#[tokio::test]
async fn response_without_repair_passes_with_its_length() {
    let valid =
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"TodoWrite","arguments":"{ }"}}]}}]}"#;
    for text in [
        valid,
        "",
        "{",
        "[]",
        "null",
        r#"{"choices":[1,{"message":{"tool_calls":[null]}}],"output":7}"#,
    ] {
        for path in [CHAT, RESPONSES] {
            let response = Answers::json(text)
                .ask(path, FormatFixing::for_every_tool())
                .await;
            assert_eq!(response.headers()["content-length"], text.len().to_string());
            assert_eq!(body(response).await, text);
        }
    }
    let not_utf8 = Answers::new(JSON, [&b"{\"choices\":\"\xff\"}"[..]]);
    let response = not_utf8.ask(CHAT, FormatFixing::for_every_tool()).await;
    assert_eq!(reply::bytes(response.into_body()).await, not_utf8.pieces[0]);
}

#[tokio::test]
async fn errors_other_types_and_compressed_responses_pass_untouched() {
    for (status, kind, encoding) in [
        (400, JSON, "identity"),
        (503, STREAM, "identity"),
        (200, "text/plain", "identity"),
        (200, JSON, "gzip"),
        (200, STREAM, "br"),
    ] {
        let mut answers = Answers::new(kind, [WHOLE_CHAT]);
        answers.status = status;
        answers.headers.push(("content-encoding", encoding.to_owned()));
        answers.headers.push(("retry-after", "7".to_owned()));
        answers
            .headers
            .push(("content-length", WHOLE_CHAT.len().to_string()));
        let response = answers.ask(CHAT, FormatFixing::for_every_tool()).await;
        assert_eq!(response.status(), status);
        for (name, value) in &answers.headers {
            assert_eq!(response.headers()[*name], *value);
        }
        assert_eq!(body(response).await, WHOLE_CHAT, "{status} {kind} {encoding}");
    }
    // A response that declares no compression is read.
    let mut answers = Answers::new(JSON, [WHOLE_CHAT]);
    answers.headers.push(("content-encoding", "identity".to_owned()));
    let response = answers.ask(CHAT, FormatFixing::default()).await;
    assert_ne!(body(response).await, WHOLE_CHAT);
}

#[tokio::test]
async fn truncated_response_is_truncated_after_the_received_bytes() {
    let mut answers = Answers::new(JSON, [&WHOLE_CHAT[..200], &WHOLE_CHAT[200..900]]);
    answers.is_broken = true;
    answers
        .headers
        .push(("content-length", WHOLE_CHAT.len().to_string()));
    let response = answers.ask(CHAT, FormatFixing::default()).await;
    assert_eq!(response.headers()["content-length"], WHOLE_CHAT.len().to_string());
    let (came, is_broken) = reply::until_broken(response.into_body()).await;
    assert_eq!((came.as_ref(), is_broken), (&WHOLE_CHAT.as_bytes()[..900], true));
}

/// Clients retry after a 502.
#[tokio::test]
async fn a_whole_response_that_cannot_be_repaired_is_an_error_without_fallback() {
    let response = Answers::json(WHOLE_CHAT).ask(CHAT, without_fallback()).await;
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(response.headers()["content-type"], JSON);
    let error: Value = serde_json::from_str(&body(response).await).unwrap();
    assert_eq!(
        error,
        json!({ "error": {
            "message": "the arguments of the tool `TodoWrite` (call e) are not JSON and could not be repaired: expected a colon at byte 8",
            "type": "invalid_tool_arguments",
            "param": null,
            "code": "invalid_tool_arguments",
        } })
    );
}

/// More than the maximum size of an event in a stream.
#[tokio::test]
async fn large_calls_of_whole_responses_are_repaired() {
    let filler = "x".repeat((16 << 20) + 1);
    let text = |arguments: &str| {
        let function = format!(r#"{{"name":"TodoWrite","arguments":"{arguments}"}}"#);
        format!(r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{function}}}]}}}}]}}"#)
    };
    let python = text(&format!(r#"{{\"text\": \"{filler}\", \"done\": True}}"#));
    let json = text(&format!(r#"{{\"text\": \"{filler}\", \"done\": true}}"#));
    let response = Answers::json(&python).ask(CHAT, FormatFixing::default()).await;
    assert!(body(response).await == json);
    let unclear = text(r#"{\"text\": \"short\", 'a': {1, 2}}"#);
    let response = Answers::json(&unclear).ask(CHAT, without_fallback()).await;
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn keys_limits_and_the_end_hold_as_for_messages() {
    let answers = Answers::json("{}");
    let gateway = || {
        answers
            .gateway(FormatFixing::default())
            .with_client_key("ada", "secret".to_owned())
            .with_client_rate(1)
            .with_max_body(20)
    };
    let key = [("authorization", "Bearer secret")];
    let ask = |app: Router, path: &'static str, body: &'static str, headers: &'static [(&str, &str)]| async move {
        app.oneshot(post(path, body, headers))
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    for path in [CHAT, RESPONSES] {
        let app = gateway().router();
        assert_eq!(ask(app.clone(), path, "{}", &[]).await, 401);
        assert!(answers.received.lock().unwrap().is_empty());
        let too_large = r#"{"messages":"a long text"}"#;
        assert_eq!(
            ask(gateway().router(), path, too_large, &[("x-api-key", "secret")]).await,
            413
        );
        let accepted = app.clone().oneshot(post(path, "{}", &key)).await.unwrap();
        assert_eq!(accepted.status(), 200);
        let received = answers.received.lock().unwrap().pop().unwrap();
        assert!(
            !received.headers().contains_key("authorization"),
            "it is the gateway's"
        );
        assert_eq!(
            ask(app, path, "{}", &[("authorization", "Bearer secret")]).await,
            429
        );

        let gateway = gateway();
        let turns = gateway.turns();
        let app = gateway.router();
        turns.close();
        assert_eq!(
            ask(app.clone(), path, "{}", &[("x-api-key", "secret")]).await,
            503
        );
        let get = Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(app.oneshot(get).await.unwrap().status(), 405);
    }
}

#[tokio::test]
async fn metrics_count_requests_and_repairs() {
    let app = Answers::json(WHOLE_CHAT)
        .gateway(FormatFixing::default())
        .router();
    let response = app.clone().oneshot(post(CHAT, "{}", &[])).await.unwrap();
    body(response).await;
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let metrics = body(app.oneshot(request).await.unwrap()).await;
    for line in [
        "tool_gateway_requests_total{route=\"/v1/chat/completions\",status=\"200\"} 1",
        "tool_gateway_repairs_total{outcome=\"repaired\"} 3",
        "tool_gateway_repairs_total{outcome=\"refused\"} 1",
        "tool_gateway_repairs_total{outcome=\"truncated\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
}

/// Counts the log lines about responses.
struct Lines(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "tool_gateway::server::observe::log" {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn missing_response_has_no_log_line() {
    struct Silent;

    impl Upstream for Silent {
        fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
            Box::pin(std::future::pending())
        }

        fn name(&self) -> String {
            "silent".to_owned()
        }
    }
    crate::subscriber::keep();
    let lines = Arc::new(AtomicUsize::new(0));
    let recorder = tracing_subscriber::registry().with(Lines(Arc::clone(&lines)));
    let _guard = subscriber::set_default(recorder);
    let app = Gateway::new(ToolRegistry::new(), Silent).router();
    let asking = app.oneshot(post(CHAT, "{}", &[]));
    let gone = tokio::time::timeout(Duration::from_millis(50), asking).await;
    assert!(gone.is_err());
    assert_eq!(lines.load(Ordering::SeqCst), 0);
    body(Answers::json("{}").ask(CHAT, FormatFixing::default()).await).await;
    assert_eq!(lines.load(Ordering::SeqCst), 1);
}

/// The path does not belong to the Responses API.
#[tokio::test]
async fn script_responses_pass_unchanged() {
    let script = TestScript::embedded();
    let app = Gateway::new(ToolRegistry::new(), script).router();
    let response = app.oneshot(post(RESPONSES, "{}", &[])).await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let error: Value = serde_json::from_str(&body(response).await).unwrap();
    assert_eq!(error["error"]["type"], "not_found_error", "{error}");
}

async fn body(response: Response<Body>) -> String {
    String::from_utf8(reply::bytes(response.into_body()).await.to_vec()).unwrap()
}
