//! Error responses in the form of the Messages API.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};

use crate::upstream::answer::TurnBody;
use crate::upstream::error::UpstreamError;
use crate::wire::error::ApiError;
use crate::wire::received_error::ReceivedError;

/// Maximum size of an error response, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// Maximum number of characters of a text that is not an error of an API.
const MAX_TEXT: usize = 200;

/// Converts an error response.
pub(super) async fn error_response(response: Response<Body>) -> Result<Response<TurnBody>, UpstreamError> {
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ERROR).collect().await;
    let text = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned());
    let error = ApiError::new(client_status(status), message(&text.unwrap_or_default(), status));
    let mut response = Response::new(TurnBody::Error(Body::from(error.body().to_string())));
    *response.status_mut() = error.status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

fn message(text: &str, status: StatusCode) -> String {
    match ReceivedError::parse(text) {
        Some(ReceivedError::Foreign(error)) => error.message,
        Some(ReceivedError::Api(error)) => error.as_str().to_owned(),
        None if text.trim().is_empty() => format!("the upstream answered with the status {status}"),
        None => text.chars().take(MAX_TEXT).collect(),
    }
}

/// Returns the status for the client.
fn client_status(status: StatusCode) -> StatusCode {
    match status.as_u16() {
        405 | 422 => StatusCode::BAD_REQUEST,
        401 | 403 => StatusCode::BAD_GATEWAY,
        408 => StatusCode::GATEWAY_TIMEOUT,
        _ => status,
    }
}
