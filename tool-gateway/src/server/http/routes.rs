//! The routes, and the handlers of those that need no session.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::handler::Handler as _;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde_json::json;

use super::messages;
use crate::server::access::client_key::authenticate;
use crate::server::admit::admission::{admitted, limited};
use crate::server::admit::guard::{GuardedRoute, guard};
use crate::server::admit::request_body::read_text;
use crate::server::drive::forward;
use crate::server::openai::repairing;
use crate::server::turns::shared::Shared;
use crate::session::principal::Principal;
use crate::wire::error::ApiError;

/// All routes of a gateway.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let routes = [
        ("/v1/messages", post(messages::messages)),
        ("/v1/messages/count_tokens", post(messages::count_tokens)),
        ("/v1/chat/completions", post(repairing::chat_completions)),
        ("/v1/responses", post(repairing::responses)),
        ("/v1/models", get(forwarded)),
        ("/v1/models/{id}", get(forwarded)),
        ("/v1/tools", get(tools)),
        ("/healthz", get(health)),
        ("/readyz", get(ready)),
        ("/metrics", get(metrics)),
        ("/", get(root)),
    ];
    let guarded = |path| {
        let shared = Arc::clone(&shared);
        middleware::from_fn_with_state(GuardedRoute { shared, path }, guard)
    };
    let mut all = Router::new();
    for (path, methods) in routes {
        all = all.route(path, methods.fallback(not_allowed).layer(guarded(path)));
    }
    // All unknown paths count as one route.
    all.fallback(not_found.layer(guarded("unknown")))
        .with_state(shared)
}

/// What the upstream answers unchanged, within the limits of the client: `GET /v1/models`.
async fn forwarded(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, ApiError> {
    limited(shared, request, forward_unchanged).await
}

async fn forward_unchanged(
    shared: Arc<Shared>,
    _: Principal,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = read_text(&shared, request).await?;
    forward::send(&shared, &parts, body.into()).await
}

/// `GET /v1/tools`: what the gateway offers, as a client may declare it.
async fn tools(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Result<Response, ApiError> {
    authenticate(&shared.secret, &shared.keys, &headers)?;
    Ok(Json(json!({ "data": shared.definitions(), "has_more": false })).into_response())
}

async fn health() -> &'static str {
    "ok\n"
}

/// Whether new requests are admitted.
async fn ready(State(shared): State<Arc<Shared>>) -> Result<&'static str, ApiError> {
    admitted(&shared).map(|()| "ok\n")
}

async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Result<Response, ApiError> {
    authenticate(&shared.secret, &shared.keys, &headers)?;
    let size = shared.store.size().await.ok().flatten();
    let headers = [(
        "content-type",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
    )];
    Ok((headers, shared.metrics.render(size)).into_response())
}

/// Clients look whether anyone is there.
async fn root() -> &'static str {
    "tool-gateway\n"
}

async fn not_found(request: Request) -> ApiError {
    let message = format!(
        "`{}` is not served; POST /v1/messages, /v1/chat/completions and /v1/responses are, and GET /v1/tools",
        request.uri().path()
    );
    ApiError::new(StatusCode::NOT_FOUND, message)
}

async fn not_allowed(request: Request) -> ApiError {
    let message = format!(
        "`{}` is not served with {}",
        request.uri().path(),
        request.method()
    );
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}
