//! `/v1/messages/batches` and `/v1/files`: requests about an account of the upstream, which pass unread in both directions.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use http_body_util::Limited;

use super::path_ids;
use crate::server::admit::request_body::incomplete;
use crate::server::body::idle::IdleTimer;
use crate::server::drive::forward;
use crate::server::turns::shared::Shared;
use crate::wire::error::ApiError;
use crate::wrapped_body::{BodyWrapper, FramePoll, WrappedBody};

pub(super) const BATCHES: &str = "/v1/messages/batches";
pub(super) const FILES: &str = "/v1/files";

/// Passes a request, if its client has a separate account or the operator lets all clients share the gateway's account.
pub(super) async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path();
    if shared.upstream.has_credentials() && !shared.settings.upstream.shared_account {
        let message = format!(
            "`{path}` is off, because all clients would share the batches and files of the gateway's account; \
             set `upstream.shared_account = true` to allow that"
        );
        return Err(ApiError::new(StatusCode::NOT_FOUND, message));
    }
    let prefix = [BATCHES, FILES]
        .into_iter()
        .find(|prefix| path.starts_with(prefix));
    if let Some(prefix) = prefix.filter(|prefix| path != *prefix) {
        parts.uri = path_ids::checked(&format!("{prefix}/"), &parts.uri)
            .ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "invalid id in the path"))?;
    }
    let limit = shared.settings.limits.max_upload;
    let length = parts.headers.get(header::CONTENT_LENGTH);
    let length: Option<usize> = length.and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let error = Arc::new(OnceLock::new());
    let body = Limited::new(IdleTimer::wrap(body, shared.settings.limits.client_idle), limit);
    let upload = Upload {
        limit,
        error: Arc::clone(&error),
    };
    let body = Body::new(WrappedBody::new(Body::new(body), upload));
    let sent = forward::send_stream(&shared, parts, body).await;
    sent.map_err(|failed| error.get().cloned().unwrap_or(failed))
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("the request is larger than {} MiB; send less", limit >> 20);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

/// Keeps the error of a client's body, since the upstream's connection reports another error.
struct Upload {
    limit: usize,
    error: Arc<OnceLock<ApiError>>,
}

impl BodyWrapper<Body> for Upload {
    fn poll_frame(&mut self, body: &mut Body, cx: &mut Context<'_>) -> FramePoll<axum::Error> {
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if let Some(Err(error)) = &frame {
            let _ = self.error.set(incomplete(self.limit, error));
        }
        Poll::Ready(frame)
    }
}
