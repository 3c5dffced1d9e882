//! [`HttpServer`]: a server that is reached over HTTP.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, Version, header};
#[cfg(feature = "mcp")]
use bytes::Bytes;
#[cfg(feature = "mcp")]
use http_body_util::{Either, Full};
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
        let api_key = api_key.map(|key| ApiKey::new(&key)).transpose()?;
        Self::with_base(BaseUrl::parse(base_url)?, api_key)
    }

    /// Creates a server for the URL of an MCP server. Requests have the path of this URL, and the headers that they need.
    #[cfg(feature = "mcp")]
    pub(in crate::upstream) fn at_origin(url: &str) -> Result<Self, InvalidUpstream> {
        Self::with_base(BaseUrl::parse_origin(url)?, None)
    }

    fn with_base(base: BaseUrl, api_key: Option<ApiKey>) -> Result<Self, InvalidUpstream> {
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

    /// Checks the URL of an MCP server.
    #[cfg(feature = "mcp")]
    pub(in crate::upstream) fn check_origin(url: &str) -> Result<(), InvalidUpstream> {
        BaseUrl::parse_origin(url).map(|_| ())
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
        self.exchange(request).await.map_err(|error| match error {
            ExchangeError::Path(uri) => {
                UpstreamError::new(format!("the path {uri} cannot be requested from {}", self.base))
            }
            ExchangeError::Address(error) => UpstreamError::new(format!("{}: {error}", self.base)),
            ExchangeError::Send(error) => self.no_response(&error),
            ExchangeError::Proxy => UpstreamError::new(format!(
                "the upstream {} cannot be reached: {PROXY_AUTHORIZATION}",
                self.base
            )),
        })
    }

    /// Sends a request at most once, also if the server closes a reused connection.
    #[cfg(feature = "mcp")]
    pub(in crate::upstream) async fn send_once(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Body>, SendOnceError> {
        // The pool repeats only requests whose bodies it can copy.
        let request = request.map(|body| Either::Right(Body::new(body)));
        self.exchange(request).await.map_err(|error| match error {
            ExchangeError::Path(uri) => SendOnceError::unsent(format!("invalid path {uri}")),
            ExchangeError::Address(error) => SendOnceError::unsent(error),
            ExchangeError::Send(SendError::Connecting(error)) => {
                SendOnceError::unsent(first_cause(error.as_ref()))
            }
            ExchangeError::Send(SendError::NoResponse(error)) => SendOnceError {
                reason: first_cause(&error),
                is_sent: true,
            },
            ExchangeError::Proxy => SendOnceError::unsent(PROXY_AUTHORIZATION.to_owned()),
        })
    }

    async fn exchange(&self, request: Request<RequestBody>) -> Result<Response<Body>, ExchangeError> {
        let (mut parts, body) = request.into_parts();
        let path = self.base.join(&parts.uri);
        let path = path.ok_or_else(|| ExchangeError::Path(parts.uri.clone()))?;
        self.prepare(parts.uri.path(), &mut parts.headers);
        parts.uri = path.into();
        if let Some((proxy, server)) = &self.proxy {
            let addressed = proxy.address(server, &mut parts);
            addressed.map_err(|error| ExchangeError::Address(error.to_string()))?;
        }
        parts.version = Version::HTTP_11;
        parts.extensions.clear();
        let request = Request::from_parts(parts, body);
        let mut response = self.pool.send(request).await.map_err(ExchangeError::Send)?;
        if self.proxy.is_some() && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // The response of the proxy would ask the client for the operator's credentials.
            return Err(ExchangeError::Proxy);
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

/// Fact about a proxy of the environment, for errors of the HTTPS connector.
const PROXY_AUTHORIZATION: &str = "the proxy of the environment: proxy authorization required";

/// Error of an exchange.
enum ExchangeError {
    /// The target of the request has no path.
    Path(Uri),
    /// The request cannot be addressed to the proxy.
    Address(String),
    Send(SendError),
    /// The proxy has refused the request.
    Proxy,
}

/// Error of a request that is sent at most once.
#[cfg(feature = "mcp")]
pub(in crate::upstream) struct SendOnceError {
    pub(in crate::upstream) reason: String,
    pub(in crate::upstream) is_sent: bool,
}

#[cfg(feature = "mcp")]
impl SendOnceError {
    fn unsent(reason: String) -> Self {
        Self {
            reason,
            is_sent: false,
        }
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
