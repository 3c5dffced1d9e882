//! Revisions of the protocol over HTTP: the first requests, sessions, and headers.

use std::sync::Mutex;

use tool_mcp::{McpClient, Protocol};
use tool_runtime::serde_json::{Value, json};

use crate::http_peer::{HttpPeer, Pieces, Received, Reply, brew, coffee, event, without_changes};
use crate::peer::{discovered, initialized};
use crate::support::{call_text, registry};

const HANDSHAKE: [&str; 3] = ["initialize", "notifications/initialized", "tools/list"];

#[tokio::test]
async fn modern_requests_have_the_headers_of_their_messages() {
    let peer = HttpPeer::modern(brew(), |request| request.result(coffee()));
    let client = peer.connect().await;
    assert_eq!(call_text(&client, "brew", &json!({ "cups": 1 })).await, "coffee");
    assert_eq!(peer.methods(), ["server/discover", "tools/list", "tools/call"]);
    for request in peer.received() {
        assert_eq!(request.http_method, "POST");
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(request.method()));
        assert_eq!(
            request.header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("accept-encoding"), Some("identity"));
        assert_eq!(request.header("mcp-session-id"), None);
        let meta = &request.message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    }
    let [discover, _, call] = &peer.received()[..] else {
        panic!("three requests")
    };
    assert_eq!(
        (discover.header("mcp-name"), call.header("mcp-name")),
        (None, Some("brew"))
    );
    client.stop().await;
    // There is no session to end.
    assert_eq!(peer.received().len(), 3);
}

#[tokio::test]
async fn a_server_with_a_handshake_has_a_session() {
    let peer = HttpPeer::legacy(brew(), |request| request.result(coffee()));
    let client = peer.connect().await;
    assert_eq!(call_text(&client, "brew", &json!({})).await, "coffee");
    client.stop().await;
    let methods: Vec<_> = ["server/discover"]
        .into_iter()
        .chain(HANDSHAKE)
        .chain(["tools/call", "DELETE"])
        .collect();
    assert_eq!(peer.methods(), methods);
    for request in &peer.received()[1..] {
        let is_first = request.method() == "initialize";
        assert_eq!(request.header("mcp-session-id"), (!is_first).then_some("s1"));
        assert_eq!(
            request.header("mcp-protocol-version"),
            (!is_first).then_some("2025-11-25")
        );
        assert_eq!(
            (request.header("mcp-method"), request.header("mcp-name")),
            (None, None)
        );
    }
}

/// Connects to a server with this answer to `server/discover`. Returns the methods, and the error.
async fn answered(discover: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> (Vec<String>, String) {
    let legacy = without_changes(initialized("2025-11-25"));
    let peer = HttpPeer::new(move |request| match request.method() {
        "server/discover" => discover(request),
        "initialize" => request.result(legacy["result"].clone()),
        "tools/list" => request.result(json!({ "tools": brew() })),
        _ => Reply::empty(202),
    });
    let connected = peer.client().connect().await;
    let fact = connected.err().map(|error| error.fact().to_owned());
    (peer.methods(), fact.unwrap_or_default())
}

#[tokio::test]
async fn anything_but_the_errors_of_modern_servers_is_followed_by_initialize() {
    type Answer = fn(&Received) -> Reply;
    let answers: [Answer; 12] = [
        |_| Reply::text(400, "text/plain", "Bad Request"),
        // Answers of the official SDK for Rust, version 2.2.
        |_| Reply::text(422, "", "Unexpected message, expect initialize request"),
        |_| {
            Reply::text(
                400,
                "",
                "Bad Request: Unsupported MCP-Protocol-Version: 2026-07-28",
            )
        },
        |_| Reply::text(404, "text/html", "<html>"),
        |_| Reply::empty(405),
        |_| Reply::empty(500),
        |_| Reply::text(200, "text/html", "<html>"),
        |_| Reply::failure(std::io::ErrorKind::ConnectionReset),
        |request| request.error(200, json!({ "code": -32601, "message": "" })),
        |_| {
            Reply::json(
                400,
                json!({ "jsonrpc": "2.0", "id": "server-error", "error": { "code": -32600, "message": "" } }),
            )
        },
        |_| {
            Reply::json(
                400,
                json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "" } }),
            )
        },
        |request| {
            request.error(
                400,
                json!({ "code": -32022, "message": "", "data": { "supported": ["2025-06-18"] } }),
            )
        },
    ];
    for (at, answer) in answers.into_iter().enumerate() {
        let (methods, fact) = answered(answer).await;
        assert_eq!(
            (methods[1..].to_vec(), fact.as_str()),
            (HANDSHAKE.map(str::to_owned).to_vec(), ""),
            "{at}"
        );
    }
}

#[tokio::test]
async fn the_errors_of_modern_servers_are_not_followed_by_initialize() {
    for (code, data, requests, fact) in [
        (-32020, json!(null), 1, "refused the connection: no (code -32020)"),
        (-32021, json!(null), 1, "refused the connection: no (code -32021)"),
        (
            -32022,
            json!({ "supported": ["2027-01-01"] }),
            1,
            "unknown revision of the protocol; supported are `2027-01-01`",
        ),
        (
            -32022,
            json!({ "supported": ["2026-07-28"] }),
            2,
            "unknown revision of the protocol; supported are `2026-07-28`",
        ),
    ] {
        let error = json!({ "code": code, "message": "no", "data": data });
        let (methods, found) = answered(move |request| request.error(400, error.clone())).await;
        assert_eq!(
            (methods, found.as_str()),
            (vec!["server/discover".to_owned(); requests], fact)
        );
    }
}

/// Names a server that is not asked for `initialize`: it has no answer at all, or an answer of another kind.
#[tokio::test]
async fn a_server_that_refuses_or_redirects_is_an_error() {
    for (status, fact) in [
        (
            307,
            "answered `server/discover` with status 307; redirects are not followed",
        ),
        (
            401,
            "refused the credentials (status 401); the header `authorization` is one of `headers_env`, or of the client",
        ),
    ] {
        let peer =
            HttpPeer::new(move |_| Reply::empty(status).with_header("location", "http://other.example/"));
        let error = peer.client().connect().await.unwrap_err();
        assert_eq!((error.fact(), error.is_unauthorized()), (fact, status == 401));
        assert_eq!(peer.received().len(), 1);
    }
    let peer = HttpPeer::new(|_| Reply::failure(std::io::ErrorKind::ConnectionRefused));
    let error = peer.client().connect().await.unwrap_err();
    assert_eq!(error.fact(), "cannot be reached: connection refused");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_for_ten_seconds_is_initialized() {
    let start = tokio::time::Instant::now();
    let (methods, fact) = answered(|_| Reply::silence()).await;
    assert_eq!((methods[1].as_str(), fact.as_str()), ("initialize", ""));
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn a_fixed_revision_is_not_negotiated() {
    let peer = HttpPeer::legacy(brew(), |request| request.result(coffee()));
    peer.client().protocol(Protocol::Legacy).connect().await.unwrap();
    assert_eq!(peer.methods()[..3], HANDSHAKE);
    let error = peer
        .client()
        .protocol(Protocol::Modern)
        .connect()
        .await
        .unwrap_err();
    assert_eq!(
        error.fact(),
        "refused the connection: answered `server/discover` with status 400 (Bad Request: no session) (code -32601)"
    );
}

#[tokio::test]
async fn the_transport_of_2024_is_refused_by_name() {
    let peer = HttpPeer::new(|request| match request.method() {
        "GET" => Reply::events(": hello\n\nevent: endpoint\ndata: /messages?id=1\n\n"),
        _ => Reply::empty(405),
    });
    let error = peer.client().connect().await.unwrap_err();
    assert_eq!(
        error.fact(),
        "has the transport HTTP+SSE of 2024-11-05, which is not supported; expected Streamable HTTP"
    );
    // Other servers that refuse `initialize` are described by their status.
    let peer = HttpPeer::new(|request| match request.method() {
        "GET" => Reply::events("data: {}\n\n"),
        _ => Reply::empty(405),
    });
    let error = peer.client().connect().await.unwrap_err();
    assert_eq!(error.fact(), "answered `initialize` with status 405");
}

/// Every answer may be a stream, and messages in front of the answer are messages, too.
#[tokio::test]
async fn answers_may_be_streams_of_events() {
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
    let stream = move |answer: &Value| {
        let text = format!(
            ": comment\n\nid: 1\ndata:\n\n{}event: message\nid: 2\n{}",
            event(&notice),
            event(answer)
        );
        Reply::events(text)
    };
    let legacy = without_changes(initialized("2025-03-26"));
    let peer = HttpPeer::new(move |request| match request.method() {
        "server/discover" => request.error(404, json!({ "code": -32601, "message": "" })),
        "initialize" => stream(&request.answer(legacy["result"].clone())).with_header("mcp-session-id", "s1"),
        "tools/list" => stream(&request.answer(json!({ "tools": brew() }))),
        "tools/call" => stream(&request.answer(coffee())),
        _ => Reply::empty(202),
    });
    let client = peer.connect().await;
    assert_eq!(call_text(&client, "brew", &json!({})).await, "coffee");
    let call = &peer.received_of("tools/call")[0];
    assert_eq!(call.header("mcp-session-id"), Some("s1"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-03-26"));
}

#[tokio::test]
async fn a_forgotten_session_is_begun_again_and_the_call_is_sent_once_more() {
    let sessions = Mutex::new(0);
    let peer = HttpPeer::new(move |request| {
        let current = format!("s{}", sessions.lock().unwrap());
        match request.method() {
            "server/discover" => Reply::empty(400),
            "initialize" => {
                *sessions.lock().unwrap() += 1;
                let mut reply = request.result(without_changes(initialized("2025-11-25"))["result"].clone());
                let id = format!("s{}", sessions.lock().unwrap());
                reply.headers.insert("mcp-session-id", id.parse().unwrap());
                reply
            }
            _ if request.header("mcp-session-id") != Some(current.as_str()) => Reply::empty(404),
            "tools/list" => request.result(json!({ "tools": brew() })),
            "tools/call" if request.message["params"]["arguments"]["forget"] == true => {
                *sessions.lock().unwrap() += 10;
                request.result(coffee())
            }
            "tools/call" => request.result(coffee()),
            _ => Reply::empty(202),
        }
    });
    let client = peer.connect().await;
    call_text(&client, "brew", &json!({ "forget": true })).await;
    let arguments = json!({});
    let texts = tokio::join!(
        call_text(&client, "brew", &arguments),
        call_text(&client, "brew", &arguments)
    );
    assert_eq!(texts, ("coffee".to_owned(), "coffee".to_owned()));
    assert_eq!(peer.received_of("initialize").len(), 2, "one for both calls");
    assert_eq!(peer.received_of("notifications/initialized").len(), 2);
    let again = peer.received_of("initialize").pop().unwrap();
    assert_eq!(again.header("mcp-session-id"), None);
    // The tools of another process may differ.
    peer.wait_for("tools/list", 2).await;
}

/// Returns a server that forgets the session after the first list. `initialize` answers the request for another session.
fn forgetful(initialize: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> HttpPeer {
    let legacy = without_changes(initialized("2025-11-25"))["result"].clone();
    let lists = Mutex::new(0);
    HttpPeer::new(move |request| match request.method() {
        "server/discover" | "GET" => Reply::empty(400),
        "initialize" if *lists.lock().unwrap() == 0 => {
            request.result(legacy.clone()).with_header("mcp-session-id", "s1")
        }
        "initialize" => initialize(request).with_header("mcp-session-id", "s2"),
        "tools/list" => {
            *lists.lock().unwrap() += 1;
            request.result(json!({ "tools": brew() }))
        }
        "tools/call" if request.header("mcp-session-id") == Some("s1") => Reply::empty(404),
        "tools/call" => request.result(coffee()),
        _ => Reply::empty(202),
    })
}

/// Returns the stream with the answer to `initialize`, which is sent later.
fn later(request: &Received, streams: &Mutex<Vec<(Pieces, Value)>>) -> Reply {
    let (reply, pieces) = Reply::stream("text/event-stream");
    let answer = request.answer(initialized("2025-11-25")["result"].clone());
    streams.lock().unwrap().push((pieces, answer));
    reply
}

/// The session belongs to all calls, so the end of the call that needs it first does not end it.
#[tokio::test]
async fn a_session_is_begun_again_even_if_the_call_that_began_it_is_cancelled() {
    static STREAMS: Mutex<Vec<(Pieces, Value)>> = Mutex::new(Vec::new());
    let peer = forgetful(|request| later(request, &STREAMS));
    let client = peer.connect().await;
    let registry = registry(&client);
    let call = tokio::spawn(async move { registry.execute_tool("toolu_01", "brew", "{}").await });
    peer.wait_for("initialize", 2).await;
    call.abort();
    // The client has dropped the request of the call.
    peer.wait_for("notifications/cancelled", 1).await;
    let (pieces, answer) = STREAMS.lock().unwrap().remove(0);
    pieces.send(Ok(event(&answer).into())).unwrap();
    peer.wait_for("notifications/initialized", 2).await;
    assert_eq!(call_text(&client, "brew", &json!({})).await, "coffee");
    assert_eq!(peer.received_of("initialize").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_called_if_no_session_can_be_begun() {
    type Answer = fn(&Received) -> Reply;
    let not_called = ", so it was not called\n\nThis may succeed when it is tried again.";
    let answers: [(Answer, &str); 3] = [
        (
            |_| Reply::silence(),
            "cannot be reached (`initialize` in place of a lost session has no answer for 30 s)",
        ),
        (
            |_| Reply::failure(std::io::ErrorKind::ConnectionReset),
            "cannot be reached (`initialize` has no answer: connection reset)",
        ),
        (
            |_| Reply::text(502, "text/plain", "starting"),
            "cannot be reached (answered `initialize` with status 502 (starting))",
        ),
    ];
    for (answer, fact) in answers {
        let peer = forgetful(answer);
        let text = call_text(&peer.connect().await, "brew", &json!({})).await;
        assert_eq!(text, format!("`brew`: the MCP server `cafe` {fact}{not_called}"));
        assert_eq!(peer.received_of("tools/call").len(), 1);
    }
}

#[tokio::test]
async fn a_session_that_is_lost_again_is_a_failure_of_the_call() {
    let peer = HttpPeer::legacy(brew(), |_| Reply::empty(404));
    let client = peer.connect().await;
    let text = call_text(&client, "brew", &json!({})).await;
    assert_eq!(
        text,
        "`brew`: the MCP server `cafe` refused the call: status 404; change the call, or continue without it"
    );
    assert_eq!(peer.received_of("tools/call").len(), 2);
    assert_eq!(peer.received_of("initialize").len(), 2);
}

#[tokio::test]
async fn changes_are_announced_in_a_stream() {
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let changed = event(&changed);
    // A server without a handshake is asked for them; the first stream ends.
    let streams = Mutex::new(Vec::new());
    let text = changed.clone();
    let mut answer = discovered(&["2026-07-28"]);
    answer["result"]["capabilities"]["tools"]["listChanged"] = json!(true);
    let modern = HttpPeer::new(move |request| match request.method() {
        "server/discover" => request.result(answer["result"].clone()),
        "tools/list" => request.result(json!({ "tools": brew() })),
        "subscriptions/listen" => {
            let (reply, pieces) = Reply::stream("text/event-stream");
            pieces.send(Ok(text.clone().into())).unwrap();
            let mut streams = streams.lock().unwrap();
            if streams.is_empty() {
                // Keeps the number of streams; the first stream ends here.
                streams.push(Reply::stream("text/event-stream").1);
            } else {
                streams.push(pieces);
            }
            reply
        }
        _ => Reply::empty(400),
    });
    let client = modern.connect().await;
    modern.wait_for("tools/list", 2).await;
    modern.wait_for("subscriptions/listen", 2).await;
    client.stop().await;
    modern.wait_for_closed(1).await;

    // A server with a handshake has a stream for them, which continues after the last event.
    let text = format!("id: 7\n{changed}");
    let legacy = HttpPeer::new(move |request| match request.method() {
        "server/discover" => Reply::empty(404),
        "initialize" => request.result(initialized("2025-11-25")["result"].clone()),
        "tools/list" => request.result(json!({ "tools": brew() })),
        "GET" => Reply::events(text.clone()),
        _ => Reply::empty(202),
    });
    let client = legacy.connect().await;
    legacy.wait_for("tools/list", 2).await;
    legacy.wait_for("GET", 2).await;
    client.stop().await;
    let streams = legacy.received_of("GET");
    assert_eq!(streams[0].header("last-event-id"), None);
    assert_eq!(streams[1].header("last-event-id"), Some("7"));
    assert_eq!(streams[1].header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn invalid_urls_and_headers_are_errors_without_values() {
    let peer = HttpPeer::new(|_| Reply::empty(400));
    for (url, fact) in [
        (
            "cafe.example/mcp",
            "invalid URL (invalid format); expected for example https://example.com/mcp",
        ),
        (
            "ftp://cafe.example",
            "invalid URL; expected for example https://example.com/mcp",
        ),
        (
            "http://",
            "invalid URL (empty string); expected for example https://example.com/mcp",
        ),
        (
            "http://user:secret@cafe.example/",
            "invalid URL: it contains a user name or password; use a header",
        ),
    ] {
        let error = McpClient::url(url, peer.clone()).connect().await.unwrap_err();
        assert_eq!(error.fact(), fact);
    }
    for (name, value, fact) in [
        ("a b", "secret", "invalid name of a header `a b`"),
        ("a", "secret\n", "invalid value of the header `a`"),
    ] {
        let builder = peer.client().header(name, value);
        assert!(!format!("{builder:?}").contains("secret"));
        let error = builder.connect().await.unwrap_err();
        assert_eq!((error.fact(), error.server()), (fact, "cafe"));
    }
    assert_eq!(peer.received().len(), 0);
}
