//! The floor: the cost of a reverse proxy that is built from the gateway's libraries and passes everything unchanged.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::uri::{Authority, Scheme};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

struct Floor {
    client: Client<HttpConnector, Body>,
    upstream: Authority,
}

pub fn run(listen: SocketAddr, upstream: SocketAddr) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let floor = Arc::new(Floor {
        client: Client::builder(TokioExecutor::new()).build(connector),
        upstream: upstream.to_string().parse().expect("an authority"),
    });
    let router = Router::new().fallback(forward).with_state(floor);
    // The number of threads of the gateway.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let listener = TcpListener::bind(listen).await.expect("a free port");
        loop {
            let (socket, _) = listener.accept().await.expect("a connection");
            socket.set_nodelay(true).expect("an open socket");
            let service = TowerToHyperService::new(router.clone());
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            // A client may close its connections at any time.
            tokio::spawn(async { connection.await.ok() });
        }
    });
}

async fn forward(State(floor): State<Arc<Floor>>, request: Request) -> Result<Response, StatusCode> {
    let (mut parts, body) = request.into_parts();
    let mut uri = parts.uri.into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(floor.upstream.clone());
    parts.uri = Uri::from_parts(uri).map_err(|_| StatusCode::BAD_REQUEST)?;
    parts.headers.remove("host");
    let response = floor.client.request(Request::from_parts(parts, body)).await;
    Ok(response.map_err(|_| StatusCode::BAD_GATEWAY)?.map(Body::new))
}
