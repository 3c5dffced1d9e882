//! Sends requests to the upstream.

use std::fmt::Display;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{Method, Request, Response, StatusCode, header};

use super::betas;
use crate::server::access::client_key;
use crate::server::access::hop;
use crate::server::body::idle::IdleTimer;
use crate::server::turns::job::Job;
use crate::server::turns::shared::Shared;
use crate::session::record::SessionId;
use crate::upstream::turn_context::{ThinkingKey, TurnContext};
use crate::upstream::{TurnBody, UpstreamFuture};
use crate::wire::error::ApiError;

/// Sends a client's request with this body to the upstream. An unreachable upstream is an error that clients retry.
pub(crate) async fn send(
    shared: &Shared,
    client_request: Parts,
    body: Bytes,
) -> Result<Response<Body>, ApiError> {
    let is_conditional = is_conditional(&client_request);
    let sent = shared.upstream.send(request(shared, client_request, body, None));
    let response = await_response(shared, is_conditional, sent).await?;
    Ok(response.map(|body| IdleTimer::wrap(body, shared.settings.limits.upstream_idle)))
}

/// Sends a client's request to the upstream, and streams the body.
pub(crate) async fn send_stream(
    shared: &Shared,
    client_request: Parts,
    body: Body,
) -> Result<Response<Body>, ApiError> {
    let is_conditional = is_conditional(&client_request);
    let sent = shared
        .upstream
        .send_stream(request(shared, client_request, body, None));
    let response = await_response(shared, is_conditional, sent).await?;
    Ok(response.map(|body| IdleTimer::wrap(body, shared.settings.limits.upstream_idle)))
}

/// Requests the next message of a turn from the upstream.
pub(super) async fn turn(shared: &Shared, job: &Job, body: Bytes) -> Result<Response<TurnBody>, ApiError> {
    let client_request = &job.parts;
    // The parts are copied, since a turn may send further requests to the upstream.
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = client_request.method.clone();
    parts.uri = client_request.uri.clone();
    parts.headers = client_request.headers.clone();
    let sent = shared
        .upstream
        .turn(request(shared, parts, body, Some(&job.session)));
    await_response(shared, is_conditional(client_request), sent).await
}

/// Builds the upstream request: the client's request with this body, without the client's key for the gateway. `session` is the session of a
/// turn.
fn request<B>(shared: &Shared, client_request: Parts, body: B, session: Option<&SessionId>) -> Request<B> {
    let Parts {
        method,
        uri,
        mut headers,
        ..
    } = client_request;
    let hops = hop::hops(&headers) + 1;
    // The body has another length. The removed header leaves room for the inserted one.
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(hop::HOP, hops.into());
    betas::remove(&mut headers, &shared.settings.upstream.remove_betas);
    if !shared.keys.is_empty() {
        client_key::remove_key(&shared.secret, &shared.keys, &mut headers);
    }
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    if !shared.upstream.passes_messages() {
        request.extensions_mut().insert(TurnContext {
            thinking_key: ThinkingKey(shared.secret.thinking_key()),
            session: session.map(ToString::to_string),
            eager_streaming: shared.settings.client_tools.eager_streaming,
        });
    }
    request
}

/// Waits for the response, up to the idle timeout of the upstream.
async fn await_response<B>(
    shared: &Shared,
    is_conditional: bool,
    response: UpstreamFuture<'_, B>,
) -> Result<Response<B>, ApiError> {
    let warn = |error: &dyn Display| {
        tracing::warn!(upstream = shared.upstream.name(), %error, "the upstream request failed");
    };
    let idle = shared.settings.limits.upstream_idle;
    match tokio::time::timeout(idle, response).await {
        Ok(Ok(response)) if is_of_the_api(is_conditional, response.status()) => Ok(response),
        Ok(Ok(response)) => {
            let status = response.status().as_u16();
            let message = format!(
                "invalid status {status} of the upstream; expected a response of the API; check `upstream.url`"
            );
            warn(&message);
            Err(ApiError::new(StatusCode::BAD_GATEWAY, message))
        }
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

/// Returns whether a status may be forwarded as the response of an API. A redirect would lead the client past the gateway, and status 101
/// would change the protocol of its connection. Status 304 is valid only for a conditional request.
fn is_of_the_api(is_conditional: bool, status: StatusCode) -> bool {
    match status {
        StatusCode::NOT_MODIFIED => is_conditional,
        _ => !status.is_informational() && !status.is_redirection(),
    }
}

/// Returns whether a request may be answered with 304.
fn is_conditional(client_request: &Parts) -> bool {
    let mut conditions = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE].into_iter();
    client_request.method == Method::GET && conditions.any(|name| client_request.headers.contains_key(name))
}
