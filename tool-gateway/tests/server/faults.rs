//! Faults of the gateway, by row of `docs/faults.md`. `fault_rows.rs` compares the document with these tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{Request, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tool_gateway::upstream::{AnthropicUpstream, Upstream, UpstreamFuture};
use tool_gateway::{Gateway, Turns};
use tool_runtime::repair::FormatFixing;
use tool_runtime::{Context, ToolDefinition};

use crate::fault_rows::{Log, Row, row};
use crate::lab::{
    Chat, Lab, RETRY, Runs, assistant, call, post, registry, result, says, schema, slow_call, text, user,
};
use crate::reply::{Reply, until_broken};
use crate::test_script::TestScript;

/// A script that another upstream replaces for one of its turns.
struct WithFault {
    script: TestScript,
    fault: Box<dyn Upstream>,
    /// Whether a request with this index, from 0, has the fault.
    is_faulty: Box<dyn Fn(usize) -> bool + Send + Sync>,
    asked: AtomicUsize,
}

impl Upstream for WithFault {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        if (self.is_faulty)(self.asked.fetch_add(1, Ordering::SeqCst)) {
            self.fault.send(request)
        } else {
            self.script.send(request)
        }
    }

    fn name(&self) -> String {
        self.fault.name()
    }
}

/// Builds a gateway whose upstream calls `write` and then ends the turn. The fault is before, between or after the rounds.
pub(crate) fn lab_with(
    fault: impl Upstream,
    at: usize,
    configure: impl FnOnce(Gateway) -> Gateway,
) -> (Lab, Turns) {
    lab_when(fault, move |index| index == at, configure)
}

/// Builds this gateway with another condition of the fault.
pub(crate) fn lab_when(
    fault: impl Upstream,
    is_faulty: impl Fn(usize) -> bool + Send + Sync + 'static,
    configure: impl FnOnce(Gateway) -> Gateway,
) -> (Lab, Turns) {
    // The result of a call may be stored beside the next request, so that a store that fails then costs one request more.
    let done = says(&[text("Done.")]);
    let turns = json!([says(&[call("write", "a")]), done, done]);
    let script = json!({ "order": "requests", "turns": turns });
    let script = TestScript::from_json(&script.to_string()).unwrap();
    let upstream = WithFault {
        script: script.clone(),
        fault: Box::new(fault),
        is_faulty: Box::new(is_faulty),
        asked: AtomicUsize::new(0),
    };
    let runs = Runs::default();
    let gateway = configure(Gateway::new(registry(&runs), upstream));
    let turns = gateway.turns();
    let app = gateway.router();
    (Lab { app, script, runs }, turns)
}

/// Builds a conversation that begins with this text.
pub(crate) fn chat(is_stream: bool, content: &str) -> Chat {
    let mut chat = Chat::new(is_stream);
    chat.messages().push(user(content));
    chat
}

/// Returns the response of an upstream with the content of a message.
pub(crate) fn answer_with(content: Value) -> UpstreamFuture<'static> {
    let reason = if content[0]["type"] == "tool_use" {
        "tool_use"
    } else {
        "end_turn"
    };
    let message =
        json!({ "id": "m", "role": "assistant", "content": content, "stop_reason": reason, "usage": {} });
    let response = Response::builder().header("content-type", "application/json");
    let response = response.body(Body::from(message.to_string())).unwrap();
    Box::pin(async { Ok(response) })
}

/// Builds a request of a conversation that began elsewhere.
pub(crate) fn later_chat(is_stream: bool, content: &str) -> Chat {
    let mut chat = Chat::new(is_stream);
    chat.messages()
        .extend([user("Hi"), assistant("Hello."), user(content)]);
    chat
}

/// Checks that a retry is answered completely, that `write` ran once, and that the conversation continues.
pub(crate) async fn comes_to_its_end(lab: &Lab, chat: &Chat) {
    let reply = lab.ask_with(&chat.body, &[RETRY]).await;
    assert_eq!(
        reply.content().last().unwrap()["text"],
        "Done.",
        "{}",
        reply.message
    );
    assert_eq!(lab.runs.begun(), ["write a"]);
    assert!(
        lab.last_seen().to_string().contains("write of a"),
        "{}",
        lab.last_seen()
    );
    lab.assert_well_formed();
    lab.assert_one_prefix();
}

/// Rounds in which a fault occurs, streamed and not.
const ROUNDS: [(usize, bool); 4] = [(0, false), (0, true), (1, false), (1, true)];

/// Causes the fault in the first and in the second round, streamed and not. Checks that the conversation ends.
pub(crate) async fn upstream_fails<U: Upstream>(row: &Row, fault: impl Fn() -> U) {
    upstream_fails_in(&ROUNDS, row, fault).await;
}

async fn upstream_fails_in<U: Upstream>(rounds: &[(usize, bool)], row: &Row, fault: impl Fn() -> U) {
    for (at, is_stream) in rounds {
        let log = Log::start();
        let idle = Duration::from_secs(20);
        let (lab, _) = lab_with(fault(), *at, |gateway| gateway.with_upstream_idle(idle));
        let chat = chat(*is_stream, "go");
        row.client_sees(&chat.ask(&lab).await);
        row.host_learns(&lab, &log).await;
        comes_to_its_end(&lab, &chat).await;
    }
}

/// Asserts the row of a fault before the answer, for passed messages, too.
async fn upstream_gives_no_answer<U: Upstream>(row: &Row, fault: impl Fn() -> U) {
    upstream_gives_no_answer_in(&ROUNDS, row, fault).await;
}

async fn upstream_gives_no_answer_in<U: Upstream>(
    rounds: &[(usize, bool)],
    row: &Row,
    fault: impl Fn() -> U,
) {
    upstream_fails_in(rounds, row, &fault).await;
    for is_stream in [false, true] {
        let log = Log::start();
        let idle = Duration::from_secs(20);
        let (lab, _) = lab_with(fault(), 0, |gateway| gateway.with_upstream_idle(idle));
        let mut chat = chat(is_stream, "go");
        chat.body["tools"] = json!([]);
        row.client_sees(&chat.ask(&lab).await);
        row.host_learns(&lab, &log).await;
        assert_eq!(lab.ask_with(&chat.body, &[RETRY]).await.shape(), ["write"]);
        assert!(lab.runs.begun().is_empty());
    }
}

/// Builds an upstream with one turn of a script.
pub(crate) fn scripted(turn: &Value) -> TestScript {
    TestScript::from_json(&json!({ "turns": [turn] }).to_string()).unwrap()
}

/// Starts a server that answers each request with these bytes. Returns its URL.
pub(crate) async fn listening(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let _ = connection.read(&mut [0; 4096]).await;
            let _ = connection.write_all(answer).await;
        }
    });
    format!("http://{address}")
}

/// Builds an upstream that answers with 200, this type and this body.
pub(crate) struct Answers(pub(crate) &'static str, pub(crate) fn() -> Body);

impl Upstream for Answers {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let response = Response::builder().header("content-type", self.0);
        let response = response.body(self.1()).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "script".to_owned()
    }
}

/// An upstream that never answers.
pub(crate) struct Silent;

impl Upstream for Silent {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        Box::pin(std::future::pending())
    }

    fn name(&self) -> String {
        "script".to_owned()
    }
}

/// Builds a body with only this first piece, which never ends.
fn stalled(first: &'static str) -> Body {
    let first = stream::once(async move { Ok::<_, std::io::Error>(Bytes::from_static(first.as_bytes())) });
    Body::from_stream(first.chain(stream::pending()))
}

pub(crate) const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1}}}\n\n";

#[tokio::test]
async fn upstream_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let upstream = || AnthropicUpstream::new(&format!("http://{address}"), Some("sk-secret".into())).unwrap();
    upstream_gives_no_answer(&row("upstream_is_unreachable"), upstream).await;
}

#[tokio::test]
async fn upstream_is_not_http() {
    let upstream = listening(b"SSH-2.0-OpenSSH_9.6\r\n").await;
    upstream_gives_no_answer(&row("upstream_is_not_http"), || {
        AnthropicUpstream::new(&upstream, None).unwrap()
    })
    .await;
}

#[tokio::test]
async fn upstream_closes_the_connection() {
    let upstream = listening(b"").await;
    upstream_gives_no_answer(&row("upstream_closes_the_connection"), || {
        AnthropicUpstream::new(&upstream, None).unwrap()
    })
    .await;
}

#[tokio::test]
async fn upstream_closes_a_reused_connection() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
    let row = row("upstream_closes_a_reused_connection");
    for tools in [json!([]), json!([{ "name": "write" }])] {
        let log = Log::start();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let message = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{}}"#;
            for connection in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await.unwrap();
                let answer = format!("{HEAD}: {}\r\n\r\n{message}", message.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
                if connection == 0 {
                    let _ = stream.read(&mut [0; 4096]).await.unwrap();
                }
            }
        });
        let upstream = AnthropicUpstream::new(&url, None).unwrap();
        let (lab, _) = lab_with(upstream, 0, |gateway| gateway);
        let runs = Runs::default();
        let app = Gateway::new(registry(&runs), AnthropicUpstream::new(&url, None).unwrap()).router();
        let lab = Lab { app, ..lab };
        let mut chat = chat(false, "go");
        chat.body["tools"] = tools;
        for _ in 0..2 {
            assert_eq!(chat.ask(&lab).await.text(), "Done.");
        }
        row.client_sees_no_error();
        row.host_learns(&lab, &log).await;
        server.await.unwrap();
    }
}

/// A client whose stream has begun with a `ping` gets errors as events.
#[tokio::test(start_paused = true)]
async fn upstream_is_silent_before_its_first_byte() {
    let row = row("upstream_is_silent_before_its_first_byte");
    for at in [0, 1] {
        let log = Log::start();
        let (lab, _) = lab_with(Silent, at, |gateway| {
            gateway.with_upstream_idle(Duration::from_secs(35))
        });
        let response = lab.send(post("/v1/messages", &chat(true, "go").body, &[])).await;
        assert_eq!(response.status(), 200);
        for (name, value) in [("x-accel-buffering", "no"), ("cache-control", "no-cache")] {
            assert_eq!(response.headers()[name], value);
        }
        let reply = Reply::read(response).await;
        let pings = String::from_utf8_lossy(&reply.body)
            .matches("event: ping")
            .count();
        assert_eq!(pings, 3, "{:?}", reply.body);
        row.client_sees(&reply);
        row.host_learns(&lab, &log).await;
        comes_to_its_end(&lab, &chat(true, "go")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn upstream_is_silent() {
    upstream_gives_no_answer(&row("upstream_is_silent"), || Silent).await;
}

#[tokio::test(start_paused = true)]
async fn upstream_is_silent_in_its_answer() {
    let fault = || Answers("text/event-stream", || stalled(START));
    upstream_fails(&row("upstream_is_silent_in_its_answer"), fault).await;
    // A passed message ends like the upstream's response.
    let (lab, _) = lab_with(fault(), 0, |gateway| {
        gateway.with_upstream_idle(Duration::from_secs(20))
    });
    let mut chat = chat(true, "go");
    chat.body["tools"] = json!([]);
    let answer = lab.send(post("/v1/messages", &chat.body, &[])).await;
    let (passed, is_broken) = until_broken(answer.into_body()).await;
    assert_eq!((&passed[..], is_broken), (START.as_bytes(), true));
}

#[tokio::test(start_paused = true)]
async fn upstream_is_slow() {
    let row = row("upstream_is_slow");
    for is_stream in [false, true] {
        let log = Log::start();
        let mut first = says(&[call("write", "a")]);
        let mut last = says(&[text("It takes its time.")]);
        for turn in [&mut first, &mut last] {
            turn["delay_ms"] = 19_000.into();
            turn["event_delay_ms"] = 19_000.into();
        }
        let script = json!({ "turns": [first, last] });
        let idle = Duration::from_secs(20);
        let lab = Lab::with(script, |gateway| gateway.with_upstream_idle(idle));
        let reply = chat(is_stream, "go").ask(&lab).await;
        row.client_sees(&reply);
        assert_eq!(reply.text(), "It takes its time.");
        row.host_learns(&lab, &log).await;
        assert_eq!(lab.runs.begun(), ["write a"]);
    }
}

/// Checks that the upstream's error is the row's error, with and without `retry-after`.
async fn upstream_refuses(row: Row, status: u16, kind: &str, message: &str) {
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    let mut error = json!({ "error": { "status": status, "body": body } });
    // In the middle of a stream, the gateway waits for these.
    let rounds = if [429, 529].contains(&status) {
        &ROUNDS[..3]
    } else {
        &ROUNDS[..]
    };
    upstream_gives_no_answer_in(rounds, &row.without("retry-after: 7"), || scripted(&error)).await;
    error["error"]["headers"] = json!({ "retry-after": "7" });
    upstream_gives_no_answer_in(rounds, &row, || scripted(&error)).await;
}

#[tokio::test]
async fn upstream_limits_the_rate() {
    let row = row("upstream_limits_the_rate");
    upstream_refuses(row, 429, "rate_limit_error", "Number of requests").await;
}

#[tokio::test]
async fn upstream_fails_inside() {
    let row = row("upstream_fails_inside");
    upstream_refuses(row, 500, "api_error", "Internal server error").await;
}

#[tokio::test]
async fn upstream_is_overloaded() {
    let row = row("upstream_is_overloaded");
    upstream_refuses(row, 529, "overloaded_error", "Overloaded").await;
}

#[tokio::test]
async fn upstream_sends_an_error_in_its_stream() {
    let mut turn = says(&[text("Half of it")]);
    let body = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    turn["error"] = json!({ "status": 529, "body": body });
    upstream_fails(&row("upstream_sends_an_error_in_its_stream"), || scripted(&turn)).await;
}

#[tokio::test]
async fn upstream_sends_a_page() {
    let fault = || Answers("text/html", || Body::from("<html>Welcome</html>"));
    upstream_fails(&row("upstream_sends_a_page"), fault).await;
}

/// Cuts off the stream after this many events of a text, and of a call that must not run.
async fn upstream_is_cut(row: Row, content: Value, after: usize) {
    let mut turn = says(&[content]);
    turn["cut_after"] = after.into();
    upstream_fails(&row, || scripted(&turn)).await;
}

#[tokio::test]
async fn upstream_is_cut_before_its_first_event() {
    upstream_is_cut(row("upstream_is_cut_before_its_first_event"), text("Half"), 0).await;
}

#[tokio::test]
async fn upstream_is_cut_in_a_text() {
    upstream_is_cut(row("upstream_is_cut_in_a_text"), text("Half of it"), 3).await;
}

#[tokio::test]
async fn upstream_is_cut_in_a_call() {
    upstream_is_cut(row("upstream_is_cut_in_a_call"), call("write", "half"), 3).await;
}

#[tokio::test]
async fn upstream_is_cut_before_its_last_event() {
    // A piece of arguments has 16 characters, so the events are: start, block, piece, stop, delta.
    upstream_is_cut(
        row("upstream_is_cut_before_its_last_event"),
        call("write", "x"),
        5,
    )
    .await;
}

#[tokio::test]
async fn upstream_ends_too_early() {
    let fault = || Answers("text/event-stream", || Body::from(START));
    upstream_fails(&row("upstream_ends_too_early"), fault).await;
}

/// Reads a response until it contains this text.
async fn read_until(response: Response<Body>, text: &str) -> Body {
    let (mut body, mut seen) = (response.into_body(), String::new());
    while !seen.contains(text) {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await;
        seen.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
    body
}

/// Builds a call with these arguments in a Chat Completions response, streamed in a `delta` or whole in a `message`.
fn passing_call(place: &str, arguments: &str) -> String {
    let function = json!({ "name": "TodoWrite", "arguments": arguments });
    let message = json!({ "tool_calls": [{ "index": 0, "id": "call_1", "function": function }] });
    json!({ "choices": [{ place: message }] }).to_string()
}

#[tokio::test]
async fn passing_stream_is_cut_in_a_call() {
    let row = row("passing_stream_is_cut_in_a_call");
    let log = Log::start();
    let cut = Answers("text/event-stream", || {
        let event = format!("data: {}\n\n", passing_call("delta", "{'a': 1"));
        Body::from_stream(stream::iter([Ok(event), Err(std::io::Error::other("cut"))]))
    });
    let (lab, _) = lab_with(cut, 0, |gateway| gateway);
    let response = lab.send(post("/v1/chat/completions", "{}", &[])).await;
    let (sent, is_broken) = until_broken(response.into_body()).await;
    let sent = String::from_utf8(sent.to_vec()).unwrap();
    let pieces = [r#""arguments":"{""#, r#""arguments":"'a': 1""#].map(|piece| sent.contains(piece));
    assert_eq!((pieces, is_broken), ([true, true], true), "{sent}");
    row.client_sees_no_error();
    row.host_learns(&lab, &log).await;
}

#[tokio::test]
async fn passing_call_cannot_be_repaired() {
    let row = row("passing_call_cannot_be_repaired");
    let log = Log::start();
    let whole = Answers("application/json", || {
        passing_call("message", "{'a': {1, 2}}").into()
    });
    let fixing = FormatFixing {
        fallback_on_error: false,
        ..FormatFixing::default()
    };
    let (lab, _) = lab_with(whole, 0, |gateway| gateway.with_format_fixing(fixing));
    let response = lab.send(post("/v1/chat/completions", "{}", &[])).await;
    let status = response.status();
    let error = serde_json::from_slice(&until_broken(response.into_body()).await.0).unwrap();
    row.client_sees_openai_error(status, &error);
    row.host_learns(&lab, &log).await;
}

#[tokio::test(start_paused = true)]
async fn client_is_gone_before_its_answer() {
    let row = row("client_is_gone_before_its_answer");
    for at in [0, 1] {
        let log = Log::start();
        let (lab, turns) = lab_with(Silent, at, |gateway| gateway);
        let chat = chat(true, "go");
        let answer = lab.send(post("/v1/messages", &chat.body, &[]));
        let gone = async {
            // The first round is shown, but only its beginning.
            let _answer = read_until(answer.await, "message_start").await;
            std::future::pending::<()>().await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), gone).await;
        turns.ended().await;
        row.client_sees_no_error();
        row.host_learns(&lab, &log).await;
        comes_to_its_end(&lab, &chat).await;
    }
    let log = Log::start();
    let (lab, _) = lab_with(Silent, 0, |gateway| gateway);
    let gone = lab.send(post("/v1/messages", &passing("go").body, &[]));
    let _ = tokio::time::timeout(Duration::from_secs(1), gone).await;
    row.host_learns(&lab, &log).await;
}

#[tokio::test(start_paused = true)]
async fn client_is_gone_in_the_stream() {
    let row = row("client_is_gone_in_the_stream");
    for at in [0, 1] {
        let log = Log::start();
        let (lab, turns) = lab_with(scripted(&slow_turn()), at, |gateway| gateway);
        let chat = chat(true, "go");
        let answer = lab.send(post("/v1/messages", &chat.body, &[])).await;
        drop(read_until(answer, "Half").await);
        turns.ended().await;
        row.client_sees_no_error();
        row.host_learns(&lab, &log).await;
        comes_to_its_end(&lab, &chat).await;
    }
    let log = Log::start();
    let (lab, _) = lab_with(scripted(&slow_turn()), 0, |gateway| gateway);
    let answer = lab.send(post("/v1/messages", &passing("go").body, &[])).await;
    drop(read_until(answer, "Half").await);
    row.host_learns(&lab, &log).await;
    let metrics = lab
        .send(Request::get("/metrics").body(Body::empty()).unwrap())
        .await;
    let metrics = until_broken(metrics.into_body()).await.0;
    let metrics = String::from_utf8(metrics.into()).unwrap();
    assert!(metrics.contains("tokens_total{kind=\"input\"} 1"), "{metrics}");
}

/// Builds a message whose events arrive at intervals of a second.
fn slow_turn() -> Value {
    let mut turn = says(&[text("Half of it is shown.")]);
    turn["event_delay_ms"] = 1_000.into();
    turn
}

/// Builds a streamed conversation that passes through.
fn passing(content: &str) -> Chat {
    let mut chat = chat(true, content);
    chat.body["tools"] = json!([]);
    chat
}

/// Disconnects the client while the call runs, and repeats the request: at once, and after the end of the turn.
async fn client_is_gone_during(row: &Row, name: &str, begun: &[&str]) {
    for comes_back_at_once in [false, true] {
        let log = Log::start();
        let script = json!({ "order": "requests", "turns": [
            says(&[text("One."), slow_call(name, "a", 60_000)]),
            says(&[text("Done.")]),
        ] });
        let mut turns = None;
        let lab = Lab::with(script, |gateway| {
            turns = Some(gateway.turns());
            gateway
        });
        let chat = chat(true, "go");
        let answer = lab.send(post("/v1/messages", &chat.body, &[])).await;
        let answer = read_until(answer, "One.").await;
        while lab.runs.begun().is_empty() {
            tokio::task::yield_now().await;
        }
        drop(answer);
        row.client_sees_no_error();
        if !comes_back_at_once {
            turns.unwrap().ended().await;
            row.host_learns(&lab, &log).await;
        }
        let reply = lab.ask_with(&chat.body, &[RETRY]).await;
        assert_eq!(reply.text(), "One.\nDone.");
        assert_eq!(lab.runs.begun(), begun);
        assert_eq!(lab.runs.ended(), [format!("{name} a")]);
        lab.assert_well_formed();
    }
}

#[tokio::test(start_paused = true)]
async fn client_is_gone_during_a_call() {
    client_is_gone_during(&row("client_is_gone_during_a_call"), "write", &["write a"]).await;
}

#[tokio::test(start_paused = true)]
async fn client_is_gone_during_a_call_that_reads() {
    let row = row("client_is_gone_during_a_call_that_reads");
    client_is_gone_during(&row, "lookup", &["lookup a", "lookup a"]).await;
}

#[tokio::test(start_paused = true)]
async fn client_is_gone_during_a_deferred_call() {
    let row = row("client_is_gone_during_a_deferred_call");
    for comes_back_at_once in [false, true] {
        let log = Log::start();
        let script = json!({ "turns": [
            says(&[slow_call("later", "a", 60_000), call("weather", "b")]),
            says(&[text("Done.")]),
        ] });
        let mut turns = None;
        let lab = Lab::with(script, |gateway| {
            turns = Some(gateway.turns());
            gateway
        });
        let mut chat = Chat::new(true);
        let reply = chat.say(&lab, "go").await;
        chat.messages()
            .push(user(json!([result(&reply.ids()[0], "rain")])));
        let gone = tokio::time::timeout(Duration::from_secs(5), chat.ask(&lab)).await;
        assert!(gone.is_err());
        row.client_sees_no_error();
        if !comes_back_at_once {
            turns.unwrap().ended().await;
            row.host_learns(&lab, &log).await;
        }
        assert_eq!(lab.ask_with(&chat.body, &[RETRY]).await.text(), "Done.");
        assert_eq!(lab.runs.begun(), ["later a"]);
        assert!(lab.last_seen().to_string().contains("later of a"));
        lab.assert_well_formed();
    }
}

#[tokio::test(start_paused = true)]
async fn client_is_gone_before_it_answers_its_calls() {
    let row = row("client_is_gone_before_it_answers_its_calls");
    let log = Log::start();
    let lab = Lab::new(json!([
        says(&[call("write", "a"), call("later", "b"), call("weather", "c")]),
        says(&[text("Done.")])
    ]));
    let mut chat = chat(true, "go");
    let reply = chat.ask(&lab).await;
    row.client_sees(&reply);
    row.host_learns(&lab, &log).await;
    // The deferred call has not run in the meantime.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(lab.runs.begun(), ["write a"]);
    chat.messages().push(assistant(reply.message["content"].clone()));
    chat.messages()
        .push(user(json!([result(&reply.ids()[0], "rain")])));
    assert_eq!(chat.ask(&lab).await.text(), "Done.");
    assert_eq!(lab.ask_with(&chat.body, &[RETRY]).await.text(), "Done.");
    assert_eq!(lab.runs.begun(), ["write a", "later b"]);
    let last = lab.last_seen().to_string();
    assert!(
        last.contains("write of a") && last.contains("later of b"),
        "{last}"
    );
}

/// Without a limit, such a request would occupy its connection and memory forever.
#[tokio::test(start_paused = true)]
async fn request_stalls() {
    let row = row("request_stalls");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
    let request = post("/v1/messages", "", &[]).map(|_| stalled("{\"model\": "));
    row.client_sees(&Reply::read(lab.send(request).await).await);
    row.host_learns(&lab, &log).await;
    assert!(lab.script.requests().is_empty());
    comes_to_its_end(&lab, &chat(false, "go")).await;
}

/// Each piece arrives in time, but the body has no end.
#[tokio::test(start_paused = true)]
async fn request_takes_too_long() {
    let row = row("request_takes_too_long");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
    let pieces = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        Some((Ok::<_, std::io::Error>(" "), ()))
    });
    let request = post("/v1/messages", "", &[]).map(|_| Body::from_stream(pieces));
    let began = tokio::time::Instant::now();
    row.client_sees(&Reply::read(lab.send(request).await).await);
    assert_eq!(began.elapsed().as_secs(), 300);
    row.host_learns(&lab, &log).await;
    assert!(lab.script.requests().is_empty());
    comes_to_its_end(&lab, &chat(false, "go")).await;
}

/// An upstream that redirects its clients.
struct Redirecting;

impl Upstream for Redirecting {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let response = Response::builder()
            .status(307)
            .header("location", "https://elsewhere.example");
        let response = response.body(Body::empty()).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "redirecting".to_owned()
    }
}

#[tokio::test]
async fn upstream_redirects() {
    upstream_gives_no_answer(&row("upstream_redirects"), || Redirecting).await;
}

#[tokio::test]
async fn request_has_two_hosts() {
    let row = row("request_has_two_hosts");
    for configure in [|gateway: Gateway| gateway, Gateway::with_any_host] {
        let log = Log::start();
        let (lab, _) = lab_with(Silent, usize::MAX, configure);
        let hosts = [("host", "localhost"), ("host", "localhost")];
        let request = post("/v1/messages", &chat(false, "go").body, &hosts);
        row.client_sees(&Reply::read(lab.send(request).await).await);
        row.host_learns(&lab, &log).await;
        assert!(lab.script.requests().is_empty());
        comes_to_its_end(&lab, &chat(false, "go")).await;
    }
}

/// The host of a target counts, whatever `Host` says (RFC 9112 § 3.2.2).
#[tokio::test]
async fn request_has_a_target_of_another_host() {
    let row = row("request_has_a_target_of_another_host");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
    let targeted = |target: &str| {
        let mut request = post("/v1/messages", &chat(false, "go").body, &[("host", "localhost")]);
        *request.uri_mut() = target.parse().unwrap();
        lab.send(request)
    };
    row.client_sees(&Reply::read(targeted("http://evil.example:80/v1/messages").await).await);
    row.host_learns(&lab, &log).await;
    for foreign in [
        "http://localhost@evil.example/v1/messages",
        "http://127.0.0.1.evil.example/v1/messages",
    ] {
        assert_eq!(targeted(foreign).await.status(), 403, "{foreign}");
    }
    assert!(lab.script.requests().is_empty());
    for local in ["http://localhost:8484/v1/tools", "http://[::1]/v1/tools"] {
        let request = Request::get(local).header("host", "localhost");
        let response = lab.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 200, "{local}");
    }
}

/// A thread has no place for hidden rounds: each round would create or continue it again. SDKs know the details, and send the whole history.
#[tokio::test]
async fn request_of_a_thread_declares_a_tool_of_the_gateway() {
    let row = row("request_of_a_thread_declares_a_tool_of_the_gateway");
    for thread in [
        json!({ "type": "create" }),
        json!({ "type": "continue", "previous_message_id": "msg_1" }),
    ] {
        for is_stream in [false, true] {
            let log = Log::start();
            let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
            let mut threaded = chat(is_stream, "go");
            threaded.body["thread"] = thread.clone();
            let reply = threaded.ask(&lab).await;
            row.client_sees(&reply);
            let details = json!({ "error_code": "thread_unsupported_request", "unsupported": ["tools"] });
            assert_eq!(reply.message["error"]["details"], details);
            row.host_learns(&lab, &log).await;
            assert!(lab.script.requests().is_empty() && lab.runs.begun().is_empty());
            comes_to_its_end(&lab, &chat(is_stream, "go")).await;
        }
    }
}

/// A client that disconnects would otherwise run any number of calls at once.
#[tokio::test(start_paused = true)]
async fn client_disconnects_to_run_more_turns() {
    let row = row("client_disconnects_to_run_more_turns");
    let log = Log::start();
    let script = json!({ "turns": [says(&[slow_call("write", "a", 60_000)]), says(&[text("Done.")])] });
    let lab = Lab::with(script, |gateway| gateway.with_client_concurrency(2));
    let mut chats = (0..40).map(|number| chat(true, &format!("go {number}")));
    let gone = chats.by_ref().take(2).collect::<Vec<_>>();
    for chat in &gone {
        let time = Duration::from_secs(1);
        assert!(tokio::time::timeout(time, chat.ask(&lab)).await.is_err());
    }
    for chat in chats {
        row.client_sees(&chat.ask(&lab).await);
    }
    row.host_learns(&lab, &log).await;
    assert_eq!(lab.runs.begun().len(), 2);
    // Retries join their turns, which count once.
    let retries = gone.iter().map(|chat| lab.ask_with(&chat.body, &[RETRY]));
    for reply in futures_util::future::join_all(retries).await {
        assert_eq!(reply.text(), "Done.");
    }
    assert_eq!(lab.runs.begun().len(), 2);
    assert_eq!(chat(true, "another").ask(&lab).await.text(), "Done.");
}

/// Builds a gateway with an additional tool, `brew`, which is called between `write` and the end.
async fn tool_fails<F>(
    row: &Row,
    brew: fn(Value, Context) -> F,
    configure: fn(Gateway) -> Gateway,
    model_reads: &str,
) where
    F: Future<Output = String> + Send + 'static,
{
    for is_stream in [false, true] {
        let log = Log::start();
        let script = json!({ "turns": [
            says(&[call("write", "a"), call("brew", "b")]),
            says(&[text("Done.")]),
        ] });
        let script = TestScript::from_json(&script.to_string()).unwrap();
        let runs = Runs::default();
        let mut registry = registry(&runs);
        let definition = ToolDefinition::new("brew", "Make coffee.", schema());
        registry
            .register_dynamic(definition, move |arguments, context| {
                let made = brew(arguments, context);
                async move { Ok::<_, String>(made.await) }
            })
            .unwrap();
        let gateway = configure(Gateway::new(registry, script.clone()));
        let app = gateway.router();
        let lab = Lab { app, script, runs };
        let mut chat = chat(is_stream, "go");
        chat.body["tools"] = json!([{ "name": "write" }, { "name": "brew" }]);
        let reply = chat.ask(&lab).await;
        row.client_sees(&reply);
        row.host_learns(&lab, &log).await;
        assert_eq!(lab.ask_with(&chat.body, &[RETRY]).await.message, reply.message);
        if reply.stop_reason() == "pause_turn" {
            chat.messages().push(assistant(reply.message["content"].clone()));
        }
        comes_to_its_end(&lab, &chat).await;
        assert!(lab.last_seen().to_string().contains(model_reads));
    }
}

#[tokio::test]
async fn tool_panics() {
    let brew = |_: Value, _: Context| async { panic!("no water") };
    let reads = "the tool `brew` failed with an internal error; other calls are not affected";
    tool_fails(&row("tool_panics"), brew, |gateway| gateway, reads).await;
}

#[tokio::test(start_paused = true)]
async fn tool_hangs() {
    let brew = |_: Value, _: Context| std::future::pending::<String>();
    let soon = |gateway: Gateway| gateway.with_max_time(Duration::from_secs(3600));
    tool_fails(
        &row("tool_hangs"),
        brew,
        soon,
        "the tool `brew` timed out and was stopped",
    )
    .await;
}

#[tokio::test]
async fn tool_returns_10_mb() {
    let brew = |_: Value, _: Context| async { "x".repeat(10 << 20) };
    tool_fails(
        &row("tool_returns_10_mb"),
        brew,
        |gateway| gateway,
        &"x".repeat(10 << 20),
    )
    .await;
}
