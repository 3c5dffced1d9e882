//! HTTP and HTTPS connections to an upstream, with one timeout for all steps of connecting.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use tokio::net::TcpStream;
use tower_service::Service;

use super::proxy::{BoxError, ProxyConnector};

/// Maximum time for name resolution, TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Idle time after which the operating system probes the connection. Responses have no timeout here, so these probes detect a machine that
/// has failed.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Connector for HTTP and HTTPS, depending on the URL's scheme. HTTPS trusts the root certificates of Mozilla and of the system, and uses
/// the proxy of the environment.
#[derive(Clone)]
pub(crate) struct Connector {
    https: HttpsConnector<ProxyConnector>,
    timeout: Duration,
}

impl Connector {
    /// Creates a connector. The system's certificates are loaded only for HTTPS.
    pub(crate) fn new(is_https: bool) -> Result<Self, rustls::Error> {
        Self::with_timeout(CONNECT_TIMEOUT, is_https)
    }

    fn with_timeout(timeout: Duration, is_https: bool) -> Result<Self, rustls::Error> {
        let roots = if is_https { roots() } else { RootCertStore::empty() };
        Self::with_roots(roots, timeout)
    }

    fn with_roots(roots: RootCertStore, timeout: Duration) -> Result<Self, rustls::Error> {
        // The provider is named, because other crates may enable several providers in rustls.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEPALIVE));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(ProxyConnector::new(http));
        Ok(Self { https, timeout })
    }
}

/// Returns the trusted certificates: Mozilla's certificates, and the certificates of the system or in the files of `SSL_CERT_FILE` and
/// `SSL_CERT_DIR`. A file that cannot be read is a warning, since Mozilla's certificates may be enough.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "certificates of the system, or of SSL_CERT_FILE or SSL_CERT_DIR, were not loaded");
    }
    roots.add_parsable_certificates(found.certs);
    roots
}

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
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from(certificate)).unwrap();
            Self::with_roots(roots, CONNECT_TIMEOUT).unwrap()
        }
    }

    #[tokio::test]
    async fn timeout_covers_the_tls_handshake() {
        // The listener accepts connections, and never writes.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/", silent.local_addr().unwrap());
        let mut connector = Connector::with_timeout(Duration::from_millis(50), true).unwrap();
        let error = connector.call(url.parse().unwrap()).await.err().unwrap();
        assert_eq!(error.to_string(), "no connection after 0.05 s");
    }
}
