//! Calls over HTTP: headers, streams, and cancellation.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;
use tool_mcp::McpClient;
use tool_runtime::result::Failure;
use tool_runtime::serde_json::{Value, json};
use tool_runtime::{CancellationToken, Context, ToolCall};

use crate::http_peer::{HttpPeer, Pieces, Reply, brew, coffee, event, without_changes};
use crate::peer::initialized;
use crate::support::{call, call_text, registry};

/// Returns a list with a tool whose arguments are sent as headers.
fn routed(header: &str) -> Value {
    json!([{ "name": "brew", "inputSchema": { "type": "object", "properties": {
        "city": { "type": "string", "x-mcp-header": header },
        "cups": { "type": "integer", "x-mcp-header": "Cups" }
    } } }])
}

#[tokio::test]
async fn coerced_arguments_become_headers() {
    let peer = HttpPeer::modern(routed("City"), |request| request.result(coffee()));
    let client = peer.connect().await;
    call_text(&client, "brew", &json!({ "City": "Köln", "cups": "3" })).await;
    call_text(&client, "brew", &json!({})).await;
    let calls = peer.received_of("tools/call");
    assert_eq!(calls[0].header("mcp-param-city"), Some("=?base64?S8O2bG4=?="));
    assert_eq!(calls[0].header("mcp-param-cups"), Some("3"));
    assert_eq!(
        calls[0].message["params"]["arguments"],
        json!({ "city": "Köln", "cups": 3 })
    );
    assert_eq!(calls[1].header("mcp-param-city"), None);
}

#[tokio::test]
async fn tools_with_invalid_headers_are_left_out_where_headers_are_sent() {
    let peer = HttpPeer::modern(routed("a b"), |request| request.result(coffee()));
    let left_out = peer.connect().await.left_out();
    assert_eq!(
        left_out[0].to_string(),
        "brew: invalid `x-mcp-header` \"a b\" at `city`; expected the name of a header"
    );
    let peer = HttpPeer::legacy(routed("a b"), |request| request.result(coffee()));
    let client = peer.connect().await;
    assert_eq!(client.left_out(), []);
    call_text(&client, "brew", &json!({ "cups": 3 })).await;
    assert_eq!(peer.received_of("tools/call")[0].header("mcp-param-cups"), None);
}

#[tokio::test]
async fn a_call_with_other_headers_than_expected_is_sent_once_more_after_a_list() {
    let lists = Mutex::new(0);
    let peer = HttpPeer::new(move |request| match request.method() {
        "server/discover" => request.result(crate::peer::discovered(&["2026-07-28"])["result"].clone()),
        "tools/list" => {
            let mut lists = lists.lock().unwrap();
            *lists += 1;
            let header = if *lists == 1 { "City" } else { "Town" };
            request.result(json!({ "tools": routed(header) }))
        }
        _ if request.header("mcp-param-town") == Some("Rome") => request.result(coffee()),
        _ => request.error(400, json!({ "code": -32020, "message": "headers" })),
    });
    let client = peer.connect().await;
    assert_eq!(
        call_text(&client, "brew", &json!({ "city": "Rome" })).await,
        "coffee"
    );
    assert_eq!(peer.methods()[2..], ["tools/call", "tools/list", "tools/call"]);
    // The second refusal counts.
    let text = call_text(&client, "brew", &json!({ "city": "Oslo" })).await;
    let wanted = "`brew`: the MCP server `cafe` refused the call: headers (code -32020); change the call, or continue without it";
    assert_eq!(text, wanted);
    assert_eq!(peer.received_of("tools/call").len(), 4);
}

#[tokio::test]
async fn headers_of_the_client_and_of_each_call_are_sent() {
    let peer = HttpPeer::modern(brew(), |request| request.result(coffee()));
    let client = peer
        .client()
        .header("x-team", "a")
        .header("authorization", "Bearer operator")
        .header("mcp-method", "other")
        .call_headers(|context| {
            let user: &String = context.extension().ok_or("missing header `x-user`")?;
            let value = format!("Bearer {user}").parse().map_err(|_| "invalid header")?;
            Ok(HeaderMap::from_iter([(http::header::AUTHORIZATION, value)]))
        })
        .connect()
        .await
        .unwrap();
    assert!(!format!("{client:?}").contains("operator"));
    let registry = registry(&client);
    for user in ["ann", "ben"] {
        let context = Context::new().with_extension(user.to_owned());
        let call = ToolCall::new("toolu_01", "brew", "{}").with_context(context);
        registry.call(call).await;
    }
    let outcome = registry.call(ToolCall::new("toolu_01", "brew", "{}")).await;
    assert_eq!(
        outcome.result.text(),
        Some("`brew`: the MCP server `cafe` was not called: missing header `x-user`")
    );
    let sent: Vec<_> = peer
        .received()
        .iter()
        .map(|request| {
            assert_eq!(request.header("x-team"), Some("a"));
            assert_eq!(request.headers.get_all("authorization").iter().count(), 1);
            assert_eq!(request.header("mcp-method"), Some(request.method()));
            request.header("authorization").unwrap().to_owned()
        })
        .collect();
    assert_eq!(
        sent,
        ["Bearer operator", "Bearer operator", "Bearer ann", "Bearer ben"]
    );
}

/// A call may have credentials that the client itself does not have, so other calls continue.
#[tokio::test]
async fn refused_credentials_of_a_call_end_no_connection() {
    let peer = HttpPeer::modern(brew(), |request| match request.header("authorization") {
        Some("good") => request.result(coffee()),
        _ => Reply::empty(401),
    });
    let client = peer.client().call_headers(|context| {
        let user: &&str = context.extension().ok_or("missing")?;
        let mut value: HeaderValue = user.parse().unwrap();
        value.set_sensitive(true);
        Ok(HeaderMap::from_iter([(http::header::AUTHORIZATION, value)]))
    });
    let registry = registry(&client.connect().await.unwrap());
    for (user, failure) in [("bad", Some(Failure::Failed)), ("good", None)] {
        let context = Context::new().with_extension(user);
        let call = ToolCall::new("toolu_01", "brew", "{}").with_context(context);
        assert_eq!(registry.call(call).await.failure, failure);
    }
    assert_eq!(peer.received_of("server/discover").len(), 1);
}

#[tokio::test]
async fn progress_and_requests_in_a_stream_are_read() {
    static STREAMS: Mutex<Vec<Pieces>> = Mutex::new(Vec::new());
    let peer = HttpPeer::legacy(brew(), endless(&STREAMS));
    let client = peer.connect().await;
    let (sender, mut report) = tokio::sync::watch::channel(tool_runtime::ProgressReport::default());
    let context = Context::new().with_progress(sender);
    let running = start_call(&client, &peer, context, 1).await;
    let request = peer.received_of("tools/call").remove(0);
    let pieces = STREAMS.lock().unwrap().remove(0);
    let send = |message: &Value| pieces.send(Ok(event(message).into())).unwrap();
    let token = &request.message["params"]["_meta"]["progressToken"];
    send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
        "progressToken": token, "progress": 1, "total": 2
    } }),
    );
    report.changed().await.unwrap();
    assert_eq!(report.borrow().to_string(), "1 of 2");
    send(&json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" }));
    send(&json!({ "jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {} }));
    send(&request.answer(coffee()));
    assert_eq!(running.await.unwrap().result.text(), Some("coffee"));
    peer.wait_for("answer", 2).await;
    let answers = peer.received_of("answer");
    let answer = |id: Value| {
        let found = answers.iter().find(|answer| answer.message["id"] == id).unwrap();
        assert_eq!(found.header("mcp-session-id"), Some("s1"));
        found.message.clone()
    };
    assert_eq!(answer(json!("p"))["result"], json!({}));
    assert_eq!(answer(json!(7))["error"]["code"], -32601);
}

/// A server that takes no answers costs a fixed number of requests.
#[tokio::test]
async fn a_flood_of_requests_of_the_server_opens_few_requests() {
    let method = "x".repeat(1000);
    let ping = move |id: Value| event(&json!({ "jsonrpc": "2.0", "id": id, "method": method }));
    let pings = ping(json!("x".repeat(2000))) + &(0..200).map(|id| ping(json!(id))).collect::<String>();
    let legacy = without_changes(initialized("2025-11-25"))["result"].clone();
    let peer = HttpPeer::new(move |request| match request.method() {
        "server/discover" => Reply::empty(400),
        "initialize" => request.result(legacy.clone()),
        "tools/list" => request.result(json!({ "tools": brew() })),
        "tools/call" => Reply::events(pings.clone() + &event(&request.answer(coffee()))),
        "answer" => Reply::silence(),
        _ => Reply::empty(202),
    });
    let client = peer.connect().await;
    for _ in 0..2 {
        assert_eq!(call_text(&client, "brew", &json!({})).await, "coffee");
    }
    let answers = peer.received_of("answer");
    assert_eq!(answers.len(), 16);
    let message = answers[0].message["error"]["message"].as_str().unwrap();
    assert_eq!(message, format!("unknown method `{}`", "x".repeat(100)));
    assert!(answers.iter().all(|answer| answer.message["id"].is_number()));
}

/// The official SDK sends requests of a tool in the stream that belongs to no call, and loses them without this stream.
#[tokio::test]
async fn requests_are_refused_in_the_stream_that_belongs_to_no_call() {
    static STREAMS: Mutex<Vec<Pieces>> = Mutex::new(Vec::new());
    let open = endless(&STREAMS);
    let peer = HttpPeer::new(move |request| match request.method() {
        "server/discover" => Reply::empty(400),
        "initialize" => request
            .result(without_changes(initialized("2025-11-25"))["result"].clone())
            .with_header("mcp-session-id", "s1"),
        "tools/list" => request.result(json!({ "tools": brew() })),
        "GET" => open(request),
        "tools/call" => {
            let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {} });
            STREAMS.lock().unwrap()[0].send(Ok(event(&ask).into())).unwrap();
            request.result(coffee())
        }
        _ => Reply::empty(202),
    });
    let client = peer.connect().await;
    assert_eq!(call_text(&client, "brew", &json!({})).await, "coffee");
    peer.wait_for("answer", 1).await;
    assert_eq!(peer.received_of("answer")[0].message["error"]["code"], -32601);
    assert_eq!(peer.received_of("GET").len(), 1);
    client.stop().await;
    peer.wait_for_closed(1).await;
}

/// Runs a call whose stream ends early, with these answers to the requests that continue it. Returns the text of the result, the values
/// of `Last-Event-ID`, and the time of the call.
async fn resumed(peer: HttpPeer) -> (String, Vec<String>, Duration) {
    let client = peer.connect().await;
    let start = Instant::now();
    let text = call_text(&client, "brew", &json!({})).await;
    let streams = peer.received_of("GET");
    let ids = streams
        .iter()
        .filter_map(|request| request.header("last-event-id"));
    let ids = ids.map(str::to_owned);
    (text, ids.collect(), start.elapsed())
}

const UNKNOWN: &str = "`brew`: the MCP server `cafe` did not finish its answer (the stream ended); it is not known whether it took \
                       effect; find out before you repeat it";

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_early_is_continued_after_its_last_event() {
    let call = Mutex::new(Value::Null);
    let peer = HttpPeer::legacy(brew(), move |request| match request.header("last-event-id") {
        None => {
            *call.lock().unwrap() = request.answer(coffee());
            Reply::events("id: a\nretry: 2000\ndata:\n\n")
        }
        Some("a") => Reply::events("id: b\ndata:\n\n"),
        Some(_) => Reply::events(event(&call.lock().unwrap())),
    });
    let (text, ids, time) = resumed(peer).await;
    assert_eq!(
        (text.as_str(), ids),
        ("coffee", vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(time, Duration::from_secs(4));
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_continued_three_times_without_a_message() {
    let peer = HttpPeer::legacy(brew(), |_| Reply::events("id: a\ndata:\n\n"));
    let (text, ids, time) = resumed(peer).await;
    assert_eq!((text.as_str(), ids.len()), (UNKNOWN, 3));
    assert_eq!(time, Duration::from_secs(3));
    // Failed requests count, too.
    let peer = HttpPeer::legacy(brew(), |request| match request.method() {
        "GET" => Reply::failure(io::ErrorKind::ConnectionRefused),
        _ => Reply::events("id: a\ndata:\n\n"),
    });
    assert_eq!(resumed(peer).await.1.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn streams_that_cannot_be_continued_leave_the_effect_unknown() {
    // Without an event id.
    let peer = HttpPeer::legacy(brew(), |_| Reply::events(": nothing\n\n"));
    assert_eq!(resumed(peer).await, (UNKNOWN.to_owned(), vec![], Duration::ZERO));
    // A server that has no such streams.
    let peer = HttpPeer::legacy(brew(), |request| match request.method() {
        "GET" => Reply::empty(405),
        _ => Reply::events("id: a\ndata:\n\n"),
    });
    let (text, ids, _) = resumed(peer).await;
    assert_eq!((text.as_str(), ids.len()), (UNKNOWN, 1));
    // Servers without a handshake continue no streams.
    let peer = HttpPeer::modern(brew(), |_| Reply::events("id: a\ndata:\n\n"));
    assert_eq!(resumed(peer).await, (UNKNOWN.to_owned(), vec![], Duration::ZERO));
}

/// Starts a call, and waits until the server has received `count` calls.
async fn start_call(
    client: &McpClient,
    peer: &HttpPeer,
    context: Context,
    count: usize,
) -> tokio::task::JoinHandle<tool_runtime::ToolOutcome> {
    let registry = registry(client);
    let call = ToolCall::new("toolu_01", "brew", "{}").with_context(context);
    let running = tokio::spawn(async move { registry.call(call).await });
    peer.wait_for("tools/call", count).await;
    running
}

fn endless(
    streams: &'static Mutex<Vec<Pieces>>,
) -> impl Fn(&crate::http_peer::Received) -> Reply + Send + Sync {
    |_| {
        let (reply, pieces) = Reply::stream("text/event-stream");
        streams.lock().unwrap().push(pieces);
        reply
    }
}

#[tokio::test]
async fn a_cancelled_call_closes_its_stream_and_only_older_servers_receive_a_notice() {
    static STREAMS: Mutex<Vec<Pieces>> = Mutex::new(Vec::new());
    for is_modern in [true, false] {
        let peer = if is_modern {
            HttpPeer::modern(brew(), endless(&STREAMS))
        } else {
            HttpPeer::legacy(brew(), endless(&STREAMS))
        };
        let client = peer.connect().await;
        let token = CancellationToken::new();
        let context = Context::new().with_cancellation(token.clone());
        let running = start_call(&client, &peer, context, 1).await;
        token.cancel();
        assert_eq!(running.await.unwrap().failure, Some(Failure::Cancelled));
        peer.wait_for_closed(1).await;
        if !is_modern {
            peer.wait_for("notifications/cancelled", 1).await;
            let notice = &peer.received_of("notifications/cancelled")[0];
            assert_eq!(notice.header("mcp-session-id"), Some("s1"));
            let call = &peer.received_of("tools/call")[0];
            assert_eq!(notice.message["params"]["requestId"], call.message["id"]);
        }

        // A dropped call, too.
        let running = start_call(&client, &peer, Context::new(), 2).await;
        running.abort();
        peer.wait_for_closed(2).await;
        let notices = peer.received_of("notifications/cancelled").len();
        assert!(!is_modern || notices == 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_times_out_and_its_stream_is_closed() {
    static STREAMS: Mutex<Vec<Pieces>> = Mutex::new(Vec::new());
    let peer = HttpPeer::modern(brew(), endless(&STREAMS));
    let client = peer.connect().await;
    let start = Instant::now();
    let running = start_call(&client, &peer, Context::new(), 1).await;
    assert_eq!(running.await.unwrap().failure, Some(Failure::TimedOut));
    assert_eq!(start.elapsed().as_secs(), 60);
    peer.wait_for_closed(1).await;
}

#[tokio::test]
async fn answers_above_the_limit_are_not_read() {
    let text = "x".repeat(200_000);
    let large = json!({ "content": [{ "type": "text", "text": text }] });
    for form in ["json", "chunks", "events"] {
        let large = large.clone();
        let peer = HttpPeer::modern(brew(), move |request| {
            let message = request.answer(large.clone());
            match form {
                "json" => Reply::json(200, message),
                "chunks" => {
                    let (reply, pieces) = Reply::stream("application/json");
                    for piece in message.to_string().into_bytes().chunks(10_000) {
                        pieces.send(Ok(piece.to_vec().into())).unwrap();
                    }
                    reply
                }
                _ => Reply::events(event(&message)),
            }
        });
        let client = peer.client().max_message_bytes(100_000).connect().await.unwrap();
        let outcome = call(&client, "brew", &json!({})).await;
        let text = outcome.result.text().unwrap();
        let size = if form == "json" { "200" } else { "more than 100000" };
        let start = format!("`brew`: the MCP server `cafe` answered with {size}");
        assert!(text.starts_with(&start), "{text}");
        assert!(
            text.ends_with(", above the limit of 100000 bytes; ask for less"),
            "{text}"
        );
        assert_eq!(outcome.failure, Some(Failure::Failed));
    }
}

/// A call is never sent again if the server may have run it.
#[tokio::test]
async fn other_failures_leave_the_effect_unknown() {
    type Answer = fn(&crate::http_peer::Received) -> Reply;
    let answers: [(Answer, &str); 9] = [
        (
            |_| Reply::text(500, "text/html", "<html>"),
            "answered with status 500",
        ),
        (
            |_| Reply::text(502, "text/plain", "bad\n gateway"),
            "answered with status 502 (bad gateway)",
        ),
        (
            |_| Reply::failure(io::ErrorKind::ConnectionReset),
            "did not finish its answer (connection reset)",
        ),
        (
            |_| Reply::text(200, "application/json", "{"),
            "gave an invalid answer (invalid JSON)",
        ),
        (
            |_| Reply::text(200, "text/html", "<html>"),
            "gave an invalid answer (expected JSON or a stream of events, got `text/html`)",
        ),
        (
            |_| Reply::empty(202),
            "gave an invalid answer (status 202 without a message)",
        ),
        (
            |_| Reply::json(200, json!({ "jsonrpc": "2.0", "id": 999, "result": {} })),
            "gave an invalid answer (the message has another id)",
        ),
        (
            |_| Reply::events("data: oops\n\n"),
            "did not finish its answer (the stream ended)",
        ),
        (
            |_| {
                let (reply, pieces) = Reply::stream("application/json");
                pieces.send(Ok("{".into())).unwrap();
                pieces.send(Err(io::ErrorKind::ConnectionReset.into())).unwrap();
                reply
            },
            "did not finish its answer (connection reset)",
        ),
    ];
    for (answer, fact) in answers {
        let peer = HttpPeer::modern(brew(), answer);
        let outcome = call(&peer.connect().await, "brew", &json!({})).await;
        let wanted = format!(
            "`brew`: the MCP server `cafe` {fact}; it is not known whether it took effect; find out before you repeat it"
        );
        assert_eq!(outcome.result.text(), Some(wanted.as_str()));
        assert_eq!(outcome.failure, Some(Failure::Failed));
        assert_eq!(peer.received_of("tools/call").len(), 1);
    }
}
