//! Sends requests to the upstream.

use std::fmt::Display;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{Request, Response, StatusCode};

use crate::server::access::client_key;
use crate::server::access::hop;
use crate::server::body::idle::IdleTimer;
use crate::server::turns::shared::Shared;
use crate::upstream::{TurnBody, UpstreamFuture};
use crate::wire::error::ApiError;

/// Sends a client's request with this body to the upstream. An unreachable upstream is an error that clients retry.
pub(crate) async fn send(
    shared: &Shared,
    client_request: &Parts,
    body: Bytes,
) -> Result<Response<Body>, ApiError> {
    let sent = shared.upstream.send(request(shared, client_request, body));
    let response = answered(shared, sent).await?;
    Ok(response.map(|body| IdleTimer::wrap(body, shared.settings.limits.upstream_idle)))
}

/// Requests the next message of a turn from the upstream.
pub(super) async fn turn(
    shared: &Shared,
    client_request: &Parts,
    body: Bytes,
) -> Result<Response<TurnBody>, ApiError> {
    let sent = shared.upstream.turn(request(shared, client_request, body));
    answered(shared, sent).await
}

/// Builds the upstream request: the client's request with this body, without the client's key for the gateway.
fn request(shared: &Shared, client_request: &Parts, body: Bytes) -> Request<Bytes> {
    let mut request = Request::new(body);
    *request.method_mut() = client_request.method.clone();
    *request.uri_mut() = client_request.uri.clone();
    *request.headers_mut() = client_request.headers.clone();
    let hops = hop::hops(&client_request.headers) + 1;
    request.headers_mut().insert(hop::HOP, hops.into());
    if !shared.keys.is_empty() {
        client_key::remove_key(&shared.secret, &shared.keys, request.headers_mut());
    }
    request
}

/// Waits for the response, up to the idle timeout of the upstream.
async fn answered<B>(shared: &Shared, response: UpstreamFuture<'_, B>) -> Result<Response<B>, ApiError> {
    let warn = |error: &dyn Display| {
        tracing::warn!(upstream = shared.upstream.name(), %error, "no response of the upstream");
    };
    let idle = shared.settings.limits.upstream_idle;
    match tokio::time::timeout(idle, response).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => {
            warn(&error);
            Err(ApiError::new(StatusCode::BAD_GATEWAY, error.to_string()))
        }
        Err(_) => {
            let seconds = idle.as_secs_f64();
            let message = format!("the upstream did not answer within {seconds} s");
            warn(&message);
            Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, message))
        }
    }
}
