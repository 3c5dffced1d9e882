//! [`ApiError`]: an error in the form of the Messages API.

use std::fmt;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

/// An error of the gateway in the form of the Messages API. Errors of an upstream of this API are forwarded unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// Time in seconds after which the client may retry the request.
    pub(crate) retry_after: Option<u64>,
    pub(crate) details: Option<ErrorDetails>,
}

/// Details of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum ErrorDetails {
    /// Status and code of a translated error of the upstream.
    Upstream {
        upstream_status: Option<u16>,
        upstream_code: Option<String>,
    },
    /// The API's details of a request that cannot be part of a message thread. SDKs then send the whole history without a thread.
    UnsupportedThread {
        error_code: &'static str,
        unsupported: [&'static str; 1],
    },
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            retry_after: None,
            details: None,
        }
    }

    /// Sets the time in seconds after which the client may retry the request.
    pub(crate) fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Sets the details of the error.
    pub(crate) fn with_details(mut self, details: ErrorDetails) -> Self {
        self.details = Some(details);
        self
    }

    /// Creates an error with the status 400.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Creates the error of a request of a message thread with tools that the server of the thread cannot run.
    pub(crate) fn unsupported_thread(message: impl Into<String>) -> Self {
        Self::invalid(message).with_details(ErrorDetails::UnsupportedThread {
            error_code: "thread_unsupported_request",
            unsupported: ["tools"],
        })
    }

    /// Returns the body, which is also the data of an `error` event.
    pub(crate) fn body(&self) -> Value {
        let mut error = json!({ "type": error_type(self.status), "message": self.message });
        if let Some(details) = &self.details
            && let Some(fields) = error.as_object_mut()
        {
            fields.insert("details".to_owned(), json!(details));
        }
        json!({ "type": "error", "error": error })
    }
}

/// Error types of the Messages API by status, <https://platform.claude.com/docs/en/api/errors>.
const ERROR_TYPES: [(u16, &str); 11] = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (402, "billing_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (409, "conflict_error"),
    (413, "request_too_large"),
    (429, "rate_limit_error"),
    (500, "api_error"),
    (504, "timeout_error"),
    (529, "overloaded_error"),
];

/// Returns the error type of a status in the Messages API.
pub(crate) fn error_type(status: StatusCode) -> &'static str {
    let known = ERROR_TYPES.iter().find(|(known, _)| *known == status.as_u16());
    match known {
        Some((_, name)) => name,
        None if status.is_server_error() => "api_error",
        None => "invalid_request_error",
    }
}

/// Returns the status of an error type.
pub(crate) fn status_of_type(name: &str) -> Option<StatusCode> {
    let (status, _) = ERROR_TYPES.iter().find(|(_, known)| *known == name)?;
    StatusCode::from_u16(*status).ok()
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(seconds) = self.retry_after {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
