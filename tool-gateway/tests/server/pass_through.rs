//! Requests without tools of the gateway pass unchanged, in both directions.

use std::pin::pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response};
use futures_util::FutureExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tool_gateway::Gateway;
use tool_gateway::upstream::{Upstream, UpstreamFuture};
use tool_runtime::ToolRegistry;
use tower::ServiceExt as _;

use crate::failing_store::FailingStore;
use crate::lab::{
    Chat, Lab, Runs, assistant, call, post, registry, result, says, slow_call, text, thinking, user,
};
use crate::reply::{self, Reply};
use crate::test_script::TestScript;

/// Bodies with white space, with repeated and unknown fields, and with numbers of many digits.
const BODIES: [&str; 5] = [
    "{ \"model\" : \"m\",\n \"max_tokens\": 1e2, \"x\": 12345678901234567890.50, \"messages\": [ {\"content\" :\"h\\u00e9\", \"role\":\"user\"} ] , \"stream\": STREAM}\n",
    r#"{"messages":[{"role":"user","content":[{"text":"a","type":"text","citations":null}]}],"tools":[{"name":"weather"}],"stream":STREAM}"#,
    r#"{"messages":[{"role":"user","content":"a"}],"tools":[{"name":"lookup","input_schema":{"type":"object","required":["x"]}}],"tool_choice":{"type":"any"},"stream":STREAM}"#,
    // Message threads.
    r#"{"thread":{"type": "create"},"messages":[{"role":"user","content":"a"}],"tools":[{"name":"weather"}],"stream":STREAM}"#,
    r#"{"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"b"}]}],"stream":STREAM}"#,
];

/// Builds a script with all features, whose answers are equal for equal requests.
fn full() -> String {
    let content = json!([
        thinking("s"),
        text("天气 \"quoted\"\n"),
        { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "x" } },
        { "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [] },
        call("weather", "a"),
        call("lookup", "b"),
    ]);
    json!({ "turns": [{ "id": "msg_1", "content": content, "ping": true, "headers": { "request-id": "req_1", "x-other": "1" } }] }).to_string()
}

fn gateway(upstream: impl Upstream) -> axum::Router {
    Gateway::new(registry(&Runs::default()), upstream).router()
}

async fn direct(script: &str, body: &str) -> Response<Body> {
    let upstream = TestScript::from_json(script).unwrap();
    let request = Request::post("/v1/messages")
        .body(Bytes::from(body.to_owned()))
        .unwrap();
    upstream.send(request).await.unwrap()
}

fn without_session(mut headers: HeaderMap) -> HeaderMap {
    assert!(headers.remove("x-tool-gateway-session").is_some());
    // The server knows the length of some bodies.
    headers.remove("content-length");
    headers
}

#[tokio::test]
async fn requests_and_responses_are_unchanged() {
    for body in BODIES {
        for is_stream in ["true", "false"] {
            let body = body.replace("STREAM", is_stream);
            let script = TestScript::from_json(&full()).unwrap();
            let headers = [
                ("anthropic-beta", "a,b"),
                ("anthropic-version", "2023-06-01"),
                ("x-api-key", "k"),
                ("user-agent", "u"),
            ];
            let request = post("/v1/messages?beta=true", &body, &headers);
            let response = gateway(script.clone()).oneshot(request).await.unwrap();
            let expected = direct(&full(), &body).await;
            assert_eq!(response.status(), expected.status());
            assert_eq!(without_session(response.headers().clone()), *expected.headers());
            assert_eq!(
                reply::bytes(response.into_body()).await,
                reply::bytes(expected.into_body()).await,
                "{body}"
            );
            let received = &script.requests()[0];
            assert_eq!(
                (received.body.as_ref(), received.path.as_str()),
                (body.as_bytes(), "/v1/messages?beta=true")
            );
            for (name, value) in headers {
                assert_eq!(received.headers[name], value);
            }
        }
    }
}

/// The client's next request is recognized, and a retry may request the other form.
#[tokio::test]
async fn messages_without_calls_are_unchanged_with_internal_tools() {
    let body = |is_stream: bool, more: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"a"}}{more}],"tools":[{{"name":"lookup"}}],"stream":{is_stream}}}"#
        )
    };
    let content = [thinking("s"), text("天气 \"quoted\"\n")];
    let script =
        json!({ "turns": [{ "id": "msg_1", "content": content, "usage": { "input_tokens": 3, "x": 1 } }] })
            .to_string();
    let expected = reply::bytes(direct(&script, &body(false, "")).await.into_body()).await;
    let router = gateway(TestScript::from_json(&script).unwrap());
    let ask = |body: String, headers: &'static [(&str, &str)]| {
        let router = router.clone();
        async move { router.oneshot(post("/v1/messages", body, headers)).await.unwrap() }
    };
    let whole = ask(body(false, ""), &[]).await;
    let session = whole.headers()["x-tool-gateway-session"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(reply::bytes(whole.into_body()).await, expected);
    let streamed = Reply::read(ask(body(true, ""), &[("x-stainless-retry-count", "1")]).await).await;
    assert_eq!(
        streamed.message,
        serde_json::from_slice::<Value>(&expected).unwrap()
    );
    let more = format!(
        r#",{{"role":"assistant","content":{}}},{{"role":"user","content":"b"}}"#,
        json!(content)
    );
    let next = ask(body(false, &more), &[]).await;
    let next = next.headers()["x-tool-gateway-session"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(next, session.replace("found=new", "found=chain"));
}

#[tokio::test]
async fn errors_of_the_upstream_are_unchanged() {
    let errors = [
        json!({ "status": 529, "headers": { "retry-after": "1", "x-should-retry": "true", "request-id": "req_1" } }),
        json!({ "status": 400, "body": { "type": "error",  "n": 1.50 }, "headers": { "request-id": "r" } }),
        json!({ "status": 502, "body": "<html>\n</html>", "headers": { "request-id": "r" } }),
    ];
    for error in errors {
        for has_internal in [false, true] {
            for is_stream in ["true", "false"] {
                let script = json!({ "turns": [{ "error": error }] }).to_string();
                let tools = if has_internal {
                    r#"[{"name":"lookup"}]"#
                } else {
                    "[]"
                };
                let body = format!(
                    r#"{{"messages":[{{"role":"user","content":"a"}}],"tools":{tools},"stream":{is_stream}}}"#
                );
                let upstream = TestScript::from_json(&script).unwrap();
                let response = gateway(upstream)
                    .oneshot(post("/v1/messages", &body, &[]))
                    .await
                    .unwrap();
                let expected = direct(&script, &body).await;
                assert_eq!(response.status(), expected.status());
                assert_eq!(without_session(response.headers().clone()), *expected.headers());
                assert_eq!(
                    reply::bytes(response.into_body()).await,
                    reply::bytes(expected.into_body()).await
                );
            }
        }
    }
}

/// An upstream whose stream is cut off after this many bytes.
struct Breaking {
    bytes: Bytes,
    cut: usize,
}

impl Upstream for Breaking {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let piece = Ok(self.bytes.slice(..self.cut));
        let broken = Err(std::io::Error::other("broken"));
        let body = Body::from_stream(stream::iter([piece, broken]));
        let response = Response::builder()
            .header("content-type", "text/event-stream")
            .body(body)
            .unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "breaking".to_owned()
    }
}

#[tokio::test]
async fn stream_cut_at_any_byte_passes_byte_for_byte() {
    let body = BODIES[0].replace("STREAM", "true");
    let bytes = reply::bytes(direct(&full(), &body).await.into_body()).await;
    for cut in 0..=bytes.len() {
        let upstream = Breaking {
            bytes: bytes.clone(),
            cut,
        };
        let app = Gateway::new(ToolRegistry::new(), upstream).router();
        let response = app.oneshot(post("/v1/messages", &body, &[])).await.unwrap();
        let (received, is_broken) = reply::until_broken(response.into_body()).await;
        assert_eq!(
            (received, is_broken),
            (bytes.slice(..cut), true),
            "the break comes out, too"
        );
    }
}

/// Over a connection, since a server drops unwritten data when a body fails.
#[tokio::test]
async fn bytes_before_a_disconnect_arrive() {
    let bytes = Bytes::from_static(b"event: ping\ndata: {\"type\": \"ping\"}\n\n");
    let upstream = Breaking {
        cut: bytes.len(),
        bytes,
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Gateway::new(ToolRegistry::new(), upstream).router();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    let body = BODIES[0].replace("STREAM", "true");
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection
        .write_all(format!("{head}{body}").as_bytes())
        .await
        .unwrap();
    let mut received = String::new();
    connection.read_to_string(&mut received).await.unwrap();
    assert!(received.contains("event: ping"), "{received:?}");
    assert!(!received.ends_with("0\r\n\r\n"), "it is not complete: {received}");
}

#[tokio::test]
async fn a_turn_whose_stream_breaks_at_any_byte_ends_with_an_error_event_and_runs_nothing() {
    let script = json!({ "turns": [{ "content": [text("One."), call("write", "a")] }] }).to_string();
    let body = r#"{"messages":[{"role":"user","content":"a"}],"tools":[{"name":"write"}],"stream":true}"#;
    let bytes = reply::bytes(direct(&script, body).await.into_body()).await;
    let stop = bytes
        .windows(19)
        .position(|window| window == b"event: message_stop")
        .unwrap();
    let runs = Runs::default();
    let registry = registry(&runs);
    for cut in 0..bytes.len() - 1 {
        let upstream = Breaking {
            bytes: bytes.clone(),
            cut,
        };
        let app = Gateway::new(registry.clone(), upstream).router();
        let reply = Reply::read(app.oneshot(post("/v1/messages", body, &[])).await.unwrap()).await;
        assert_eq!(reply.error().0, "api_error", "{cut} of {stop}");
        assert_eq!(runs.begun(), Vec::<String>::new(), "{cut}");
    }
}

#[tokio::test]
async fn a_stream_in_pieces_of_any_size_is_the_same_turn() {
    for chunk in [1, 2, 3, 7, 64] {
        let mut turn = says(&[
            thinking("s"),
            text("天气"),
            call("lookup", "a"),
            call("weather", "b"),
        ]);
        turn["chunk"] = chunk.into();
        let lab = Lab::new(json!([turn, says(&[text("Done.")])]));
        let mut chat = Chat::new(true);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(
            (reply.shape(), reply.text().as_str()),
            (vec!["thinking", "text", "weather"], "天气")
        );
        assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    }
}

#[tokio::test]
async fn counts_tokens_of_the_upstream_request() {
    // Without internal tools, the bytes pass.
    let script = TestScript::from_json(&full()).unwrap();
    let body = BODIES[0].replace("STREAM", "false");
    let response = gateway(script.clone())
        .oneshot(post("/v1/messages/count_tokens?beta=true", &body, &[]))
        .await
        .unwrap();
    let count: Value = serde_json::from_slice(&reply::bytes(response.into_body()).await).unwrap();
    assert_eq!(count, json!({ "input_tokens": body.len() / 4 }));
    assert_eq!(script.requests()[0].body, body);
    assert_eq!(script.requests()[0].path, "/v1/messages/count_tokens?beta=true");

    let lab = Lab::new(json!([
        says(&[thinking("s"), call("lookup", "a")]),
        says(&[text("One."), call("later", "b"), call("weather", "c")]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "go").await;
    chat.messages()
        .push(user(json!([result(&reply.ids()[0], "rain")])));
    let response = lab.send(post("/v1/messages/count_tokens", &chat.body, &[])).await;
    assert_eq!(response.status(), 200);
    assert_eq!(lab.runs.begun(), ["lookup a"], "counting runs no deferred call");
    let counted = lab.script.requests().pop().unwrap().json().unwrap();
    crate::lab::well_formed(counted["messages"].as_array().unwrap());
    let reply = chat.ask(&lab).await;
    assert_eq!(reply.text(), "Two.");
    let mut sent = lab.last_seen();
    // The result of the deferred call was unknown.
    sent["messages"][4]["content"][0]
        .as_object_mut()
        .unwrap()
        .remove("content");
    assert_eq!(counted["messages"], sent["messages"]);
    assert_eq!(counted["tools"], sent["tools"]);
    chat.messages().push(assistant(reply.message["content"].clone()));
    chat.messages().push(user("next"));
    lab.send(post("/v1/messages/count_tokens", &chat.body, &[])).await;
    let counted = lab.script.requests().pop().unwrap().json().unwrap();
    let before = lab.seen().len();
    chat.ask(&lab).await;
    assert_eq!(counted, lab.seen()[before]);
}

#[tokio::test]
async fn a_message_with_a_content_length_is_known_when_the_client_has_it() {
    // Over a connection: after the announced length, the server does not poll the body again.
    let script = json!({ "turns": [says(&[text("One.")]), says(&[text("Two.")])] }).to_string();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = gateway(TestScript::from_json(&script).unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    for is_stream in [false, true] {
        let ask = async |messages: Value| {
            let body = json!({ "messages": messages, "stream": is_stream }).to_string();
            let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
            let head = format!(
                "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            connection
                .write_all(format!("{head}{body}").as_bytes())
                .await
                .unwrap();
            let mut response = String::new();
            connection.read_to_string(&mut response).await.unwrap();
            response
        };
        let question = json!([user(format!("go {is_stream}"))]);
        let first = ask(question.clone()).await;
        assert!(
            first.contains("found=new") && (is_stream || first.contains("content-length")),
            "{first}"
        );
        let second = ask(json!([question[0], assistant("One."), user("next")])).await;
        assert!(second.contains("found=chain"), "{second}");
    }
}

#[tokio::test]
async fn a_turn_with_hidden_rounds_is_restored_when_the_tools_are_no_longer_declared() {
    let lab = Lab::in_order(json!([
        says(&[call("lookup", "a"), call("weather", "b")]),
        says(&[text("One.")]),
        says(&[slow_call("lookup", "c", 0)]),
    ]));
    let mut chat = Chat::new(true);
    let first = chat.say(&lab, "go").await;
    chat.answer(&lab, &first).await;
    chat.body["tools"] =
        json!([{ "name": "weather", "description": "The weather.", "input_schema": { "type": "object" } }]);
    let reply = chat.say(&lab, "next").await;
    assert_eq!(
        reply.shape(),
        ["lookup"],
        "it is not the gateway's in this request"
    );
    let sent = lab.last_seen();
    assert!(sent.to_string().contains("lookup of a"), "{sent}");
    assert_eq!(sent["tools"], chat.body["tools"]);
    lab.assert_well_formed();
}

/// A slow disk delays the end of each answer otherwise.
#[tokio::test(start_paused = true)]
async fn end_of_a_passing_answer_waits_for_the_store_a_quarter_of_a_second_at_most() {
    for is_stream in [false, true] {
        let store = FailingStore::durable();
        let script = json!([says(&[text("One.")]), says(&[text("Two.")])]);
        let mut turns = None;
        let lab = Lab::with(json!({ "turns": script }), |gateway| {
            turns = Some(gateway.turns());
            gateway.with_store(store.clone())
        });
        let turns = turns.unwrap();
        let mut chat = Chat::new(is_stream);
        chat.body.as_object_mut().unwrap().remove("tools");
        let permits = store.hold("save");
        let began = tokio::time::Instant::now();
        assert_eq!(chat.say(&lab, "go").await.text(), "One.");
        let waited = began.elapsed();
        assert!(waited >= Duration::from_millis(250), "{waited:?}");
        assert!(waited < Duration::from_millis(300), "{waited:?}");
        // The save continues, and the end of the program waits for it.
        let mut ended = pin!(turns.ended());
        assert!(ended.as_mut().now_or_never().is_none());
        permits.add_permits(1);
        ended.await;
        let reply = chat.say(&lab, "and?").await;
        assert_eq!(reply.text(), "Two.");
        assert_eq!(reply.session().1, "chain");
    }
}
