//! [`ToolServer`]: HTTP client for an MCP server at a URL, with the connections of an upstream: pool, TLS, proxies of the environment.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use http_body_util::Full;
use tool_mcp::NotSent;
use tower_service::Service;

use crate::upstream::transport::invalid::InvalidUpstream;
use crate::upstream::transport::server::HttpServer;

/// HTTP client for one server. Redirects are not followed, and a request is sent at most once.
#[derive(Clone, Debug)]
pub(crate) struct ToolServer(Arc<HttpServer>);

impl ToolServer {
    /// Creates a client for a URL.
    pub(crate) fn new(url: &str) -> Result<Self, InvalidUpstream> {
        Ok(Self(Arc::new(HttpServer::at_origin(url)?)))
    }

    /// Checks a URL without creating a client.
    pub(crate) fn check(url: &str) -> Result<(), InvalidUpstream> {
        HttpServer::check_origin(url)
    }

    /// Returns whether requests would arrive at this address of this machine.
    pub(crate) async fn connects_to(&self, listener: SocketAddr) -> bool {
        self.0.connects_to(listener).await
    }
}

/// Error of a request that may have been sent.
#[derive(Debug)]
struct NoResponse(String);

impl fmt::Display for NoResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NoResponse {}

impl Service<Request<Full<Bytes>>> for ToolServer {
    type Response = Response<Body>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let server = Arc::clone(&self.0);
        Box::pin(async move {
            server.send_once(request).await.map_err(|error| {
                if error.is_sent {
                    NoResponse(error.reason).into()
                } else {
                    NotSent::new(error.reason).into()
                }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::{HeaderMap, StatusCode};
    use http_body_util::BodyExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    fn post(url: &str) -> Request<Full<Bytes>> {
        Request::post(url).body(Full::from("{}")).unwrap()
    }

    async fn send(client: &ToolServer, url: &str) -> Result<Response<Body>, Box<dyn Error + Send + Sync>> {
        client.clone().call(post(url)).await
    }

    #[tokio::test]
    async fn requests_have_the_path_of_the_url_and_responses_pass() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route(
            "/v1/mcp/",
            axum::routing::post(async |headers: HeaderMap, body: String| {
                let length = headers["content-length"].to_str().unwrap().to_owned();
                let location = [("location", "http://other.example/")];
                (
                    StatusCode::TEMPORARY_REDIRECT,
                    location,
                    format!("{length} {body}"),
                )
            }),
        );
        tokio::spawn(async move { axum::serve(listener, app).await });
        let url = format!("http://{address}/v1/mcp/");
        let client = ToolServer::new(&url).unwrap();
        for _ in 0..2 {
            let response = send(&client, &url).await.unwrap();
            assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, "2 {}");
        }
        assert!(client.connects_to(address).await);
    }

    #[tokio::test]
    async fn a_request_is_not_sent_again_after_a_reused_connection_was_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    let mut buffer = [0; 4096];
                    // The second request of a connection gets no answer.
                    for is_first in [true, false] {
                        if stream.read(&mut buffer).await.unwrap_or(0) == 0 {
                            return;
                        }
                        count.fetch_add(1, Ordering::SeqCst);
                        if is_first {
                            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                            stream.write_all(answer).await.unwrap();
                        }
                    }
                });
            }
        });
        let client = ToolServer::new(&url).unwrap();
        let response = send(&client, &url).await.unwrap();
        response.into_body().collect().await.unwrap();
        let error = send(&client, &url).await.unwrap_err();
        assert!(!error.is::<NotSent>(), "{error}");
        assert_eq!(received.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn refused_connections_are_not_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        drop(listener);
        let error = send(&ToolServer::new(&url).unwrap(), &url).await.unwrap_err();
        assert!(error.is::<NotSent>());
        assert_eq!(error.to_string(), "connection refused");
    }

    #[test]
    fn rejects_urls_by_the_rules_of_upstreams() {
        for (url, expected) in [
            (
                "https://user:secret@example.com/mcp",
                "invalid URL https://example.com/mcp: it contains a user name or password; remove them, and configure a header in \
                 `headers_env`",
            ),
            (
                "https://example.com/mcp?key=secret",
                "invalid URL https://example.com/mcp: it contains a query or a fragment; remove it",
            ),
            (
                "example.com/mcp",
                "invalid URL example.com/mcp: invalid format; expected for example https://example.com/mcp",
            ),
            (
                "ftp://example.com",
                "invalid URL ftp://example.com: unknown scheme; expected for example https://example.com/mcp",
            ),
        ] {
            let error = ToolServer::check(url).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        // Paths are the server's.
        ToolServer::check("https://example.com/v1").unwrap();
    }
}
