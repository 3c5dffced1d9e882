//! Sends requests to the upstream.

use std::fmt::Display;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};

use crate::server::access::client_key;
use crate::server::access::hop;
use crate::server::body::idle::IdleBody;
use crate::server::turns::shared::Shared;
use crate::wire::error::ApiError;

/// Sends a client's request to the upstream with this body; that it cannot be reached is an error that clients retry.
pub(crate) async fn send(
    shared: &Shared,
    client_request: &Parts,
    body: Bytes,
) -> Result<Response<Body>, ApiError> {
    let mut request = Request::new(body);
    *request.method_mut() = client_request.method.clone();
    *request.uri_mut() = client_request.uri.clone();
    *request.headers_mut() = client_request.headers.clone();
    let hops = hop::hops(&client_request.headers) + 1;
    request.headers_mut().insert(hop::HOP, hops.into());
    if !shared.keys.is_empty() {
        // It is for the gateway, and none of the upstream's business.
        client_key::remove_key(&shared.secret, &shared.keys, request.headers_mut());
    }
    let warn = |error: &dyn Display| {
        tracing::warn!(upstream = shared.upstream.name(), %error, "no response of the upstream");
    };
    let idle = shared.upstream_idle;
    match tokio::time::timeout(idle, shared.upstream.send(request)).await {
        Ok(Ok(response)) => Ok(response.map(|body| IdleBody::wrap(body, idle))),
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

/// Whether a response is a stream of events.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    has_type(headers, "text/event-stream")
}

/// Whether a body is of this media type, whatever its parameters.
pub(crate) fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|sent| sent.to_str().ok());
    let media_type = sent.and_then(|sent| sent.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(wanted))
}

/// How many bytes of a response are kept: an upstream must not fill the memory. No stored record is larger.
pub(crate) const MAX_RESPONSE: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_compared_whole_and_without_case() {
        for (sent, expected) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            (" Application/JSON ;charset=utf-8", true),
            ("application/json-seq", false),
            ("application/jsonl", false),
            ("text/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, sent.parse().unwrap())]);
            assert_eq!(has_type(&headers, "application/json"), expected, "{sent}");
        }
        assert!(!has_type(&HeaderMap::new(), "application/json"));
    }
}
