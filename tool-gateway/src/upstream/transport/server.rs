//! [`HttpServer`]: a server that is reached over HTTP.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, Version, header};
use secrecy::SecretString;

use super::api_key::ApiKey;
use super::base_url::BaseUrl;
use super::connection::RequestBody;
use super::connector::Connector;
use super::first_cause::first_cause;
use super::gzip;
use super::hop_by_hop::remove_hop_by_hop;
use super::invalid::InvalidUpstream;
use super::pool::{Pool, SendError};
use super::proxy::HttpProxy;
use crate::upstream::error::UpstreamError;

/// A server of Anthropic's or `OpenAI`'s APIs, connected over HTTP/1.1 with pooled connections.
pub(in crate::upstream) struct HttpServer {
    pool: Pool,
    host: HeaderValue,
    base: BaseUrl,
    api_key: Option<ApiKey>,
    /// Environment variable with the key, for the log.
    key_variable: Option<String>,
    /// Proxy of the environment with the URI of the server, for HTTP.
    proxy: Option<(HttpProxy, Uri)>,
}

impl HttpServer {
    /// Creates a server from a base URL. A key replaces the client's credentials.
    pub(in crate::upstream) fn new(
        base_url: &str,
        api_key: Option<SecretString>,
    ) -> Result<Self, InvalidUpstream> {
        let base = BaseUrl::parse(base_url)?;
        let api_key = api_key.map(|key| ApiKey::new(&key)).transpose()?;
        let connector = Connector::new(base.is_https())
            .map_err(|error| InvalidUpstream(format!("TLS cannot be set up for {base}: {error}")))?;
        let (server, host) = base.server()?;
        let proxy = if base.is_https() {
            None
        } else {
            HttpProxy::from_environment(&server)?
        };
        let connected = proxy.as_ref().map_or(&server, HttpProxy::uri).clone();
        Ok(Self {
            pool: Pool::new(connector, connected),
            proxy: proxy.map(|proxy| (proxy, server)),
            host,
            base,
            api_key,
            key_variable: None,
        })
    }

    /// Returns whether requests are sent with the gateway's key, and not with the client's credentials.
    pub(in crate::upstream) fn has_api_key(&self) -> bool {
        self.api_key.is_some()
    }

    /// Sends the key to every API as `authorization: Bearer`.
    pub(in crate::upstream) fn set_bearer(&mut self) {
        if let Some(key) = &mut self.api_key {
            key.set_bearer();
        }
    }

    /// Sets the environment variable with the key, which the log names if the server refuses the key.
    pub(in crate::upstream) fn set_key_variable(&mut self, variable: String) {
        self.key_variable = Some(variable);
    }

    /// Checks a base URL without creating a server.
    pub(in crate::upstream) fn check(base_url: &str) -> Result<(), InvalidUpstream> {
        BaseUrl::parse(base_url).map(|_| ())
    }

    /// Returns whether requests would arrive at this address of this machine.
    pub(in crate::upstream) async fn connects_to(&self, listener: SocketAddr) -> bool {
        let port = self.base.port();
        if port != listener.port() {
            return false;
        }
        // IPv6 addresses have brackets in a URL.
        let host = self.base.authority.host().trim_matches(['[', ']']);
        let Ok(mut addresses) = tokio::net::lookup_host((host, port)).await else {
            return false;
        };
        addresses.any(|address| accepts(listener.ip(), address.ip()))
    }

    /// Sends a request to the server. The path and query of the request are appended to the base URL.
    pub(in crate::upstream) async fn send(
        &self,
        request: Request<RequestBody>,
    ) -> Result<Response<Body>, UpstreamError> {
        let (mut parts, body) = request.into_parts();
        let path = self.base.join(&parts.uri).ok_or_else(|| {
            UpstreamError::new(format!(
                "the path {} cannot be requested from {}",
                parts.uri, self.base
            ))
        })?;
        self.prepare(parts.uri.path(), &mut parts.headers);
        parts.uri = path.into();
        if let Some((proxy, server)) = &self.proxy {
            let addressed = proxy.address(server, &mut parts);
            addressed.map_err(|error| UpstreamError::new(format!("{}: {error}", self.base)))?;
        }
        parts.version = Version::HTTP_11;
        parts.extensions.clear();
        let request = Request::from_parts(parts, body);
        let response = self.pool.send(request).await;
        let mut response = response.map_err(|error| self.no_response(&error))?;
        if self.proxy.is_some() && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // The words of the connector of HTTPS. The response of the proxy would ask the client for the operator's credentials.
            let error = "the proxy of the environment: proxy authorization required";
            return Err(UpstreamError::new(format!(
                "the upstream {} cannot be reached: {error}",
                self.base
            )));
        }
        self.warn_of_refused_key(response.status());
        // The client's connection may have another HTTP version.
        *response.version_mut() = Version::HTTP_11;
        remove_hop_by_hop(response.headers_mut());
        Ok(gzip::decode(response))
    }

    fn prepare(&self, path: &str, headers: &mut HeaderMap) {
        remove_hop_by_hop(headers);
        // The gateway has already received the body, and has answered `Expect`.
        for name in [header::CONTENT_LENGTH, header::EXPECT] {
            headers.remove(name);
        }
        headers.insert(header::HOST, self.host.clone());
        // The gateway reads responses, so they must not be compressed.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(key) = &self.api_key {
            key.replace_credentials(path, headers);
        }
    }

    /// Logs that the server refused the gateway's key. The operator has to act, and clients only see an error.
    fn warn_of_refused_key(&self, status: StatusCode) {
        let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if is_refused && self.api_key.is_some() {
            tracing::warn!(
                upstream = %self.base,
                variable = self.key_variable,
                status = status.as_u16(),
                "the upstream refused the gateway's key"
            );
        }
    }

    fn no_response(&self, error: &SendError) -> UpstreamError {
        let failure = match error {
            SendError::Connecting(_) => "cannot be reached",
            SendError::NoResponse(_) => "did not answer",
        };
        let cause = first_cause(error.as_error());
        UpstreamError::new(format!("the upstream {} {failure}: {cause}", self.base))
    }
}

/// The base URL.
impl fmt::Display for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.fmt(f)
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer")
            .field("base_url", &self.to_string())
            .field("has_api_key", &self.api_key.is_some())
            .finish_non_exhaustive()
    }
}

/// Returns whether a listener accepts requests that are sent to an address.
fn accepts(listener: IpAddr, address: IpAddr) -> bool {
    let (listener, address) = (listener.to_canonical(), address.to_canonical());
    // As a destination, `0.0.0.0` is this machine.
    let address = if address.is_unspecified() {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    } else {
        address
    };
    if listener.is_unspecified() {
        // Only a machine's own addresses can be bound.
        return address.is_loopback() || UdpSocket::bind((address, 0)).is_ok();
    }
    listener == address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn recognizes_its_own_listener() {
        for (base, listener, expected) in [
            ("http://127.0.0.1:80", "127.0.0.1:80", true),
            ("http://127.0.0.1", "127.0.0.1:80", true),
            ("https://127.0.0.1", "127.0.0.1:443", true),
            ("http://0.0.0.0:8080", "127.0.0.1:8080", true),
            ("http://[::1]:8080", "[::]:8080", true),
            ("http://127.0.0.1:8080", "[::]:8080", true),
            ("http://127.0.0.1:8080", "127.0.0.1:8081", false),
            ("http://127.0.0.2:8080", "127.0.0.1:8080", false),
            // TEST-NET-1: no machine has this address.
            ("http://192.0.2.1:8080", "0.0.0.0:8080", false),
        ] {
            let upstream = HttpServer::new(base, None).unwrap();
            let connects = upstream.connects_to(listener.parse().unwrap()).await;
            assert_eq!(connects, expected, "{base} to {listener}");
        }
    }
}
