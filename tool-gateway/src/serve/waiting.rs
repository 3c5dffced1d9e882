//! Responds to requests until the session store answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::connections::{self, ClientTimes};
use crate::server::http::routes::OPEN_METRICS;
use crate::session::store::{Reach, SessionStore, StoreError};
use crate::wire::error::ApiError;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Listeners of a gateway that waits for its store.
pub(super) struct Listeners<'l> {
    pub(super) clients: &'l TcpListener,
    pub(super) base_path: &'l str,
    pub(super) metrics: Option<&'l TcpListener>,
    pub(super) times: ClientTimes,
}

/// Waits until a shared store answers, since its secret is needed before the first request. Meanwhile, requests are answered with 503.
pub(super) async fn wait_for_store(store: &Arc<dyn SessionStore>, listeners: Listeners<'_>) {
    if store.reach() != Reach::Shared {
        return;
    }
    match prepare(store).await {
        Ok(()) => return,
        Err(error) => {
            tracing::warn!(%error, store = store.name(), "requests are answered with 503 until the session store answers");
        }
    }
    let errors = Arc::new(AtomicU64::new(1));
    // Both servers end when the sender is dropped. The connections end on their own: a client that does not complete its request would delay
    // the requests of others.
    let (_answered, answered) = watch::channel(());
    let serve = |listener: &TcpListener, router: Router| {
        let mut answered = answered.clone();
        let stop = async move { while answered.changed().await.is_ok() {} };
        if let Ok(listener) = listener_of(listener) {
            tokio::spawn(connections::serve(listener, router, listeners.times, stop));
        }
    };
    serve(listeners.clients, router(listeners.base_path));
    if let Some(metrics) = listeners.metrics {
        serve(metrics, metrics_router(&errors));
    }
    while prepare(store).await.is_err() {
        errors.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(PAUSE).await;
    }
    tracing::info!(store = store.name(), "the session store answers");
}

/// Prepares the store. Returns the reason if it does not answer.
async fn prepare(store: &Arc<dyn SessionStore>) -> Result<(), StoreError> {
    store.check().await?;
    match store.secret() {
        Some(_) => Ok(()),
        None => Err(StoreError("no secret".to_owned())),
    }
}

/// Returns a second listener of the same socket.
fn listener_of(listener: &TcpListener) -> std::io::Result<TcpListener> {
    #[cfg(unix)]
    let listener = std::os::fd::AsFd::as_fd(listener).try_clone_to_owned()?;
    #[cfg(windows)]
    let listener = std::os::windows::io::AsSocket::as_socket(listener).try_clone_to_owned()?;
    TcpListener::from_std(listener.into())
}

fn router(base_path: &str) -> Router {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .fallback(async || unavailable());
    if base_path.is_empty() {
        return router;
    }
    Router::new()
        .nest(base_path, router)
        .fallback(async || unavailable())
}

/// Returns the routes of the listener for metrics. The metrics are the failures of the store, since there is nothing else yet.
fn metrics_router(errors: &Arc<AtomicU64>) -> Router {
    let errors = Arc::clone(errors);
    let metrics = async move || {
        let errors = errors.load(Ordering::Relaxed);
        let text = format!(
            "# HELP tool_gateway_store_errors Failed operations of the session store.\n\
             # TYPE tool_gateway_store_errors counter\n\
             tool_gateway_store_errors_total {errors}\n\
             # EOF\n"
        );
        ([("content-type", OPEN_METRICS)], text)
    };
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(metrics))
        .fallback(async || unavailable())
}

fn unavailable() -> impl IntoResponse {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the session store does not answer; retry the request later",
    )
    .with_retry_after(2)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::AtomicBool;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::session::chain::Digest;
    use crate::session::memory::MemoryStore;
    use crate::session::record::{Session, SessionId};
    use crate::session::store::{FoundEntries, Lookup, SaveOutcome, SavedTurn, StoreFuture, StoredTurn};

    /// A shared store that answers once a test has set `answers`.
    #[derive(Default)]
    struct LateStore {
        store: MemoryStore,
        answers: AtomicBool,
    }

    impl SessionStore for LateStore {
        fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
            self.store.find(client, lookup)
        }

        fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
            self.store.load(client, ids)
        }

        fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
            self.store.session(client, id)
        }

        fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
            self.store.save(client, saved)
        }

        fn reach(&self) -> Reach {
            Reach::Shared
        }

        fn secret(&self) -> Option<[u8; 32]> {
            Some([1; 32])
        }

        fn check(&self) -> StoreFuture<'_, ()> {
            let answers = self.answers.load(Ordering::Relaxed);
            Box::pin(async move {
                if answers {
                    return Ok(());
                }
                Err(StoreError("no answer".to_owned()))
            })
        }

        fn name(&self) -> String {
            "late".to_owned()
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    /// Times that no test reaches.
    const TIMES: ClientTimes = ClientTimes {
        idle: MINUTE,
        keep_alive: MINUTE,
    };

    async fn get(address: SocketAddr, path: &str) -> String {
        let mut connection = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).await.unwrap();
        response
    }

    /// Probes of a container use this listener.
    #[tokio::test]
    async fn listener_for_metrics_is_served_meanwhile() {
        let late = Arc::new(LateStore::default());
        let store: Arc<dyn SessionStore> = Arc::<LateStore>::clone(&late);
        let listener = || TcpListener::bind("127.0.0.1:0");
        let (clients, metrics) = (listener().await.unwrap(), listener().await.unwrap());
        let address = metrics.local_addr().unwrap();
        let started = tokio::spawn(async move {
            let listeners = Listeners {
                clients: &clients,
                base_path: "",
                metrics: Some(&metrics),
                times: TIMES,
            };
            wait_for_store(&store, listeners).await;
            metrics
        });
        for (path, status) in [("/healthz", 200), ("/readyz", 503), ("/metrics", 200)] {
            let response = get(address, path).await;
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
            assert_eq!(
                response.contains("tool_gateway_store_errors_total "),
                path == "/metrics"
            );
        }
        late.answers.store(true, Ordering::Relaxed);
        let metrics = started.await.unwrap();
        // From now on, the program accepts the connections of the listener, except for one that was accepted at the same time.
        let accepted = async {
            loop {
                let _connection = TcpStream::connect(address).await.unwrap();
                let accepted = tokio::time::timeout(Duration::from_millis(100), metrics.accept());
                if let Ok(accepted) = accepted.await {
                    return accepted;
                }
            }
        };
        let accepted = tokio::time::timeout(MINUTE / 2, accepted).await;
        accepted.expect("the listener is free").unwrap();
    }

    #[tokio::test]
    async fn incomplete_request_does_not_delay_the_start() {
        let late = Arc::new(LateStore::default());
        let store: Arc<dyn SessionStore> = Arc::<LateStore>::clone(&late);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let started = tokio::spawn(async move {
            let listeners = Listeners {
                clients: &listener,
                base_path: "",
                metrics: None,
                times: TIMES,
            };
            wait_for_store(&store, listeners).await;
        });
        let mut incomplete = TcpStream::connect(address).await.unwrap();
        incomplete.write_all(b"GET /v1/messages HT").await.unwrap();
        let response = get(address, "/readyz").await;
        assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
        late.answers.store(true, Ordering::Relaxed);
        let started = tokio::time::timeout(MINUTE / 2, started).await;
        started.expect("the store answers").unwrap();
    }
}
