//! Errors in the form of the API.

use axum::http::StatusCode;
use serde_json::json;

use crate::wire::error::error_type;

/// Builds the body of an error response.
pub(super) fn body(status: StatusCode, message: &str, request_id: &str) -> String {
    let error = json!({"type": error_type(status), "message": message});
    json!({"type": "error", "error": error, "request_id": request_id}).to_string()
}
