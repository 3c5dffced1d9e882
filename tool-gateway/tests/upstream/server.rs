//! A server on loopback that records its requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, Uri};
use tokio::net::TcpListener;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Starts a server that answers every request with this response.
    pub(crate) async fn start(answer: impl Fn() -> Response<Body> + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
        };
        let handler = async move |State(server): State<Self>, request: Request<Body>| {
            let (parts, body) = request.into_parts();
            let received = Received {
                method: parts.method,
                uri: parts.uri,
                headers: parts.headers,
                body: crate::body::bytes(body).await,
            };
            server.received.lock().unwrap().push(received);
            answer()
        };
        let router = Router::new().fallback(handler).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Returns the only request.
    pub(crate) fn only(&self) -> Received {
        let received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received[0].clone()
    }
}
