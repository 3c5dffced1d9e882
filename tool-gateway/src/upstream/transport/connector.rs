//! HTTP and HTTPS connections to an upstream, with one timeout for all steps of connecting.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Uri;
use hyper_rustls::builderstates::WantsSchemes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

/// Maximum time for name resolution, TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Idle time after which the operating system probes the connection. Responses have no timeout here, so these probes detect a machine that
/// has failed.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Connects over HTTP or HTTPS, depending on the URL. Trusts Mozilla's root certificates.
#[derive(Clone)]
pub(crate) struct Connector {
    https: HttpsConnector<HttpConnector>,
    timeout: Duration,
}

impl Connector {
    pub(crate) fn new() -> Result<Self, rustls::Error> {
        Self::with_timeout(CONNECT_TIMEOUT)
    }

    fn with_timeout(timeout: Duration) -> Result<Self, rustls::Error> {
        // The provider is explicit, since other crates may enable a different one in rustls.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = HttpsConnectorBuilder::new().with_provider_and_webpki_roots(provider)?;
        Ok(Self::with_tls(tls, timeout))
    }

    fn with_tls(tls: HttpsConnectorBuilder<WantsSchemes>, timeout: Duration) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEPALIVE));
        let https = tls.https_or_http().enable_http1().wrap_connector(http);
        Self { https, timeout }
    }
}

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let connecting = self.https.call(url);
        let timeout = self.timeout;
        Box::pin(async move {
            let Ok(connected) = tokio::time::timeout(timeout, connecting).await else {
                let message = format!("no connection after {} s", timeout.as_secs_f64());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message).into());
            };
            connected
        })
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::CertificateDer;

    use super::*;

    impl Connector {
        /// Creates a connector that trusts only this certificate.
        pub(in super::super) fn trusting(certificate: &'static [u8]) -> Self {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(CertificateDer::from(certificate)).unwrap();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();
            let tls = HttpsConnectorBuilder::new().with_tls_config(config);
            Self::with_tls(tls, CONNECT_TIMEOUT)
        }
    }

    #[tokio::test]
    async fn timeout_covers_the_tls_handshake() {
        // The listener accepts connections, and never writes.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/", silent.local_addr().unwrap());
        let mut connector = Connector::with_timeout(Duration::from_millis(50)).unwrap();
        let error = connector.call(url.parse().unwrap()).await.err().unwrap();
        assert_eq!(error.to_string(), "no connection after 0.05 s");
    }
}
