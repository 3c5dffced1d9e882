//! Responds to requests until the session store answers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

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
    match listener_of(listener) {
        Ok(listener) => connections::serve(listener, router(base_path), times, answers).await,
        Err(_) => answers.await,
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
