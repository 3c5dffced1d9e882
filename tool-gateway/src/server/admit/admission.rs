//! Which requests are answered: those of clients that are served, within their limits, until the gateway is stopped.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::server::access::client_key::authenticate;
use crate::server::body::flushed::FlushedBody;
use crate::server::body::holding::HoldingBody;
use crate::server::turns::shared::Shared;
use crate::session::principal::Principal;
use crate::wire::error::ApiError;

/// Answers a request of a client that is served, within its limits.
pub(crate) async fn limited<F: Future<Output = Result<Response, ApiError>>>(
    shared: Arc<Shared>,
    request: Request,
    answer: impl FnOnce(Arc<Shared>, Principal, Request) -> F,
) -> Result<Response, ApiError> {
    admitted(&shared)?;
    let principal = authenticate(&shared.secret, &shared.keys, request.headers())?;
    let metrics = shared.metrics.clone();
    match shared.client_limits.admit(&shared.settings.limits, &principal) {
        Ok(permit) => {
            let response = answer(shared, principal, request).await?;
            Ok(response.map(|body| HoldingBody::wrap(FlushedBody::wrap(body), permit)))
        }
        Err(refused) => {
            metrics.requests_limited.inc();
            Ok(refused.into_response())
        }
    }
}

/// Whether new requests are admitted.
pub(crate) fn admitted(shared: &Shared) -> Result<(), ApiError> {
    if shared.closing.is_cancelled() {
        let message = "the gateway is being stopped; send the request to another, or later";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message));
    }
    Ok(())
}
