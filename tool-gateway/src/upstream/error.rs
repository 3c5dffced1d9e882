//! [`UpstreamError`]: the error of a request without a response.

use std::fmt;

use axum::http::StatusCode;

use crate::wire::error::{ApiError, ErrorDetails};
use crate::wire::message::MessageError;

/// Error of an upstream that did not answer, with the reason. The client may retry.
#[derive(Debug)]
pub struct UpstreamError {
    message: String,
    /// The status that the upstream named.
    status: Option<StatusCode>,
    details: Option<ErrorDetails>,
}

impl UpstreamError {
    /// Creates an error with a message for the client. The message must name the upstream and contain no credential.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            status: None,
            details: None,
        }
    }

    /// Sets the status that the upstream named.
    pub(crate) fn with_status(self, status: Option<StatusCode>) -> Self {
        Self { status, ..self }
    }

    /// Returns the status for the client.
    pub(crate) fn status(&self) -> StatusCode {
        self.status.unwrap_or(StatusCode::BAD_GATEWAY)
    }
}

impl From<MessageError> for UpstreamError {
    fn from(error: MessageError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<UpstreamError> for ApiError {
    fn from(error: UpstreamError) -> Self {
        let status = error.status();
        Self {
            details: error.details,
            ..Self::new(status, error.message)
        }
    }
}

impl From<ApiError> for UpstreamError {
    fn from(error: ApiError) -> Self {
        Self {
            message: error.message,
            status: Some(error.status),
            details: error.details,
        }
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UpstreamError {}
