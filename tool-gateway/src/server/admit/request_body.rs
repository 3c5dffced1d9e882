//! Reads the bodies of requests.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::request::Parts;
use http_body_util::LengthLimitError;

use super::billing_header;
use super::content_encoding::ContentEncoding;
use crate::server::access::byte_budget::{OverBudget, Reservation};
use crate::server::body::idle::{IdleTimeout, IdleTimer};
use crate::server::turns::shared::Shared;
use crate::session::principal::Principal;
use crate::wire::error::ApiError;
use crate::wrapped_body::{BodyWrapper, FramePoll, WrappedBody};

/// A request whose body was read.
pub(crate) struct ReadRequest<B> {
    pub(crate) parts: Parts,
    pub(crate) body: B,
    /// The bytes of the body in the budget of all bodies, until the body has been digested.
    pub(crate) reserved: Option<Reservation>,
}

/// Reads the whole body, which must be UTF-8.
pub(crate) async fn read_text(shared: &Shared, request: Request) -> Result<ReadRequest<String>, ApiError> {
    let ReadRequest {
        parts,
        body,
        reserved,
    } = read_decompressed(shared, request).await?;
    let body = String::from_utf8(body.into())
        .map_err(|error| ApiError::invalid(format!("the body is not UTF-8: {}", error.utf8_error())))?;
    let body = if shared.settings.upstream.remove_billing_header {
        billing_header::remove(body)
    } else {
        body
    };
    Ok(ReadRequest {
        parts,
        body,
        reserved,
    })
}

/// Reads the whole body, and decompresses the body by its `content-encoding`.
pub(crate) async fn read_decompressed(
    shared: &Shared,
    request: Request,
) -> Result<ReadRequest<Bytes>, ApiError> {
    let ReadRequest {
        mut parts,
        mut body,
        mut reserved,
    } = read_bytes(shared, request).await?;
    if let Some(encoding) = ContentEncoding::take(&mut parts.headers)? {
        let compressed = body.len();
        body = encoding.decompress(body, shared.settings.limits.max_body).await?;
        if let Some(reserved) = &mut reserved {
            reserved.add(body.len().saturating_sub(compressed))?;
        }
    }
    Ok(ReadRequest {
        parts,
        body,
        reserved,
    })
}

/// Reads the whole body. The bytes of the body are reserved as they arrive: a client that only announces many bytes reserves none.
pub(crate) async fn read_bytes(shared: &Shared, request: Request) -> Result<ReadRequest<Bytes>, ApiError> {
    let (parts, body) = request.into_parts();
    let client = parts.extensions.get::<Principal>();
    let reserved = client.map(|client| shared.bodies.begin(client));
    let body = IdleTimer::wrap(body, shared.settings.limits.client_idle);
    let (body, reserved) = match reserved {
        Some(reserved) => {
            // A body that does not fit is not read.
            if let Some(bytes) = body.size_hint().exact() {
                reserved.check(usize::try_from(bytes).unwrap_or(usize::MAX))?;
            }
            let reserved = Arc::new(Mutex::new(reserved));
            let body = WrappedBody::new(body, Reserving(Arc::clone(&reserved)));
            (Body::new(body), Some(reserved))
        }
        None => (body, None),
    };
    let body = axum::body::to_bytes(body, shared.settings.limits.max_body);
    let time = shared.settings.limits.body_time;
    let Ok(body) = tokio::time::timeout(time, body).await else {
        let message = format!(
            "the request took longer than {} s; retry the request",
            time.as_secs_f64()
        );
        return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message));
    };
    let body = body.map_err(|error| incomplete(shared.settings.limits.max_body, &error))?;
    // The body, which had the other reference, was dropped at its end.
    let reserved = reserved.and_then(Arc::into_inner);
    Ok(ReadRequest {
        parts,
        body,
        reserved: reserved.map(|reserved| reserved.into_inner().unwrap_or_else(PoisonError::into_inner)),
    })
}

/// Reserves the bytes of a body as they arrive.
struct Reserving(Arc<Mutex<Reservation>>);

impl BodyWrapper<Body> for Reserving {
    fn poll_frame(&mut self, body: &mut Body, cx: &mut Context<'_>) -> FramePoll<axum::Error> {
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            let mut reserved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(over) = reserved.add(data.len()) {
                return Poll::Ready(Some(Err(axum::Error::new(over))));
            }
        }
        Poll::Ready(frame)
    }
}

/// Returns the error for a request whose body could not be read to its end.
pub(crate) fn incomplete(limit: usize, error: &axum::Error) -> ApiError {
    let mut causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let mut over = causes
        .clone()
        .filter_map(|cause| cause.downcast_ref::<OverBudget>());
    if let Some(over) = over.next() {
        return ApiError::from(*over);
    }
    let found = causes.find_map(|cause| {
        if cause.is::<LengthLimitError>() {
            let limit = limit >> 20;
            let message = format!("the request is larger than {limit} MiB; send less");
            return Some((StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let idle = cause.downcast_ref::<IdleTimeout>()?;
        let message = format!("{idle} within the request; retry the request");
        Some((StatusCode::REQUEST_TIMEOUT, message))
    });
    let (status, message) = found.unwrap_or_else(|| {
        (
            StatusCode::BAD_REQUEST,
            format!("the request was cut off: {error}"),
        )
    });
    ApiError::new(status, message)
}
