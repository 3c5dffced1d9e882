//! Error responses in the form of the Messages API.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};

use super::context::ContextError;
use super::correction::Correction;
use super::failure::ChatFailure;
use super::headers;
use crate::wire::error::ApiError;
use crate::wire::object::Object;

/// Maximum size of an error response, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// Credential of the request, which decides who has to act after a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::upstream::openai) enum Credential {
    /// The gateway's key.
    Gateway,
    /// The client's key.
    Client,
    None,
}

/// An error response of the server.
#[derive(Debug)]
pub(in crate::upstream::openai) struct RejectedRequest {
    status: StatusCode,
    headers: HeaderMap,
    failure: ChatFailure,
}

impl RejectedRequest {
    /// Reads an error response.
    pub(in crate::upstream::openai) async fn read(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let body = Limited::new(body, MAX_ERROR).collect().await;
        let text = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned());
        let mut failure = ChatFailure::parse(&text.unwrap_or_default());
        failure.status = Some(head.status);
        if failure.message.is_empty() {
            failure.message = format!("the upstream answered with the status {}", head.status);
        }
        Self {
            status: head.status,
            headers: head.headers,
            failure,
        }
    }

    /// Returns the change with which the request may be accepted.
    pub(in crate::upstream::openai) fn correction(
        &self,
        body: &str,
        fits_max_tokens: bool,
    ) -> Option<Correction> {
        Correction::new(self.status, &self.failure, body, fits_max_tokens)
    }

    /// Rewrites the message of a prompt that is too long. `body` is the rejected request.
    pub(in crate::upstream::openai) fn explain_context(&mut self, body: &str) {
        let error =
            ContextError::read(&self.failure).filter(|_| matches!(self.status.as_u16(), 400 | 413 | 422));
        let Some(error) = error else { return };
        let request = Object::from_json(body);
        let field = |name: &str| request?.get(name)?.parse().ok();
        let max_tokens = field("max_tokens").or_else(|| field("max_completion_tokens"));
        self.failure.message = error.message(&self.failure.message, max_tokens);
    }

    /// Converts the response for the client.
    pub(in crate::upstream::openai) fn into_response(self, credential: Credential) -> Response<Body> {
        let mut headers = headers::for_client(&self.headers);
        let mut status = self.failure.client_status(self.status);
        let mut message = self.failure.message.clone();
        let refused = match credential {
            Credential::Gateway => Some("the upstream refused the gateway's key"),
            Credential::None => Some("the upstream refused a request without a key"),
            Credential::Client => None,
        };
        if let (401 | 403, Some(refused)) = (self.status.as_u16(), refused) {
            status = StatusCode::BAD_GATEWAY;
            refused.clone_into(&mut message);
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        let error = ApiError::new(status, message).with_details(self.failure.details());
        error_response(&error, headers)
    }
}

/// Returns the response to a request that failed.
pub(in crate::upstream::openai) fn error_response(
    error: &ApiError,
    mut headers: HeaderMap,
) -> Response<Body> {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut response = Response::new(Body::from(error.body().to_string()));
    *response.status_mut() = error.status;
    *response.headers_mut() = headers;
    response
}
