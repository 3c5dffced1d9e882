//! [`ProxyConnector`]: TCP connections, through the proxy of the environment for HTTPS.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::Uri;
use axum::http::uri::Scheme;
use futures_util::TryFutureExt as _;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::first_cause::first_cause;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Connector for TCP. HTTPS connections use the proxy in `HTTPS_PROXY` or `ALL_PROXY`, except to hosts in `NO_PROXY`; HTTP connections are
/// direct.
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
