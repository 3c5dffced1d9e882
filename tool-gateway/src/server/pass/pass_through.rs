//! Passes a message through, byte for byte.

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::response::Response;

use super::passed_body::PassedBody;
use super::passed_turn::PassedTurn;
use super::passing_message::PassingMessage;
use crate::server::drive::forward;
use crate::server::turns::shared::Shared;
use crate::upstream::transport::response::is_stream;
use crate::wire::error::ApiError;

/// Forwards request and response, and stores the turn.
pub(crate) async fn pass_through(
    shared: &Shared,
    parts: Parts,
    body: String,
    mut turn: PassedTurn,
) -> Result<Response, ApiError> {
    let response = match forward::send(shared, parts, Bytes::from(body)).await {
        Ok(response) => response,
        Err(error) => {
            turn.fail(error.status);
            return Err(error);
        }
    };
    if !response.status().is_success() {
        turn.fail(response.status());
        return Ok(response);
    }
    let message = PassingMessage::new(is_stream(response.headers()));
    Ok(response.map(|body| PassedBody::wrap(body, message, turn)))
}
