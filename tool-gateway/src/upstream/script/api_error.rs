//! Errors in the form of the API.

use axum::http::StatusCode;
use serde_json::json;

/// The body of an error response.
pub(super) fn body(status: StatusCode, message: &str, request_id: &str) -> String {
    let error = json!({"type": kind(status), "message": message});
    json!({"type": "error", "error": error, "request_id": request_id}).to_string()
}

/// The type that the API gives to errors of that status.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
