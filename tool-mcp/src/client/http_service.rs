//! [`HttpService`]: the HTTP client of the program, of any type.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use tower_service::Service;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Body of a response.
pub(crate) type HttpBody = UnsyncBoxBody<Bytes, BoxError>;

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<HttpBody>, BoxError>> + Send>>;

/// Error of an HTTP client for a request that was not sent. A model is then advised to try the call again; the effect of other failed
/// calls is unknown.
///
/// A refused connection and an unreachable network are recognized as such: an [`io::Error`] among the sources of an error. An HTTP client
/// wraps other errors, for example of name resolution and of TLS.
#[derive(Debug)]
pub struct NotSent(BoxError);

impl NotSent {
    /// Wraps the error of a request that was not sent.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for NotSent {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Failed exchange.
#[derive(Debug)]
pub(crate) struct HttpError {
    /// First cause.
    pub(crate) reason: String,
    pub(crate) is_sent: bool,
}

impl HttpError {
    fn new(error: &BoxError) -> Self {
        let mut cause: &(dyn Error + 'static) = &**error;
        let mut is_sent = true;
        loop {
            let is_unsent = cause.is::<NotSent>()
                || cause.downcast_ref::<io::Error>().is_some_and(|error| {
                    matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionRefused
                            | io::ErrorKind::HostUnreachable
                            | io::ErrorKind::NetworkUnreachable
                    )
                });
            is_sent &= !is_unsent;
            let Some(source) = cause.source() else { break };
            cause = source;
        }
        Self {
            reason: cause.to_string(),
            is_sent,
        }
    }
}

/// HTTP client of the program.
#[derive(Clone)]
pub(crate) struct HttpService(Arc<dyn Fn(Request<Full<Bytes>>) -> ResponseFuture + Send + Sync>);

impl HttpService {
    pub(crate) fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = Mutex::new(service);
        Self(Arc::new(move |request| {
            let mut service = service.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Box::pin(async move {
                poll_fn(|cx| service.poll_ready(cx)).await.map_err(Into::into)?;
                let response = service.call(request).await.map_err(Into::into)?;
                Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
            })
        }))
    }

    /// Sends a request, and waits for the head of the response.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<HttpBody>, HttpError> {
        (self.0)(request).await.map_err(|error| HttpError::new(&error))
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_whether_a_request_was_sent() {
        let io = |kind| BoxError::from(io::Error::new(kind, "reason"));
        for (error, is_sent) in [
            (io(io::ErrorKind::ConnectionRefused), false),
            (io(io::ErrorKind::ConnectionReset), true),
            (BoxError::from("reason"), true),
            (NotSent::new("reason").into(), false),
            (NotSent::new(io(io::ErrorKind::ConnectionReset)).into(), false),
        ] {
            let found = HttpError::new(&error);
            assert_eq!(
                (found.is_sent, found.reason.as_str()),
                (is_sent, "reason"),
                "{error:?}"
            );
        }
    }
}
