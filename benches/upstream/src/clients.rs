//! Clients, which receive a request with an absolute URL, and return a response with an unread body.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tool_gateway::upstream::{AnthropicUpstream, Upstream};

/// An HTTP client.
pub trait Client: Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: std::fmt::Debug> + Send + Unpin;

    fn send(&self, request: Request<Bytes>) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// The client that the gateway and reqwest use internally, over plain TCP.
type Bare = legacy::Client<HttpConnector, Full<Bytes>>;

/// The floor.
pub fn bare() -> Bare {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    legacy::Client::builder(TokioExecutor::new()).build(connector)
}

impl Client for Bare {
    type Body = Incoming;

    async fn send(&self, request: Request<Bytes>) -> Response<Incoming> {
        self.request(request.map(Full::new)).await.expect("a response")
    }
}

/// The gateway's client, with its changes to headers.
pub fn gateway(server: SocketAddr) -> AnthropicUpstream {
    AnthropicUpstream::new(&format!("http://{server}"), Some("sk-ant-secret".into())).expect("a valid URL")
}

impl Client for AnthropicUpstream {
    type Body = axum::body::Body;

    async fn send(&self, request: Request<Bytes>) -> Response<axum::body::Body> {
        Upstream::send(self, request).await.expect("a response")
    }
}

/// reqwest with comparable settings: no proxy, no redirects, HTTP/1.1.
pub fn reqwest() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .http1_only()
        .connect_timeout(Duration::from_secs(10))
        // Without the system's certificates, since TLS is not measured.
        .tls_certs_only([])
        .build()
        .expect("a client")
}

impl Client for reqwest::Client {
    type Body = reqwest::Body;

    async fn send(&self, request: Request<Bytes>) -> Response<reqwest::Body> {
        let request = request.try_into().expect("a valid URL");
        self.execute(request).await.expect("a response").into()
    }
}
