//! Checks of `Host` and `Origin` for a gateway without client keys. They protect the gateway from DNS rebinding and from cross-origin
//! requests of web pages.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use crate::settings::origins::AllowedOrigins;
use crate::wire::error::ApiError;

/// Accepts only loopback hosts, and only origins that are loopback addresses or in `allowed`. If the target of a request is a
/// URL, the host in the URL is checked, too (RFC 9112 § 3.2.2).
pub(super) fn check(target: &Uri, headers: &HeaderMap, allowed: &AllowedOrigins) -> Result<(), ApiError> {
    let texts = |name| {
        let values = headers.get_all(name).into_iter();
        values.map(|value: &HeaderValue| value.to_str().unwrap_or("?"))
    };
    // A request without `Host` is accepted: HTTP/1.0 clients can omit it, and browsers never do.
    let mut hosts = target.host().into_iter().chain(texts(header::HOST));
    if let Some(host) = hosts.find(|host| !is_loopback(host)) {
        let message = format!(
            "unexpected host `{host}`; expected a loopback address (if client keys are configured, any host is accepted)"
        );
        return Err(ApiError::new(StatusCode::FORBIDDEN, message));
    }
    if let Some(origin) = texts(header::ORIGIN).find(|origin| !is_local(origin) && !allowed.allow(origin)) {
        let message = format!(
            "requests from web pages of the origin `{origin}` are refused; to accept them, add the origin to `allowed_origins`"
        );
        return Err(ApiError::new(StatusCode::FORBIDDEN, message));
    }
    Ok(())
}

/// Rejects a request with more than one `Host` header (RFC 9112 § 3.2): the gateway and a proxy in front of it may choose different ones.
pub(super) fn check_one_host(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.get_all(header::HOST).iter().nth(1).is_some() {
        return Err(ApiError::invalid("duplicate header `Host`; send one"));
    }
    Ok(())
}

/// Returns whether the host of an origin is a loopback address.
pub(super) fn is_local(origin: &str) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some_and(is_loopback)
}

/// Returns whether a `Host`, with or without a port, is a loopback address.
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
    fn accepts_only_loopback_addresses() {
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
