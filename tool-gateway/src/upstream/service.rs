//! [`Upstream`]: the trait of upstreams.

use std::future::Future;
use std::pin::Pin;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;

use super::error::UpstreamError;

/// A server of the Messages API, or what stands for one. The gateway sends it the client's requests, changed or not, and reads
/// its responses as they arrive.
pub trait Upstream: Send + Sync + 'static {
    /// Sends a request. Of its URI only path and query count, for example `/v1/messages?beta=true`. Its headers are the
    /// client's; the upstream removes those that are for one connection only and adds its own credentials.
    ///
    /// An error status is a response. An error means that there was none.
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_>;

    /// What it is, for the operator: `https://api.anthropic.com`, `script demo.json`. Never a credential.
    fn name(&self) -> String;
}

/// The response, or why there is none.
pub type UpstreamFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Body>, UpstreamError>> + Send + 'a>>;
