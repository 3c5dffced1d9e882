//! Responds to requests until the session store answers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::connections::{self, ClientTimes};
use crate::session::store::{Reach, SessionStore, StoreError};
use crate::wire::error::ApiError;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until a shared store answers, since its secret is needed before the first request. Meanwhile, requests are answered with 503.
pub(super) async fn wait_for_store(
    store: &Arc<dyn SessionStore>,
    listener: &TcpListener,
    base_path: &str,
    times: ClientTimes,
) {
    if store.reach() != Reach::Shared {
        return;
    }
    match prepare(store).await {
        Ok(()) => return,
        Err(error) => {
            tracing::warn!(%error, store = store.name(), "requests are answered with 503 until the session store answers");
        }
    }
    let answers = async {
        while prepare(store).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    };
    // The connections end on their own: a client that does not complete its request would delay the requests of others.
    let (_answered, answered) = oneshot::channel::<()>();
    if let Ok(listener) = listener_of(listener) {
        let stop = async {
            let _ = answered.await;
        };
        tokio::spawn(connections::serve(listener, router(base_path), times, stop));
    }
    answers.await;
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

/// Returns another listener of the address.
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

fn unavailable() -> impl IntoResponse {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the session store does not answer; retry the request later",
    )
    .with_retry_after(2)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::session::chain::Digest;
    use crate::session::memory::MemoryStore;
    use crate::session::record::{Session, SessionId};
    use crate::session::store::{FoundEntries, Lookup, SaveOutcome, SavedTurn, StoreFuture, StoredTurn};

    /// A shared store that answers from a time on.
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

    #[tokio::test]
    async fn incomplete_request_does_not_delay_the_start() {
        let late = Arc::new(LateStore::default());
        let store: Arc<dyn SessionStore> = Arc::<LateStore>::clone(&late);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let minute = Duration::from_secs(60);
        let times = ClientTimes {
            idle: minute,
            keep_alive: minute,
        };
        let started = tokio::spawn(async move {
            wait_for_store(&store, &listener, "", times).await;
        });
        let mut incomplete = TcpStream::connect(address).await.unwrap();
        incomplete.write_all(b"GET /v1/messages HT").await.unwrap();
        let mut complete = TcpStream::connect(address).await.unwrap();
        let request = b"GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        complete.write_all(request).await.unwrap();
        let mut response = String::new();
        complete.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
        late.answers.store(true, Ordering::Relaxed);
        let started = tokio::time::timeout(minute / 2, started).await;
        started.expect("the store answers").unwrap();
    }
}
