//! Responses of Chat Completions as the events of the Messages API. The entry is [`turn_body`].

// A module uses only modules that are declared before it.
pub(super) mod expected;
mod content;
mod chunk;
mod stop_reason;
mod usage;
mod failure;
mod details;
mod blocks;
mod piece_joiner;
mod thought_tags;
mod held;
mod stop_search;
mod extra_contents;
mod message;
mod headers;
pub(super) mod models;
mod context;
pub(super) mod correction;
pub(super) mod error;
mod events;
#[cfg(test)]
mod tests;

use std::future::poll_fn;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response};

use self::error::error_response;
use self::events::ChatEvents;
use self::expected::ExpectedResponse;
use crate::upstream::answer::{MessageEvents, TurnBody};

/// Header with the name of the model that the server was asked for.
const SERVED_MODEL: HeaderName = HeaderName::from_static("x-tool-gateway-model");

/// Converts a successful response of Chat Completions to the response of a turn. Waits for the first chunk, so that an error before it has
/// a status.
pub(super) async fn turn_body(response: Response<Body>, expected: ExpectedResponse) -> Response<TurnBody> {
    let (head, body) = response.into_parts();
    let mut headers = headers::for_client(&head.headers);
    if let Ok(model) = HeaderValue::from_str(&expected.served_model)
        && !model.is_empty()
    {
        headers.insert(SERVED_MODEL, model);
    }
    let mut events = ChatEvents::new(&head.headers, body, expected);
    let begun = poll_fn(|cx| events.poll_begin(cx)).await;
    let mut response = match begun {
        Ok(()) => Response::new(TurnBody::Message(MessageEvents::new(events))),
        Err(error) => return error_response(&error.into(), headers).map(TurnBody::Error),
    };
    *response.headers_mut() = headers;
    response
}
