//! Proxies of the environment: [`ProxyConnector`] for HTTPS, and [`HttpProxy`] for HTTP.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::uri::Scheme;
use axum::http::{HeaderValue, Uri, header, request};
use futures_util::TryFutureExt as _;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::first_cause::first_cause;
use super::invalid::InvalidUpstream;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Connector for TCP. HTTPS connections use the proxy in `HTTPS_PROXY` or `ALL_PROXY`, except to hosts in `NO_PROXY`; HTTP connections are
/// direct, also to an [`HttpProxy`].
#[derive(Clone)]
pub(super) struct ProxyConnector {
    tcp: HttpConnector,
    matcher: Arc<Matcher>,
}

impl ProxyConnector {
    pub(super) fn new(tcp: HttpConnector) -> Self {
        Self {
            tcp,
            matcher: Arc::new(Matcher::from_env()),
        }
    }

    fn proxy(&self, url: &Uri) -> Option<Intercept> {
        if url.scheme() != Some(&Scheme::HTTPS) {
            return None;
        }
        self.matcher.intercept(url)
    }
}

impl Service<Uri> for ProxyConnector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let Some(proxy) = self.proxy(&url) else {
            return Box::pin(self.tcp.call(url).map_err(Into::into));
        };
        if proxy.uri().scheme() != Some(&Scheme::HTTP) {
            // The URL may have a password.
            let message = "unsupported proxy; set HTTPS_PROXY to a URL with the scheme `http`";
            return Box::pin(async move { Err(io::Error::other(message).into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp.clone());
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        Box::pin(tunnel.call(url).map_err(|error| {
            let error = first_cause(&error);
            io::Error::other(format!("the proxy of the environment: {error}")).into()
        }))
    }
}

/// Proxy for requests to an HTTP server, which have the URL of the server (RFC 9112 § 3.2.2).
pub(super) struct HttpProxy {
    uri: Uri,
    authorization: Option<HeaderValue>,
}

impl HttpProxy {
    /// Returns the proxy in `HTTP_PROXY` or `ALL_PROXY` for a server, except for hosts in `NO_PROXY` and for this machine, whose servers of
    /// models no other machine reaches.
    pub(super) fn from_environment(server: &Uri) -> Result<Option<Self>, InvalidUpstream> {
        let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_loopback = |address: IpAddr| address.is_loopback() || address.is_unspecified();
        if host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_loopback) {
            return Ok(None);
        }
        let Some(proxy) = Matcher::from_env().intercept(server) else {
            return Ok(None);
        };
        if proxy.uri().scheme() != Some(&Scheme::HTTP) {
            // The URL may have a password.
            let message = "unsupported proxy; set HTTP_PROXY to a URL with the scheme `http`, or add the upstream's host to NO_PROXY";
            return Err(InvalidUpstream(message.to_owned()));
        }
        Ok(Some(Self {
            uri: proxy.uri().clone(),
            authorization: proxy.basic_auth().cloned(),
        }))
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Addresses a request with the path `uri` to the server behind the proxy.
    pub(super) fn address(&self, server: &Uri, parts: &mut request::Parts) -> Result<(), axum::http::Error> {
        let mut target = Uri::builder().scheme(Scheme::HTTP);
        if let Some(authority) = server.authority() {
            target = target.authority(authority.clone());
        }
        if let Some(path) = parts.uri.path_and_query() {
            target = target.path_and_query(path.clone());
        }
        parts.uri = target.build()?;
        if let Some(authorization) = &self.authorization {
            parts
                .headers
                .insert(header::PROXY_AUTHORIZATION, authorization.clone());
        }
        Ok(())
    }
}
