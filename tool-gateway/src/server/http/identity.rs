//! Identity of requests: digests that are equal for equal requests.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::server::turns::shared::Shared;
use crate::session::chain::Digest;
use crate::session::client::Client;
use crate::session::message_groups::exact_chain;
use crate::session::recognize::Recognized;
use crate::wire::request::MessagesRequest;

/// Headers on which the answer depends.
const CREDENTIALS_AND_VERSIONS: [HeaderName; 4] = [
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
    header::AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
];

/// Computes the digest of a request without `stream`. Equal requests are retries or branches.
pub(crate) fn identity(
    shared: &Shared,
    parts: &Parts,
    client: &Client,
    recognized: &Recognized,
    request: &MessagesRequest,
) -> Digest {
    let history = exact_chain(&shared.secret, recognized.beginning, &recognized.groups).last();
    let history = history.unwrap_or(recognized.beginning);
    let settings = shared.secret.settings(request);
    let digests = [history, recognized.context, settings];
    // A list that grows takes several allocations.
    let mut identity = Vec::with_capacity(16);
    identity.push(client.principal.as_bytes());
    identity.extend(digests.iter().map(|digest| digest.as_bytes().as_slice()));
    // Session names of the client, and system messages between other messages, are not part of the history.
    identity.extend(client.keys.iter().map(String::as_bytes));
    let systems = request
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.is_system());
    let systems: Vec<_> = systems
        .map(|(index, _)| format!("{index} {}", request.message_text(index).unwrap_or_default()))
        .collect();
    identity.extend(systems.iter().map(String::as_bytes));
    identity.push(parts.uri.query().unwrap_or_default().as_bytes());
    // The upstream's credential is included, if the client sends one beside its key for the gateway.
    for name in CREDENTIALS_AND_VERSIONS {
        identity.extend(parts.headers.get_all(name).iter().map(HeaderValue::as_bytes));
        // Marks the end of this header's values, since no header has this value.
        identity.push(b"\n");
    }
    shared.secret.digest(&identity)
}

/// Returns the value of a header if the value is text. A name that is a constant is not parsed.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}
