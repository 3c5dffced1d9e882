//! Connections to a server: their requests, and their ends.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::Response;
use axum::serve::ListenerExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tool_gateway::upstream::{AnthropicUpstream, ScriptUpstream, Upstream as _};
use tool_gateway::{Gateway, Offer};
use tool_runtime::{Context as CallContext, ToolDefinition, ToolRegistry};
use tower::ServiceExt as _;

use crate::body::{bytes, post};

const BODY: &str = "{}";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const FALSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfalse";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Starts a listener, and an upstream for it.
async fn listen() -> (TcpListener, AnthropicUpstream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, AnthropicUpstream::new(&url, None).unwrap())
}

/// Reads a request.
async fn read_request(connection: &mut TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(BODY.as_bytes()) {
        let read = connection.read_buf(&mut request).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&request));
    }
}

async fn ask(upstream: &AnthropicUpstream) -> Response<Body> {
    upstream.send(post("/v1/messages", BODY)).await.unwrap()
}

async fn next(body: &mut Body) -> Option<Bytes> {
    let mut body = pin!(body);
    let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await?;
    Some(frame.unwrap().into_data().unwrap())
}

#[tokio::test]
async fn closed_connection_is_replaced() {
    let (listener, upstream) = listen().await;
    let (closed, mut is_closed) = mpsc::channel(1);
    let server = tokio::spawn(async move {
        for _ in 0..3 {
            let (mut connection, _) = listener.accept().await.unwrap();
            read_request(&mut connection).await;
            connection.write_all(OK).await.unwrap();
            drop(connection);
            closed.send(()).await.unwrap();
        }
    });
    for _ in 0..3 {
        assert_eq!(bytes(ask(&upstream).await.into_body()).await, "{}");
        is_closed.recv().await.unwrap();
    }
    server.await.unwrap();
}

/// Servers close idle connections, also at the moment at which a request arrives.
#[tokio::test]
async fn request_on_a_reused_connection_is_repeated_once() {
    let (listener, upstream) = listen().await;
    let (refused, is_refused) = oneshot::channel();
    let server = tokio::spawn(async move {
        for is_answered in [true, false] {
            let (mut connection, _) = listener.accept().await.unwrap();
            read_request(&mut connection).await;
            if is_answered {
                connection.write_all(OK).await.unwrap();
                read_request(&mut connection).await;
                drop(connection);
                let (mut connection, _) = listener.accept().await.unwrap();
                read_request(&mut connection).await;
                connection.write_all(OK).await.unwrap();
                read_request(&mut connection).await;
            }
        }
        tokio::select! {
            biased;
            _ = listener.accept() => panic!("another connection"),
            refused = is_refused => refused.unwrap(),
        }
    });
    for _ in 0..2 {
        assert_eq!(bytes(ask(&upstream).await.into_body()).await, "{}");
    }
    // A new connection that is closed is not repeated.
    let error = upstream.send(post("/v1/messages", BODY)).await.unwrap_err();
    assert!(
        error.to_string().contains("did not answer: connection closed"),
        "{error}"
    );
    refused.send(()).unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn dropped_body_closes_its_connection() {
    let (listener, upstream) = listen().await;
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        read_request(&mut connection).await;
        connection.write_all(CHUNKED).await.unwrap();
        connection.write_all(b"1\r\na\r\n").await.unwrap();
        let mut rest = Vec::new();
        connection.read_to_end(&mut rest).await.unwrap();
    });
    let mut body = ask(&upstream).await.into_body();
    assert_eq!(next(&mut body).await.unwrap(), "a");
    drop(body);
    tokio::time::timeout(Duration::from_secs(60), server)
        .await
        .unwrap()
        .unwrap();
}

/// A server that passes such a response on does not poll its body to the end.
#[tokio::test]
async fn connection_of_an_empty_response_is_used_again() {
    for (head, body) in [
        ("204 No Content\r\n", ""),
        ("200 OK\r\ncontent-length: 0\r\n", ""),
        (
            "200 OK\r\ntransfer-encoding: chunked\r\n",
            "0\r\nx-sum: 1\r\n\r\n",
        ),
    ] {
        let (listener, upstream) = listen().await;
        let server = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            read_request(&mut connection).await;
            let response = format!("HTTP/1.1 {head}\r\n{body}");
            connection.write_all(response.as_bytes()).await.unwrap();
            read_request(&mut connection).await;
            connection.write_all(OK).await.unwrap();
        });
        let first = ask(&upstream).await.into_body();
        if !first.is_end_stream() {
            let mut first = pin!(first);
            let frame = std::future::poll_fn(|context| first.as_mut().poll_frame(context)).await;
            assert!(frame.unwrap().unwrap().is_trailers());
        }
        let asking = tokio::time::timeout(Duration::from_secs(60), ask(&upstream));
        assert_eq!(bytes(asking.await.unwrap().into_body()).await, "{}");
        server.await.unwrap();
    }
}

/// Bytes after a response would be the beginning of the next one.
#[tokio::test]
async fn connection_with_more_than_its_response_is_not_used_again() {
    let (listener, upstream) = listen().await;
    let (read, mut is_read) = mpsc::channel(1);
    let (written, mut is_written) = mpsc::channel(1);
    let server = tokio::spawn(async move {
        for is_late in [false, true] {
            let (mut connection, _) = listener.accept().await.unwrap();
            read_request(&mut connection).await;
            if is_late {
                connection.write_all(OK).await.unwrap();
                is_read.recv().await.unwrap();
                connection.write_all(FALSE).await.unwrap();
            } else {
                connection.write_all(&[OK, FALSE].concat()).await.unwrap();
                is_read.recv().await.unwrap();
            }
            written.send(()).await.unwrap();
            let mut rest = Vec::new();
            let _ = connection.read_to_end(&mut rest).await;
            assert!(rest.is_empty(), "{rest:?}");
        }
        let (mut connection, _) = listener.accept().await.unwrap();
        read_request(&mut connection).await;
        connection.write_all(OK).await.unwrap();
    });
    for _ in 0..2 {
        assert_eq!(bytes(ask(&upstream).await.into_body()).await, "{}");
        read.send(()).await.unwrap();
        is_written.recv().await.unwrap();
        // Written data is visible when the runtime waits.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bytes(ask(&upstream).await.into_body()).await, "{}");
    server.await.unwrap();
}

/// A request may begin in one task, and each piece of its response may be read in another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_task_may_read_on() {
    let (listener, upstream) = listen().await;
    let (write, mut pieces) = mpsc::channel::<u8>(1);
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        read_request(&mut connection).await;
        connection.write_all(CHUNKED).await.unwrap();
        while let Some(piece) = pieces.recv().await {
            let chunk = [b"1\r\n", &[piece][..], b"\r\n"].concat();
            connection.write_all(&chunk).await.unwrap();
        }
        connection.write_all(b"0\r\n\r\n").await.unwrap();
        // The connection is used again.
        read_request(&mut connection).await;
        connection.write_all(OK).await.unwrap();
    });
    let upstream = Arc::new(upstream);
    let asking = Arc::clone(&upstream);
    let response = tokio::spawn(async move { ask(&asking).await }).await.unwrap();
    let mut body = response.into_body();
    for piece in b"abcdefgh" {
        let reading = tokio::spawn(async move {
            let read = next(&mut body).await;
            (body, read)
        });
        write.send(*piece).await.unwrap();
        let (rest, read) = reading.await.unwrap();
        body = rest;
        assert_eq!(read.unwrap(), &[*piece][..]);
    }
    drop(write);
    assert_eq!(next(&mut body).await, None);
    assert_eq!(bytes(ask(&upstream).await.into_body()).await, "{}");
    server.await.unwrap();
}

/// Counts wakes.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn reads_available_bytes_without_waiting() {
    const PIECES: usize = 50;
    let (listener, upstream) = listen().await;
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        read_request(&mut connection).await;
        let response = [CHUNKED, &b"1\r\na\r\n".repeat(PIECES)].concat();
        connection.write_all(&response).await.unwrap();
        connection
    });
    let mut body = pin!(ask(&upstream).await.into_body());
    let _connection = server.await.unwrap();
    let counted = Arc::new(Counted::default());
    let waker = Waker::from(Arc::clone(&counted));
    let mut read = 0;
    while let Poll::Ready(Some(Ok(_))) = body.as_mut().poll_frame(&mut Context::from_waker(&waker)) {
        read += 1;
    }
    assert_eq!((read, counted.0.load(Ordering::SeqCst)), (PIECES, 0));
}

/// On one thread, a task that always has data to read lets other tasks run.
#[tokio::test]
async fn fast_response_does_not_keep_others_waiting() {
    const PIECES: usize = 5000;
    let (listener, upstream) = listen().await;
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        read_request(&mut connection).await;
        let response = [CHUNKED, &b"1\r\na\r\n".repeat(PIECES)].concat();
        connection.write_all(&response).await.unwrap();
        connection
    });
    let mut body = ask(&upstream).await.into_body();
    let _connection = server.await.unwrap();
    let reading = tokio::spawn(async move {
        for _ in 0..PIECES {
            next(&mut body).await.unwrap();
        }
    });
    let mut turns = 0;
    while !reading.is_finished() {
        tokio::task::yield_now().await;
        turns += 1;
    }
    assert!(turns > PIECES / 200, "{turns}");
}

#[tokio::test]
async fn idle_connection_is_closed_after_its_time() {
    let (listener, upstream) = listen().await;
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        read_request(&mut connection).await;
        connection.write_all(OK).await.unwrap();
        connection
    });
    assert_eq!(bytes(ask(&upstream).await.into_body()).await, "{}");
    let mut connection = server.await.unwrap();
    // Time advances when all tasks wait.
    tokio::time::pause();
    let begin = Instant::now();
    assert_eq!(connection.read(&mut [0]).await.unwrap(), 0);
    let waited = begin.elapsed().as_secs();
    assert!((89..=92).contains(&waited), "{waited} s");
}

/// Opens connections that are idle at the same time. Returns the server's side, the connection that was used first at the front.
async fn idle_connections(
    listener: &TcpListener,
    upstream: &AnthropicUpstream,
    count: usize,
) -> Vec<TcpStream> {
    let mut responses = Vec::new();
    let mut connections = Vec::new();
    for _ in 0..count {
        let server = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            read_request(&mut connection).await;
            connection.write_all(OK).await.unwrap();
            connection
        };
        let (response, connection) = tokio::join!(ask(upstream), server);
        responses.push(response);
        connections.push(connection);
    }
    for response in responses {
        assert_eq!(bytes(response.into_body()).await, "{}");
    }
    connections
}

#[tokio::test]
async fn idle_connection_is_closed_when_the_server_closes_it() {
    const CONNECTIONS: usize = 200;
    let (listener, upstream) = listen().await;
    let mut connections = idle_connections(&listener, &upstream, CONNECTIONS).await;
    for connection in &mut connections {
        connection.shutdown().await.unwrap();
    }
    tokio::time::pause();
    let begin = Instant::now();
    for connection in &mut connections {
        assert_eq!(connection.read(&mut [0]).await.unwrap(), 0);
    }
    let waited = begin.elapsed().as_secs();
    assert!(waited <= 2, "{waited} s");
}

#[tokio::test]
async fn limits_the_number_of_idle_connections() {
    const KEPT: usize = 256;
    const ABOVE: usize = 4;
    let (listener, upstream) = listen().await;
    let mut connections = idle_connections(&listener, &upstream, KEPT + ABOVE).await;
    let are_closed = connections.iter_mut().map(async |connection| {
        let closed = tokio::time::timeout(Duration::from_millis(100), connection.read_u8());
        closed.await.is_ok()
    });
    let are_closed = futures_util::future::join_all(are_closed).await;
    // The oldest connection.
    let wanted: Vec<_> = (0..KEPT + ABOVE).map(|index| index < ABOVE).collect();
    assert_eq!(are_closed, wanted);
}

/// An upstream may outlive the runtime of its first request.
#[test]
fn idle_connections_of_a_second_runtime_are_closed_too() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let upstream = AnthropicUpstream::new(&url, None).unwrap();
    let asked = async || {
        let listener = TcpListener::from_std(listener.try_clone().unwrap()).unwrap();
        let server = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            read_request(&mut connection).await;
            connection.write_all(OK).await.unwrap();
            connection
        });
        assert_eq!(bytes(ask(&upstream).await.into_body()).await, "{}");
        server.await.unwrap()
    };
    runtime().block_on(asked());
    runtime().block_on(async {
        let mut connection = asked().await;
        tokio::time::pause();
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(100), connection.read_to_end(&mut rest));
        assert_eq!(closed.await.unwrap().unwrap(), 0);
    });
}

/// Starts a server of the API with these turns. Returns a counter of its accepted connections, too.
async fn scripted(turns: serde_json::Value) -> (SocketAddr, Arc<AtomicUsize>) {
    let script = ScriptUpstream::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&accepted);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = listener.tap_io(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let server = Gateway::new(ToolRegistry::new(), script).router();
    tokio::spawn(async move { axum::serve(listener, server).await });
    (address, accepted)
}

/// The message ends before its response.
#[tokio::test]
async fn rounds_of_a_turn_use_one_connection() {
    let call =
        |id: &str| json!({ "content": [{ "type": "tool_use", "id": id, "name": "lookup", "input": {} }] });
    let (address, accepted) = scripted(json!([
        call("toolu_a"),
        call("toolu_b"),
        { "content": [{ "type": "text", "text": "Done." }] },
    ]))
    .await;
    for is_stream in [true, false] {
        accepted.store(0, Ordering::SeqCst);
        let mut registry = ToolRegistry::new();
        let lookup = ToolDefinition::new("lookup", "Look it up.", json!({ "type": "object" }));
        registry
            .register_dynamic(lookup, async |_: serde_json::Value, _: CallContext| {
                // Time advances when all tasks wait, so the end of the previous response has arrived by then.
                tokio::time::pause();
                tokio::time::sleep(Duration::from_millis(20)).await;
                tokio::time::resume();
                Ok::<_, String>("found")
            })
            .unwrap();
        let upstream = AnthropicUpstream::new(&format!("http://{address}"), None).unwrap();
        let app = Gateway::new(registry, upstream)
            .with_offer(Offer::Always)
            .router();
        let request = json!({
            "model": "m", "max_tokens": 9, "stream": is_stream, "messages": [{ "role": "user", "content": "go" }],
        });
        let request = post("/v1/messages", request).map(Body::from);
        let response = app.oneshot(request).await.unwrap();
        let text = bytes(response.into_body()).await;
        assert!(String::from_utf8_lossy(&text).contains("Done."), "{text:?}");
        assert_eq!(accepted.load(Ordering::SeqCst), 1, "stream: {is_stream}");
    }
}
