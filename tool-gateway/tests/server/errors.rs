//! Errors of the gateway, and admission of clients.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{Method, Request, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use tool_gateway::Gateway;
use tool_gateway::upstream::{AnthropicUpstream, Upstream, UpstreamFuture};
use tool_runtime::ToolDefinition;
use tower::ServiceExt as _;

use crate::lab::{Chat, Lab, Runs, call, post, registry, says, text, user};
use crate::reply::{self, Reply};

fn lab() -> Lab {
    Lab::new(json!([says(&[text("Done.")])]))
}

fn get_request(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

async fn get(lab: &Lab, path: &str, headers: &[(&str, &str)]) -> Reply {
    Reply::read(lab.send(get_request(path, headers)).await).await
}

async fn get_status(lab: &Lab, path: &str, headers: &[(&str, &str)]) -> u16 {
    lab.send(get_request(path, headers)).await.status().as_u16()
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_their_path() {
    let lab = lab();
    for (body, expected) in [
        ("{\"messages\":\n [}", "line 2 column 3"),
        ("", "line 1 column 0"),
        ("[]", "expected an object"),
        ("{}", "messages: missing"),
        (r#"{"messages":{}}"#, "messages: expected a list"),
        (
            r#"{"messages":[{"role":"user","content":"a"},{"role":"user"}]}"#,
            "messages.1: missing `content`",
        ),
        (r#"{"messages":[{"content":"a"}]}"#, "messages.0: missing `role`"),
        (r#"{"messages":[],"tools":[1]}"#, "tools.0: expected an object"),
        (r#"{"messages":[],"tools":{}}"#, "tools: expected a list"),
    ] {
        for path in ["/v1/messages", "/v1/messages/count_tokens"] {
            let reply = Reply::read(lab.send(post(path, body, &[])).await).await;
            assert_eq!(reply.status, 400, "{body}");
            let (kind, message) = reply.error();
            assert_eq!(kind, "invalid_request_error");
            assert!(message.contains(expected), "{message}\n{expected}");
        }
    }
    let mut request = post("/v1/messages", "", &[]);
    *request.body_mut() = Body::from(vec![b'{', 0xff]);
    let reply = Reply::read(lab.send(request).await).await;
    assert!(reply.error().1.contains("UTF-8"), "{}", reply.message);
    assert!(lab.seen().is_empty());
}

#[tokio::test]
async fn rejects_bodies_over_32_mib() {
    let lab = lab();
    let body = |size: usize| {
        let start = r#"{"messages":[{"role":"user","content":"a"}],"x":""#;
        format!("{start}{}\"}}", "x".repeat(size - start.len() - 2))
    };
    let reply = Reply::read(lab.send(post("/v1/messages", body(Gateway::MAX_BODY), &[])).await).await;
    assert_eq!((reply.status.as_u16(), Gateway::MAX_BODY), (200, 33_554_432));
    let reply = Reply::read(
        lab.send(post("/v1/messages", body(Gateway::MAX_BODY + 1), &[]))
            .await,
    )
    .await;
    assert_eq!(
        (reply.status.as_u16(), reply.error().0),
        (413, "request_too_large")
    );
    assert_eq!(reply.error().1, "the request is larger than 32 MiB; send less");
}

/// Builds an upstream that answers 200 with this body.
struct Odd(&'static str, &'static str);

impl Upstream for Odd {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let response = Response::builder()
            .header("content-type", self.0)
            .body(Body::from(self.1))
            .unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "odd".to_owned()
    }
}

#[tokio::test]
async fn invalid_responses_of_the_upstream_are_errors() {
    for (kind, body) in [
        ("application/json", "\"x\""),
        ("application/json", "{\"no\":\"message\"}"),
        ("application/json", ""),
        ("text/html", "<html>"),
        ("text/event-stream", ""),
        ("text/event-stream", "data: [DONE]\n\n"),
        ("text/event-stream", "event: message_stop\ndata: {\"type\":\"mess"),
        (
            "text/event-stream",
            "data: {\"type\":\"content_block_start\"}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
    ] {
        for is_stream in [false, true] {
            let app = Gateway::new(registry(&Runs::default()), Odd(kind, body)).router();
            let body =
                json!({ "messages": [user("a")], "tools": [{ "name": "lookup" }], "stream": is_stream });
            let reply = Reply::read(app.oneshot(post("/v1/messages", body, &[])).await.unwrap()).await;
            assert_eq!((reply.status.as_u16(), reply.error().0), (502, "api_error"));
        }
    }
}

#[tokio::test]
async fn an_error_at_the_beginning_of_a_stream_has_its_status() {
    for (kind, status) in [
        ("overloaded_error", 529),
        ("rate_limit_error", 429),
        ("other", 502),
    ] {
        let event = json!({ "type": "error", "error": { "type": kind, "message": "m" } });
        let body: &'static str = format!("event: error\ndata: {event}\n\n").leak();
        let app = Gateway::new(registry(&Runs::default()), Odd("text/event-stream", body)).router();
        let body = json!({ "messages": [user("a")], "tools": [{ "name": "lookup" }], "stream": true });
        let reply = Reply::read(app.oneshot(post("/v1/messages", body, &[])).await.unwrap()).await;
        assert_eq!((reply.status.as_u16(), reply.error()), (status, (kind, "m")));
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_not_served() {
    let lab = lab();
    for path in ["/v1/complete", "/v1/messages/other", "/x"] {
        let reply = Reply::read(lab.send(post(path, "{}", &[])).await).await;
        assert_eq!((reply.status.as_u16(), reply.error().0), (404, "not_found_error"));
        assert!(reply.error().1.contains(path));
    }
    let reply = get(&lab, "/v1/messages", &[]).await;
    assert_eq!(reply.status.as_u16(), 405);
    assert!(reply.is_error());
    assert!(lab.script.requests().is_empty());
}

#[tokio::test]
async fn lists_its_tools_and_the_upstreams_models() {
    let lab = lab();
    let tools = get(&lab, "/v1/tools", &[]).await.message;
    assert_eq!(
        (&tools["has_more"], &tools["data"][0]["name"]),
        (&json!(false), &json!("lookup"))
    );
    assert_eq!(tools["data"][0]["input_schema"], crate::lab::schema());
    assert_eq!(
        get(&lab, "/v1/models?limit=1", &[]).await.message["data"][0]["id"],
        "script"
    );
    assert_eq!(lab.script.requests()[0].path, "/v1/models?limit=1");
    for path in ["/", "/healthz", "/readyz", "/metrics"] {
        for method in [Method::GET, Method::HEAD] {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .body(Body::empty())
                .unwrap();
            assert_eq!(lab.send(request).await.status(), 200, "{path}");
        }
    }
}

/// The list, like every request to the upstream, has the form that the APIs accept.
#[tokio::test]
async fn lists_a_tool_with_a_union_at_the_root_in_flat_form() {
    let properties = json!({ "id": { "type": "integer" }, "title": { "type": "string" } });
    let union =
        json!({ "properties": properties, "anyOf": [{ "required": ["id"] }, { "required": ["title"] }] });
    let mut lab = Lab::new(json!([
        says(&[call("find", "{\"id\": 1}")]),
        says(&[text("Done.")])
    ]));
    let mut registry = registry(&lab.runs);
    let find = ToolDefinition::new("find", "Find it.", union);
    registry.register_dynamic(find, async |_, _| "found").unwrap();
    lab.app = Gateway::new(registry, lab.script.clone()).router();
    let listed = get(&lab, "/v1/tools", &[]).await.message["data"].clone();
    let found = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "find");
    let flat = json!({
        "name": "find",
        "description": "Find it.\n\nSend `id` or `title`.",
        "input_schema": { "type": "object", "properties": properties },
    });
    assert_eq!(found, Some(&flat));

    let mut chat = Chat::new(false);
    chat.body["tools"] = json!([{ "name": "find" }]);
    assert_eq!(chat.say(&lab, "go").await.text(), "Done.");
    assert_eq!(lab.seen()[0]["tools"], json!([flat]));
}

#[tokio::test]
async fn listed_tools_can_be_declared_unchanged() {
    let lab = Lab::new(json!([says(&[call("lookup", "a")]), says(&[text("Done.")])]));
    let mut chat = Chat::new(false);
    chat.body["tools"] = get(&lab, "/v1/tools", &[]).await.message["data"].clone();
    assert_eq!(chat.say(&lab, "go").await.text(), "Done.");
}

#[tokio::test]
async fn metrics_name_the_routes_of_the_gateway_when_it_is_nested() {
    let nested = axum::Router::new()
        .nest("/ai", lab().app)
        .nest_service("/other", lab().app);
    let send = async |method: &str, path: &str, host: &str| {
        let request = Request::builder().method(method).uri(path).header("host", host);
        let request = request.body(Body::empty()).unwrap();
        nested.clone().oneshot(request).await.unwrap()
    };
    for prefix in ["/ai", "/other"] {
        for (method, path, host) in [
            ("GET", "/healthz", "localhost"),
            ("POST", "/healthz", "localhost"),
            ("GET", "/healthz", "example.com"),
            ("GET", "", "localhost"),
            ("GET", "/v1/nothing", "localhost"),
        ] {
            send(method, &format!("{prefix}{path}"), host).await;
        }
        let metrics = send("GET", &format!("{prefix}/metrics"), "localhost").await;
        let metrics = String::from_utf8(reply::bytes(metrics.into_body()).await.to_vec()).unwrap();
        for labels in [
            "route=\"/healthz\",status=\"200\"",
            "route=\"/healthz\",status=\"405\"",
            "route=\"/healthz\",status=\"403\"",
            "route=\"/\",status=\"200\"",
            "route=\"unknown\",status=\"404\"",
        ] {
            let line = format!("tool_gateway_requests_total{{{labels}}} 1");
            assert!(
                metrics.lines().any(|found| found == line),
                "{prefix} {line}\n{metrics}"
            );
        }
    }
}

#[tokio::test]
async fn metrics_count_requests_rounds_and_calls() {
    let lab = Lab::new(json!([
        says(&[call("lookup", "a"), call("weather", "b")]),
        says(&[text("secret text")])
    ]));
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "secret question").await;
    chat.answer(&lab, &reply).await;
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let metrics = reply::bytes(lab.send(request).await.into_body()).await;
    let metrics = std::str::from_utf8(&metrics).unwrap();
    for line in [
        "tool_gateway_sessions_total{found=\"new\"} 1",
        "tool_gateway_sessions_total{found=\"minted\"} 1",
        "tool_gateway_tool_calls_total{tool=\"lookup\",outcome=\"ok\"} 1",
        "tool_gateway_rounds_total 2",
        "tool_gateway_turns_total{end=\"suspended\"} 1",
        "tool_gateway_turns_total{end=\"finished\"} 1",
        "tool_gateway_requests_total{route=\"/v1/messages\",status=\"200\"} 2",
        "tool_gateway_first_byte_seconds_count{route=\"/v1/messages\"} 2",
        "tool_gateway_tokens_total{kind=\"input\"} 20",
        "tool_gateway_tokens_total{kind=\"output\"} 10",
        "tool_gateway_store_seconds_count{operation=\"save\"} 2",
        "tool_gateway_store_turns 2",
        "# EOF",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
    assert!(!metrics.contains("secret"));
    // Each name and label is documented.
    let readme = include_str!("../../README.md");
    let names = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE tool_gateway_"));
    for name in names.filter_map(|line| line.split(' ').next()) {
        assert!(
            readme.contains(&format!("`{name}")),
            "{name} is not in the README"
        );
    }
}

#[tokio::test]
async fn rejects_other_origins_and_hosts() {
    let lab = lab();
    for headers in [
        [("host", "evil.example"), ("accept", "*/*")],
        [("host", "127.0.0.1.evil.example:80"), ("accept", "*/*")],
        [("host", "localhost"), ("origin", "https://evil.example")],
        [("host", "localhost"), ("origin", "null")],
        [("host", "localhost"), ("origin", "http://localhost.evil.example")],
    ] {
        let mut chat = Chat::new(false);
        chat.messages().push(user("go"));
        let reply = lab.ask_with(&chat.body, &headers).await;
        assert_eq!(
            (reply.status.as_u16(), reply.error().0),
            (403, "permission_error"),
            "{headers:?}"
        );
        assert_eq!(get(&lab, "/v1/tools", &headers).await.status.as_u16(), 403);
    }
    for headers in [
        [("host", "localhost:8080"), ("origin", "http://localhost:3000")],
        [("host", "127.0.0.1"), ("origin", "http://127.0.0.1:1")],
        [("host", "[::1]:80"), ("accept", "*/*")],
    ] {
        let mut chat = Chat::new(false);
        chat.messages().push(user("go"));
        assert_eq!(
            lab.ask_with(&chat.body, &headers).await.status,
            200,
            "{headers:?}"
        );
    }
    assert_eq!(lab.seen().len(), 3);
}

#[tokio::test]
async fn client_keys_are_required_and_not_sent_upstream() {
    let script = json!({ "turns": [says(&[text("Done.")])] });
    let lab = Lab::with(script, |gateway| {
        gateway.with_any_host().with_client_key("ada", "secret-1")
    });
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    for headers in [
        vec![],
        vec![("x-api-key", "secret-2")],
        vec![("authorization", "Bearer secret-2")],
        vec![("x-api-key", "")],
    ] {
        let reply = lab.ask_with(&chat.body, &headers).await;
        assert_eq!(
            (reply.status.as_u16(), reply.error().0),
            (401, "authentication_error")
        );
        assert!(!reply.message.to_string().contains("secret"));
        // Rejected before the body is read.
        let reply = Reply::read(lab.send(post("/v1/messages", "{", &headers)).await).await;
        assert_eq!(reply.status.as_u16(), 401);
        for path in ["/v1/tools", "/v1/models"] {
            assert_eq!(get(&lab, path, &headers).await.status.as_u16(), 401);
        }
    }
    assert!(lab.script.requests().is_empty());
    for headers in [
        [("host", "gateway.example"), ("x-api-key", "secret-1")],
        [("host", "gateway.example"), ("authorization", "Bearer secret-1")],
    ] {
        assert_eq!(lab.ask_with(&chat.body, &headers).await.status, 200);
        let received = lab.script.requests().pop().unwrap();
        assert!(
            received
                .headers
                .values()
                .all(|value| !value.to_str().unwrap().contains("secret-1"))
        );
    }
}

#[tokio::test]
async fn client_keys_may_be_digests() {
    let script = json!({ "turns": [says(&[text("Done.")])] });
    // `printf %s secret | sha256sum`.
    let sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let bytes: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&sha256[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let lab = Lab::with(script, |gateway| {
        gateway.with_client_key_sha256("ada", bytes.try_into().unwrap())
    });
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    for (key, status) in [("secret", 200), ("secret2", 401), (sha256, 401)] {
        let reply = lab.ask_with(&chat.body, &[("x-api-key", key)]).await;
        assert_eq!(reply.status.as_u16(), status, "{key}");
    }
    assert!(
        lab.script
            .requests()
            .pop()
            .unwrap()
            .headers
            .get("x-api-key")
            .is_none()
    );
}

#[tokio::test]
async fn only_the_credential_of_the_gateway_is_removed() {
    let script = json!({ "turns": [says(&[text("Done.")])] });
    let lab = Lab::with(script, |gateway| gateway.with_client_key("ada", "secret-1"));
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    for (headers, kept) in [
        (
            [("x-api-key", "secret-1"), ("authorization", "Bearer upstream")],
            Some("Bearer upstream"),
        ),
        (
            [("x-api-key", "secret-1"), ("authorization", "Bearer secret-1")],
            None,
        ),
    ] {
        assert_eq!(lab.ask_with(&chat.body, &headers).await.status, 200);
        let received = lab.script.requests().pop().unwrap().headers;
        assert!(!received.contains_key("x-api-key"));
        let authorization = received.get("authorization");
        assert_eq!(authorization.map(|value| value.to_str().unwrap()), kept);
    }
}

#[tokio::test]
async fn detects_a_loop_of_gateways() {
    let lab = lab();
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    chat.ask(&lab).await;
    assert_eq!(lab.script.requests()[0].headers["x-tool-gateway-hop"], "1");
    lab.ask_with(&chat.body, &[("x-tool-gateway-hop", "3")]).await;
    assert_eq!(lab.script.requests()[1].headers["x-tool-gateway-hop"], "4");
    for hop in ["4", "5", "x"] {
        let reply = lab.ask_with(&chat.body, &[("x-tool-gateway-hop", hop)]).await;
        assert_eq!(reply.status.as_u16(), 508);
        assert!(reply.is_error());
    }
}

#[tokio::test]
async fn debug_output_contains_no_keys() {
    let upstream = AnthropicUpstream::new("https://example.com", Some("secret-1".into())).unwrap();
    let shown = format!("{upstream:?}");
    let gateway = Gateway::new(registry(&Runs::default()), upstream)
        .with_client_key("ada", "secret-2")
        .with_secret(*b"secret-3secret-3secret-3secret-3");
    let shown = format!("{shown} {gateway:?}");
    assert!(
        !shown.contains("secret") && !shown.contains("115, 101, 99"),
        "{shown}"
    );
}

#[tokio::test]
async fn oversized_events_are_errors() {
    let delta = |text: &str| {
        format!(
            "data: {}\n\n",
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } })
        )
    };
    let start = json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "usage": { "input_tokens": 1 } } });
    let block =
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    let body = format!(
        "data: {start}\n\ndata: {block}\n\n{}{}data: {{\"type\":\"message_stop\"}}\n\n",
        delta("a"),
        delta(&"x".repeat(17 << 20))
    );
    let body: &'static str = body.leak();
    let app = Gateway::new(registry(&Runs::default()), Odd("text/event-stream", body)).router();
    let body = json!({ "messages": [user("a")], "tools": [{ "name": "lookup" }] });
    let reply = Reply::read(app.oneshot(post("/v1/messages", body, &[])).await.unwrap()).await;
    assert_eq!(reply.status.as_u16(), 502);
    assert!(reply.error().1.contains("too large"), "{}", reply.message);
}

/// An error response whose body never ends.
struct Endless;

impl Upstream for Endless {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let body = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let response = Response::builder().status(500).body(body).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "endless".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn unbounded_error_body_ends_with_the_client() {
    let gateway = Gateway::new(registry(&Runs::default()), Endless);
    let turns = gateway.turns();
    let app = gateway.router();
    let body = json!({ "messages": [user("a")], "tools": [{ "name": "lookup" }] });
    let answer = app.oneshot(post("/v1/messages", body, &[]));
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, answer).await.is_err());
    tokio::time::timeout(second, turns.ended()).await.unwrap();
}

#[tokio::test]
async fn client_keys_are_read_from_either_header() {
    let lab = |key: &'static str| {
        Lab::with(json!({ "turns": [says(&[text("Done.")])] }), |gateway| {
            gateway.with_client_key("ada", key)
        })
    };
    for headers in [
        vec![("authorization", "bearer k1")],
        vec![("authorization", "k1")],
        vec![("x-api-key", "of the upstream"), ("authorization", "Bearer k1")],
    ] {
        for path in ["/v1/tools", "/metrics"] {
            let request = headers.iter().fold(Request::get(path), |request, (name, value)| {
                request.header(*name, *value)
            });
            let response = lab("k1").send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(response.status(), 200, "{path} {headers:?}");
        }
    }
    for headers in [
        vec![],
        vec![("x-api-key", "")],
        vec![("authorization", "Bearer ")],
    ] {
        for key in ["", "k1"] {
            let reply = get(&lab(key), "/v1/tools", &headers).await;
            assert_eq!(reply.status.as_u16(), 401, "{key} {headers:?}");
            assert!(
                reply.error().1.starts_with("no key was sent"),
                "{}",
                reply.message
            );
        }
    }
}

/// If there are several reasons to reject a request, the first is reported. Unsupported methods and paths need no key.
#[tokio::test]
async fn admission_checks_have_an_order() {
    for (first, status) in [508, 403, 503, 401, 429].into_iter().enumerate() {
        let mut turns = None;
        let lab = Lab::with(json!({ "turns": [says(&[text("Done.")])] }), |gateway| {
            turns = Some(gateway.turns());
            gateway.with_client_key("ada", "k1").with_client_concurrency(0)
        });
        let mut headers = Vec::new();
        if first == 0 {
            headers.push(("x-tool-gateway-hop", "4"));
        }
        if first <= 1 {
            headers.push(("host", "example.com"));
        }
        if first <= 2 {
            turns.unwrap().close();
        }
        if first == 4 {
            headers.push(("x-api-key", "k1"));
        }
        for path in [
            "/v1/messages",
            "/v1/messages/count_tokens",
            "/v1/chat/completions",
            "/v1/responses",
        ] {
            let reply = Reply::read(lab.send(post(path, "{", &headers)).await).await;
            assert_eq!(reply.status.as_u16(), status, "{path} {headers:?}");
            let method = get_status(&lab, path, &headers).await;
            assert_eq!(method, if first < 2 { status } else { 405 });
        }
        let models = get(&lab, "/v1/models", &headers).await;
        assert_eq!(models.status.as_u16(), status, "{headers:?}");
        // Both are answered at once, since an operator uses them while the gateway is being stopped.
        for path in ["/v1/tools", "/metrics"] {
            let expected = match first {
                0 | 1 => status,
                4 => 200,
                _ => 401,
            };
            assert_eq!(
                get_status(&lab, path, &headers).await,
                expected,
                "{path} {headers:?}"
            );
        }
        let unknown = get(&lab, "/v2", &headers).await.status.as_u16();
        assert_eq!(unknown, if first < 2 { status } else { 404 });
    }
}

#[tokio::test]
async fn limited_clients_get_retry_after() {
    let script = json!({ "turns": [says(&[text("Done.")])] });
    let lab = Lab::with(script, |gateway| {
        gateway.with_client_concurrency(1).with_client_rate(2)
    });
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let first = lab.send(post("/v1/messages", &chat.body, &[])).await;
    let refused = chat.ask(&lab).await;
    assert_eq!(
        (refused.status.as_u16(), refused.error().0),
        (429, "rate_limit_error")
    );
    assert_eq!(refused.headers["retry-after"], "1");
    // After the first answer is read, another request is admitted, up to the limit of the minute.
    Reply::read(first).await;
    chat.body["stream"] = false.into();
    let whole = lab.send(post("/v1/messages", &chat.body, &[])).await;
    assert!(whole.body().size_hint().exact().is_some(), "its length is known");
    assert_eq!(Reply::read(whole).await.text(), "Done.");
    let refused = chat.ask(&lab).await;
    assert_eq!(refused.status.as_u16(), 429);
    assert!(
        refused.headers["retry-after"]
            .to_str()
            .unwrap()
            .parse::<u32>()
            .unwrap()
            > 20
    );
    let mut other = chat.clone();
    other.headers = vec![("x-api-key", "other".to_owned())];
    assert_eq!(other.ask(&lab).await.text(), "Done.");
}

/// Paths of the upstream that the gateway does not serve are not reached by way of a model's id.
#[tokio::test]
async fn ids_of_models_are_one_path_of_the_upstream() {
    let lab = lab();
    for id in ["..%2Ffiles", "a/../../files", "a%252e", "%2e%2e"] {
        let reply = get(&lab, &format!("/v1/models/{id}"), &[]).await;
        assert_eq!(
            (reply.status.as_u16(), reply.error().0),
            (404, "not_found_error"),
            "{id}"
        );
    }
    assert!(lab.script.requests().is_empty());
    get(&lab, "/v1/models/org%2Fm%6Fdel?x=1", &[]).await;
    assert_eq!(lab.script.requests()[0].path, "/v1/models/org%2Fmodel?x=1");
}

/// An upstream that answers with a status and a place to go.
struct Redirecting(u16);

impl Upstream for Redirecting {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let response = Response::builder()
            .status(self.0)
            .header("location", "https://elsewhere.example");
        let response = response.body(Body::empty()).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "redirecting".to_owned()
    }
}

#[tokio::test]
async fn not_modified_is_for_conditional_requests_alone() {
    let condition = ("if-none-match", "\"1\"");
    for (status, headers, expected) in [
        (304, &[condition][..], 304),
        (304, &[], 502),
        (301, &[condition], 502),
        (101, &[], 502),
    ] {
        let app = Gateway::new(registry(&Runs::default()), Redirecting(status)).router();
        let response = app.oneshot(get_request("/v1/models", headers)).await.unwrap();
        assert_eq!(response.status().as_u16(), expected, "{status}");
        assert!(expected == 304 || response.headers().get("location").is_none());
    }
    let app = Gateway::new(registry(&Runs::default()), Redirecting(304)).router();
    let request = post("/v1/messages", json!({ "messages": [user("a")] }), &[condition]);
    assert_eq!(app.oneshot(request).await.unwrap().status().as_u16(), 502);
}

/// The upstream gets the text, without the header.
#[tokio::test]
async fn compressed_requests_are_decompressed() {
    let lab = lab();
    for (encoding, body) in [
        ("gzip", &include_bytes!("compressed/body.json.gz")[..]),
        ("br", include_bytes!("compressed/body.json.br")),
        ("zstd", include_bytes!("compressed/body.json.zst")),
    ] {
        let mut request = post("/v1/messages", "", &[("content-encoding", encoding)]);
        *request.body_mut() = Body::from(body);
        assert_eq!(lab.send(request).await.status(), 200, "{encoding}");
        let requests = lab.script.requests();
        let seen = requests.last().unwrap();
        assert_eq!(&seen.body[..], include_bytes!("compressed/body.json"));
        assert!(!seen.headers.contains_key("content-encoding"));
        let mut request = post("/v1/messages", "", &[("content-encoding", encoding)]);
        *request.body_mut() = Body::from("{}");
        assert_eq!(lab.send(request).await.status(), 400, "{encoding}");
    }
    let reply = lab.ask_with(&json!({}), &[("content-encoding", "deflate")]).await;
    assert_eq!(reply.status.as_u16(), 415);
    assert!(reply.error().1.contains("gzip, br, zstd"), "{}", reply.message);
}

#[tokio::test]
async fn headers_are_read_with_all_their_values() {
    let script = json!({ "turns": [says(&[text("Done.")])] });
    let lab = Lab::with(script.clone(), |gateway| gateway.with_client_key("ada", "k1"));
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let sent = [
        ("x-api-key", "k1"),
        ("x-api-key", "of the upstream"),
        ("authorization", "Bearer other"),
        ("authorization", "Bearer k1"),
    ];
    for headers in [&sent[..], &[sent[1], sent[0], sent[3], sent[2]]] {
        assert_eq!(lab.ask_with(&chat.body, headers).await.status, 200);
        let requests = lab.script.requests();
        let sent = &requests.last().unwrap().headers;
        let all = |name: &str| sent.get_all(name).iter().cloned().collect::<Vec<_>>();
        assert_eq!(all("x-api-key"), ["of the upstream"]);
        assert_eq!(all("authorization"), ["Bearer other"]);
    }
    let lab = Lab::with(script, |gateway| gateway);
    for (headers, status) in [
        ([("x-tool-gateway-hop", "1"), ("x-tool-gateway-hop", "4")], 508),
        (
            [("origin", "http://localhost"), ("origin", "https://example.com")],
            403,
        ),
    ] {
        assert_eq!(lab.ask_with(&chat.body, &headers).await.status.as_u16(), status);
    }
}

#[tokio::test]
async fn limits_hold_for_every_upstream_response() {
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    let script = json!({ "turns": [says(&[text("Done.")])] });
    for (method, path) in [
        ("POST", "/v1/messages/count_tokens"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/script"),
    ] {
        let request = || {
            let mut request = post(path, &chat.body, &[]);
            *request.method_mut() = method.parse().unwrap();
            request
        };
        let limited = Lab::with(script.clone(), |gateway| gateway.with_client_rate(1));
        let served = limited.send(request()).await.status();
        assert!(!matches!(served.as_u16(), 429 | 503), "{path}: {served}");
        let refused = limited.send(request()).await;
        assert_eq!(refused.status().as_u16(), 429, "{path}");
        assert!(refused.headers().contains_key("retry-after"), "{path}");

        let mut turns = None;
        let closed = Lab::with(script.clone(), |gateway| {
            turns = Some(gateway.turns());
            gateway
        });
        turns.unwrap().close();
        assert_eq!(closed.send(request()).await.status().as_u16(), 503, "{path}");
        assert!(closed.script.requests().is_empty(), "{path}");
    }
}
