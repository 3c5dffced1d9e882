//! The upstream `anthropic`, in front of a server on loopback.

use std::convert::Infallible;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderMap, HeaderName, Request, Response, StatusCode, Version};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_core::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tool_gateway::upstream::{AnthropicUpstream, Upstream as _};

use crate::body::{bytes, pieces, post};
use crate::server::Server;

const BODY: &str = "{ \"model\": \"m\",\"n\":1.0, \"messages\" : []}\n";

fn ok() -> Response<Body> {
    Response::new(Body::from("{}"))
}

fn upstream(server: &Server, key: Option<&str>) -> AnthropicUpstream {
    AnthropicUpstream::new(&server.url(), key.map(Into::into)).unwrap()
}

/// Builds a request with headers.
fn request(headers: &[(&str, &str)]) -> Request<Bytes> {
    let mut request = post("/v1/messages?beta=true", BODY);
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    request
}

fn values(headers: &HeaderMap, name: &str) -> Vec<String> {
    let values = headers.get_all(name).iter();
    values.map(|value| value.to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sends_method_path_query_and_body_unchanged() {
    let server = Server::start(ok).await;
    let upstream = upstream(&server, None);
    upstream.send(request(&[])).await.unwrap();
    let received = server.only();
    assert_eq!(received.method, "POST");
    assert_eq!(received.uri, "/v1/messages?beta=true");
    assert_eq!(received.body, BODY);
    assert_eq!(
        values(&received.headers, "content-length"),
        [BODY.len().to_string()]
    );
    assert_eq!(values(&received.headers, "host"), [server.address.to_string()]);
}

#[tokio::test]
async fn thinking_of_translated_upstreams_leaves_messages() {
    let server = Server::start(ok).await;
    let thinking = r#"{"type":"thinking","thinking":"t","signature":"tg1.e30.AAAA"}"#;
    let body = |thinking: &str| {
        format!(
            r#"{{"model":"m","thinking":{{"type":"enabled"}},"messages":[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{thinking}{{"type":"text","text":"a"}}]}},{{"role":"user","content":"more"}}]}}"#
        )
    };
    let sent = body(&format!("{thinking},"));
    let upstream = upstream(&server, None);
    for path in ["/v1/messages", "/v1/messages/count_tokens"] {
        upstream.send(post(path, &sent)).await.unwrap();
        assert_eq!(server.received().pop().unwrap().body, body(""));
    }
    upstream.send(post("/v1/files", &sent)).await.unwrap();
    assert_eq!(server.received().pop().unwrap().body, sent);
}

#[tokio::test]
async fn compressed_responses_are_decoded() {
    let server = Server::start(|| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"{\"a\":1}").unwrap();
        let response = Response::builder().header("content-encoding", "gzip");
        response.body(encoder.finish().unwrap().into()).unwrap()
    })
    .await;
    let response = upstream(&server, None)
        .send(request(&[("accept-encoding", "gzip")]))
        .await
        .unwrap();
    assert_eq!(values(&server.only().headers, "accept-encoding"), ["identity"]);
    assert!(values(response.headers(), "content-encoding").is_empty());
    assert_eq!(bytes(response.into_body()).await, "{\"a\":1}");
}

#[tokio::test]
async fn sends_a_get_without_a_body() {
    let server = Server::start(ok).await;
    let upstream = upstream(&server, None);
    let get = Request::get("/v1/models?limit=5").body(Bytes::new()).unwrap();
    upstream.send(get).await.unwrap();
    let received = server.only();
    assert_eq!((received.method.as_str(), received.body.len()), ("GET", 0));
    assert_eq!(received.uri, "/v1/models?limit=5");
    assert!(values(&received.headers, "content-length").is_empty());
    assert!(values(&received.headers, "transfer-encoding").is_empty());
}

#[tokio::test]
async fn prefix_of_the_base_url_stays() {
    let server = Server::start(ok).await;
    for base in ["/a/b", "/a/b/"] {
        let upstream = AnthropicUpstream::new(&format!("{}{base}", server.url()), None).unwrap();
        assert_eq!(upstream.name(), format!("{}/a/b", server.url()));
        upstream.send(request(&[])).await.unwrap();
        assert_eq!(server.received().pop().unwrap().uri, "/a/b/v1/messages?beta=true");
    }
}

#[tokio::test]
async fn headers_of_one_connection_are_not_sent() {
    let server = Server::start(ok).await;
    let headers = [
        ("connection", "keep-alive, x-hop"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-authorization", "Basic secret"),
        ("te", "trailers"),
        ("trailer", "x-sum"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
        ("host", "gateway.example"),
        ("content-length", "7"),
        ("accept-encoding", "gzip, br"),
        ("content-type", "application/json"),
        ("anthropic-version", "2026-10-21"),
        ("anthropic-beta", "one,two"),
        ("anthropic-beta", "three"),
        ("x-stainless-retry-count", "1"),
        ("x-claude-code-session-id", "s"),
    ];
    upstream(&server, None).send(request(&headers)).await.unwrap();
    let received = server.only();
    assert_eq!(received.body, BODY);
    let mut names: Vec<_> = received.headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    let expected = [
        "accept-encoding",
        "anthropic-beta",
        "anthropic-version",
        "content-length",
        "content-type",
        "host",
        "x-claude-code-session-id",
        "x-stainless-retry-count",
    ];
    assert_eq!(names, expected);
    assert_eq!(values(&received.headers, "anthropic-beta"), ["one,two", "three"]);
    assert_eq!(values(&received.headers, "accept-encoding"), ["identity"]);
    assert_eq!(values(&received.headers, "host"), [server.address.to_string()]);
}

#[tokio::test]
async fn configured_key_replaces_client_keys() {
    let server = Server::start(ok).await;
    let headers = [
        ("x-api-key", "client-1"),
        ("x-api-key", "client-2"),
        ("authorization", "Bearer client-3"),
    ];
    upstream(&server, Some("own"))
        .send(request(&headers))
        .await
        .unwrap();
    let received = server.only();
    assert_eq!(values(&received.headers, "x-api-key"), ["own"]);
    assert!(values(&received.headers, "authorization").is_empty());
}

#[tokio::test]
async fn keys_of_the_client_are_sent_without_an_own_one() {
    let server = Server::start(ok).await;
    let headers = [("x-api-key", "client-1"), ("authorization", "Bearer client-2")];
    upstream(&server, None).send(request(&headers)).await.unwrap();
    let received = server.only();
    assert_eq!(values(&received.headers, "x-api-key"), ["client-1"]);
    assert_eq!(values(&received.headers, "authorization"), ["Bearer client-2"]);
}

#[tokio::test]
async fn errors_pass_with_body_and_headers() {
    const ERROR: &str = "{ \"type\":\"error\", \"error\": {\"type\":\"overloaded_error\"}}\n";
    let server = Server::start(|| {
        let response = Response::builder()
            .status(529)
            .header("request-id", "req_1")
            .header("retry-after", "7")
            .header("x-should-retry", "true")
            .header("anthropic-ratelimit-requests-remaining", "0")
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
            .header("content-type", "application/json")
            .header("proxy-authenticate", "Basic")
            .header("keep-alive", "timeout=5")
            .header("connection", "x-hop")
            .header("x-hop", "1");
        response.body(Body::from(ERROR)).unwrap()
    })
    .await;
    let response = upstream(&server, None).send(request(&[])).await.unwrap();
    assert_eq!(response.status().as_u16(), 529);
    assert_eq!(response.version(), Version::HTTP_11);
    let headers = response.headers().clone();
    for (name, value) in [
        ("request-id", "req_1"),
        ("retry-after", "7"),
        ("x-should-retry", "true"),
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(values(&headers, name), [value]);
    }
    assert_eq!(values(&headers, "set-cookie"), ["a=1", "b=2"]);
    for name in [
        "proxy-authenticate",
        "keep-alive",
        "connection",
        "x-hop",
        "transfer-encoding",
    ] {
        assert!(values(&headers, name).is_empty(), "{name}");
    }
    assert_eq!(bytes(response.into_body()).await, ERROR);
}

#[tokio::test]
async fn redirects_pass() {
    let server = Server::start(|| {
        let response = Response::builder().status(307).header("location", "/elsewhere");
        response.body(Body::empty()).unwrap()
    })
    .await;
    let response = upstream(&server, Some("own")).send(request(&[])).await.unwrap();
    assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(server.received().len(), 1);
}

/// A body whose pieces the test sends.
struct Pieces(mpsc::Receiver<Bytes>);

impl Stream for Pieces {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|piece| piece.map(Ok))
    }
}

#[tokio::test]
async fn stream_arrives_piece_by_piece() {
    let (sender, receiver) = mpsc::channel(1);
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let server = Server::start(move || {
        let receiver = receiver.lock().unwrap().take().unwrap();
        Response::new(Body::from_stream(Pieces(receiver)))
    })
    .await;
    let response = upstream(&server, None).send(request(&[])).await.unwrap();
    let mut body = std::pin::pin!(response.into_body());
    // Each piece is read before the next one is written.
    for text in ["event: ping\n", "data: {}\n\n", "event"] {
        sender.send(Bytes::from(text)).await.unwrap();
        let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await;
        assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), text);
    }
    drop(sender);
    let end = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await;
    assert!(end.is_none());
}

#[tokio::test]
async fn connections_are_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let one_connection = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            let mut buffer = vec![0; 4096];
            let mut read = 0;
            while !buffer[..read].ends_with(BODY.as_bytes()) {
                read += connection.read(&mut buffer[read..]).await.unwrap();
            }
            connection
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                .await
                .unwrap();
        }
    });
    let upstream = AnthropicUpstream::new(&url, None).unwrap();
    for _ in 0..3 {
        let response = upstream.send(request(&[])).await.unwrap();
        assert_eq!(bytes(response.into_body()).await, "{}");
    }
    one_connection.await.unwrap();
}

/// Answers the first connection with these bytes, and closes it.
async fn answering(answer: &'static [u8]) -> AnthropicUpstream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let _ = connection.read(&mut buffer).await.unwrap();
        connection.write_all(answer).await.unwrap();
    });
    AnthropicUpstream::new(&url, None).unwrap()
}

#[tokio::test]
async fn unreachable_server_is_an_error_that_names_it() {
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let upstream = AnthropicUpstream::new(&format!("http://{free}/a"), Some("secret".into())).unwrap();
    let error = upstream.send(request(&[])).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the upstream http://{free}/a cannot be reached: connection refused")
    );
    assert!(!format!("{error:?} {upstream:?}").contains("secret"));
}

#[tokio::test]
async fn unknown_host_is_an_error_that_names_it() {
    let upstream = AnthropicUpstream::new("http://no-such-host.invalid", None).unwrap();
    let error = upstream.send(request(&[])).await.unwrap_err().to_string();
    let expected = "the upstream http://no-such-host.invalid cannot be reached: failed to lookup address";
    assert!(error.starts_with(expected), "{error}");
}

#[tokio::test]
async fn server_without_tls_is_an_error_that_names_it() {
    let server = Server::start(ok).await;
    let upstream = AnthropicUpstream::new(&format!("https://{}", server.address), None).unwrap();
    let error = upstream.send(request(&[])).await.unwrap_err();
    let expected = format!(
        "the upstream https://{} cannot be reached: received corrupt message",
        server.address
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[tokio::test]
async fn connection_that_closes_before_the_response_is_an_error() {
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\n"] {
        let upstream = answering(answer).await;
        let error = upstream.send(request(&[])).await.unwrap_err().to_string();
        let expected = format!(
            "the upstream {} did not answer: connection closed",
            upstream.name()
        );
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn cut_stream_ends_with_an_error() {
    let upstream =
        answering(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:\r\n8\r\nno").await;
    let response = upstream.send(request(&[])).await.unwrap();
    let (pieces, error) = pieces(response.into_body()).await;
    assert_eq!(pieces.concat(), b"data:no");
    assert!(error.is_some());
}

#[tokio::test]
async fn response_of_http_1_0_passes_as_1_1() {
    let upstream = answering(b"HTTP/1.0 200 OK\r\nretry-after: 1\r\n\r\n{\"a\": 1}").await;
    let response = upstream.send(request(&[])).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_11);
    assert_eq!(bytes(response.into_body()).await, "{\"a\": 1}");
}
