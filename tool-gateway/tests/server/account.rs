//! `/v1/messages/batches` and `/v1/files`, which pass as they arrive.

use std::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tool_gateway::Gateway;
use tool_gateway::upstream::{AnthropicUpstream, Upstream, UpstreamFuture};
use tower::ServiceExt as _;

use crate::lab::{Lab, Runs, post, registry};
use crate::reply::Reply;

/// An upstream that echoes the body while it arrives.
struct Echo {
    has_credentials: bool,
}

impl Upstream for Echo {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        panic!("the body was read before")
    }

    fn send_stream(&self, request: Request<Body>) -> UpstreamFuture<'_> {
        let mut response = Response::builder().status(201);
        for (name, value) in request.headers() {
            response = response.header(name, value);
        }
        let path = request.uri().to_string();
        let response = response.header("x-path", path).body(request.into_body()).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn has_credentials(&self) -> bool {
        self.has_credentials
    }

    fn name(&self) -> String {
        "echo".to_owned()
    }
}

fn gateway(has_credentials: bool) -> Gateway {
    Gateway::new(registry(&Runs::default()), Echo { has_credentials })
}

async fn get(app: &Router, method: &str, path: &str) -> (u16, HeaderMap) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    (response.status().as_u16(), response.headers().clone())
}

#[tokio::test]
async fn paths_pass_if_each_client_has_its_account_or_all_may_share_one() {
    for (app, expected) in [
        (gateway(false).router(), 201),
        (gateway(true).router(), 404),
        (gateway(true).with_shared_account().router(), 201),
    ] {
        for (method, path) in [
            ("POST", "/v1/messages/batches"),
            ("GET", "/v1/messages/batches?limit=5"),
            ("GET", "/v1/messages/batches/msgbatch_1/results"),
            ("POST", "/v1/messages/batches/msgbatch_1/cancel"),
            ("DELETE", "/v1/files/file_1"),
            ("GET", "/v1/files/file_1/content"),
            ("POST", "/v1/files"),
        ] {
            let (status, headers) = get(&app, method, path).await;
            assert_eq!(status, expected, "{method} {path}");
            if expected == 201 {
                assert_eq!(headers["x-path"], path);
            }
        }
    }
    let app = gateway(false).router();
    for path in [
        "/v1/files/../messages",
        "/v1/files/a%2F..%2F..%2Fmessages",
        "/v1/messages/batches/",
    ] {
        assert_eq!(get(&app, "GET", path).await.0, 404, "{path}");
    }
    assert_eq!(get(&app, "PUT", "/v1/files").await.0, 405);
}

#[tokio::test]
async fn pieces_pass_as_they_arrive() {
    let app = gateway(false).with_client_key("ada", "k1").router();
    let (pieces, received) = mpsc::channel::<&'static str>(1);
    let body = stream::unfold(received, |mut received| async {
        let piece = received.recv().await?;
        Some((Ok::<_, Infallible>(piece), received))
    });
    let request = Request::post("/v1/files")
        .header("authorization", "Bearer k1")
        .header("x-api-key", "of the upstream");
    let request = request.body(Body::from_stream(body)).unwrap();
    let response = app.oneshot(request).await.unwrap();
    assert_eq!(response.headers()["x-api-key"], "of the upstream");
    assert!(!response.headers().contains_key("authorization"));
    let mut answer = response.into_body().into_data_stream();
    for piece in ["one", "two"] {
        pieces.send(piece).await.unwrap();
        assert_eq!(answer.next().await.unwrap().unwrap(), piece);
    }
    drop(pieces);
    assert!(answer.next().await.is_none());
}

/// Over a connection: a complete body is forwarded, and a body that is too large or stalls is an error of the gateway.
#[tokio::test(start_paused = true)]
async fn uploads_have_a_size_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = |body: Bytes| async move { body.len().to_string() };
    let server = Router::new()
        .fallback(count)
        .layer(axum::extract::DefaultBodyLimit::disable());
    tokio::spawn(async move { axum::serve(listener, server).await });
    let upstream = AnthropicUpstream::new(&url, None).unwrap();
    let gateway = Gateway::new(registry(&Runs::default()), upstream).with_max_upload(3 << 20);
    let app = gateway.router();
    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    let send = |pieces: usize, is_whole: bool| {
        let pieces = stream::iter(vec![Ok::<_, Infallible>(piece.clone()); pieces]);
        let body = if is_whole {
            Body::from_stream(pieces)
        } else {
            Body::from_stream(pieces.chain(stream::pending()))
        };
        let request = Request::post("/v1/files").body(body).unwrap();
        let app = app.clone();
        async move { app.oneshot(request).await.unwrap() }
    };
    let uploaded = send(3, true).await;
    assert_eq!(uploaded.status(), 200);
    let length = axum::body::to_bytes(uploaded.into_body(), 100).await.unwrap();
    assert_eq!(length, (3 << 20).to_string());
    for (pieces, is_whole, status) in [
        (4, true, StatusCode::PAYLOAD_TOO_LARGE),
        (1, false, StatusCode::REQUEST_TIMEOUT),
    ] {
        let reply = Reply::read(send(pieces, is_whole).await).await;
        assert_eq!(reply.status, status, "{}", reply.message);
    }
    // The length is known before.
    let request = post("/v1/files", "", &[]).map(|_| Body::from(vec![b'x'; (3 << 20) + 1]));
    let (mut parts, body) = request.into_parts();
    parts.headers.insert("content-length", ((3 << 20) + 1).into());
    let response = app.oneshot(Request::from_parts(parts, body)).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

/// The script, like other upstreams without streaming, receives the complete body.
#[tokio::test]
async fn upstreams_without_streams_get_complete_bodies() {
    let lab = Lab::new(json!([{ "content": [] }]));
    lab.send(post("/v1/files", "a file", &[])).await;
    assert_eq!(&lab.script.requests()[0].body[..], b"a file");
}
