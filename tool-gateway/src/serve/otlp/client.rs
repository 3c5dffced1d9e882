//! [`OtlpClient`]: sends exported spans to the collector.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;

use crate::upstream::transport::connector::Connector;
use crate::upstream::transport::first_cause::first_cause;

/// An HTTP client on the program's runtime, since the exporter's thread has no runtime.
pub(super) struct OtlpClient {
    client: Client<Connector, Full<Bytes>>,
    runtime: Handle,
    timeout: Duration,
}

/// Maximum size of a collector's response in bytes.
const MAX_RESPONSE_BYTES: usize = 4 << 20;

impl OtlpClient {
    pub(super) fn new(runtime: Handle, timeout: Duration) -> Result<Self, rustls::Error> {
        let client = Client::builder(TokioExecutor::new()).build(Connector::new(true)?);
        Ok(Self {
            client,
            runtime,
            timeout,
        })
    }
}

impl HttpClient for OtlpClient {
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        let (client, timeout) = (self.client.clone(), self.timeout);
        let exchange = async move {
            let (head, body) = client.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        let sent = async move {
            let sent: Result<_, HttpError> = match tokio::time::timeout(timeout, exchange).await {
                Ok(sent) => sent,
                Err(_) => Err(format!("no response within {} s", timeout.as_secs_f64()).into()),
            };
            // The exporter logs that an export failed, but not the cause.
            if let Err(error) = &sent {
                tracing::warn!(
                    error = first_cause(&**error),
                    "the collector did not accept the spans"
                );
            }
            sent
        };
        let sent = self.runtime.spawn(sent);
        Box::pin(async { sent.await? })
    }
}

impl fmt::Debug for OtlpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtlpClient")
    }
}
