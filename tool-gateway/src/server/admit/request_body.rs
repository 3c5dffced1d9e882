//! Reads the bodies of requests.

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::request::Parts;
use http_body_util::LengthLimitError;

use super::billing_header;
use super::content_encoding::ContentEncoding;
use crate::server::body::idle::{IdleTimeout, IdleTimer};
use crate::server::turns::shared::Shared;
use crate::wire::error::ApiError;

/// Reads the whole body, which must be UTF-8.
pub(crate) async fn read_text(shared: &Shared, request: Request) -> Result<(Parts, String), ApiError> {
    let (mut parts, mut body) = read_bytes(shared, request).await?;
    if let Some(encoding) = ContentEncoding::take(&mut parts.headers)? {
        body = encoding.decompress(body, shared.settings.limits.max_body).await?;
    }
    let body = String::from_utf8(body.into())
        .map_err(|error| ApiError::invalid(format!("the body is not UTF-8: {}", error.utf8_error())))?;
    let body = if shared.settings.upstream.remove_billing_header {
        billing_header::remove(body)
    } else {
        body
    };
    Ok((parts, body))
}

/// Reads the whole body.
pub(crate) async fn read_bytes(shared: &Shared, request: Request) -> Result<(Parts, Bytes), ApiError> {
    let (parts, body) = request.into_parts();
    let body = IdleTimer::wrap(body, shared.settings.limits.client_idle);
    let body = axum::body::to_bytes(body, shared.settings.limits.max_body);
    let time = shared.settings.limits.body_time;
    match tokio::time::timeout(time, body).await {
        Ok(Ok(body)) => Ok((parts, body)),
        Ok(Err(error)) => Err(incomplete(shared.settings.limits.max_body, &error)),
        Err(_) => {
            let message = format!(
                "the request took longer than {} s; retry the request",
                time.as_secs_f64()
            );
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}

/// Returns the error for a request whose body could not be read to its end.
pub(crate) fn incomplete(limit: usize, error: &axum::Error) -> ApiError {
    let mut causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
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
