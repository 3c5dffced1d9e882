//! Refuses what no client of the API sends: web pages of other origins, other hosts, and the gateway's own requests. Counts all.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::server::access::hop::{MAX_HOPS, hops};
use crate::server::turns::shared::Shared;
use crate::wire::error::ApiError;

/// The gateway, and the path of a route in it.
#[derive(Debug, Clone)]
pub(crate) struct GuardedRoute {
    pub(crate) shared: Arc<Shared>,
    /// The gateway's own: axum's `MatchedPath` has the prefix of the router that this one is nested in, too.
    pub(crate) path: &'static str,
}

pub(crate) async fn guard(State(route): State<GuardedRoute>, request: Request, next: Next) -> Response {
    let GuardedRoute { shared, path } = route;
    let began = Instant::now();
    let response = match check(&shared, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let status = response.status().as_u16();
    shared.metrics.answered(path, status, began.elapsed());
    response
}

fn check(shared: &Shared, headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| {
        headers
            .get(name)
            .map(|value: &axum::http::HeaderValue| value.to_str().unwrap_or("?"))
    };
    if hops(headers) >= MAX_HOPS {
        let message = "this request has passed several gateways; the upstream of one of them is a gateway before it: set its --upstream";
        return Err(ApiError::new(StatusCode::LOOP_DETECTED, message));
    }
    if shared.settings.any_host {
        return Ok(());
    }
    // Without a `Host`, as in HTTP/1.0, there is no browser.
    if let Some(host) = text(header::HOST).filter(|host| !is_loopback(host)) {
        let message = format!(
            "the host `{host}` is not served, only loopback addresses are; with client keys, the gateway can serve any host (`Gateway::with_any_host`)"
        );
        return Err(ApiError::new(StatusCode::FORBIDDEN, message));
    }
    let origin = text(header::ORIGIN);
    let authority = |origin: &str| origin.split_once("://").map(|(_, rest)| rest.to_owned());
    if let Some(origin) = origin.filter(|origin| !authority(origin).is_some_and(|host| is_loopback(&host))) {
        let message = format!("requests of web pages from `{origin}` are not served");
        return Err(ApiError::new(StatusCode::FORBIDDEN, message));
    }
    Ok(())
}

/// Whether a `Host`, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_loopback_addresses_are_this_machine() {
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]",
            "[::1]:80",
            "LOCALHOST",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "example.com",
            "127.0.0.1.example.com",
            "localhost.example.com:80",
            "10.0.0.1",
            "",
            "?",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
