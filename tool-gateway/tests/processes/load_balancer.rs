//! [`LoadBalancer`]: distributes requests over the gateways that are ready.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use tokio::net::TcpListener;

use crate::http;

/// Time between two questions whether a gateway is ready.
const INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(crate) struct LoadBalancer {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    gateways: Vec<String>,
    /// Gateways that answered the last question.
    ready: Mutex<Vec<String>>,
    next: AtomicUsize,
    /// Number of responses by status; 0 for a connection without a response.
    statuses: Mutex<BTreeMap<u16, usize>>,
}

impl LoadBalancer {
    pub(crate) async fn start(gateways: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            ready: Mutex::new(gateways.clone()),
            gateways,
            next: AtomicUsize::default(),
            statuses: Mutex::default(),
        });
        let router = Router::new().fallback(forward).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let looked_at = Arc::downgrade(&shared);
        tokio::spawn(async move {
            while let Some(shared) = looked_at.upgrade() {
                let mut ready = Vec::new();
                for gateway in &shared.gateways {
                    let reply = http::send(gateway, "GET", "/readyz", &[], b"").await;
                    if reply.is_ok_and(|reply| reply.status == 200) {
                        ready.push(gateway.clone());
                    }
                }
                *shared.ready.lock().unwrap() = ready;
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Self { url, shared }
    }

    /// Returns the number of responses by status.
    pub(crate) fn statuses(&self) -> BTreeMap<u16, usize> {
        self.shared.statuses.lock().unwrap().clone()
    }
}

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let headers: Vec<_> = parts
        .headers
        .iter()
        .filter(|(name, _)| {
            !matches!(
                name.as_str(),
                "host" | "content-length" | "content-type" | "connection" | "accept-encoding"
            )
        })
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let ready = shared.ready.lock().unwrap().clone();
    let first = shared.next.fetch_add(1, Ordering::Relaxed);
    let mut reply = None;
    for number in 0..ready.len() {
        let gateway = &ready[(first + number) % ready.len()];
        let sent = http::send(gateway, parts.method.as_str(), parts.uri.path(), &headers, &body).await;
        // A gateway that does not listen any more has received nothing.
        if sent
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            continue;
        }
        reply = sent.ok();
        break;
    }
    let status = reply.as_ref().map_or(0, |reply| reply.status);
    *shared.statuses.lock().unwrap().entry(status).or_default() += 1;
    let Some(reply) = reply else {
        // As load balancers answer for a server without a response.
        return Response::builder().status(502).body(Body::empty()).unwrap();
    };
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        if !matches!(
            name.as_str(),
            "content-length" | "connection" | "transfer-encoding"
        ) {
            response = response.header(name, value);
        }
    }
    response.body(Body::from(reply.body)).unwrap()
}
