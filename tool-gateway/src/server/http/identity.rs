//! Identity of requests: digests that are equal for equal requests.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};

use crate::server::turns::shared::Shared;
use crate::session::chain::Digest;
use crate::session::client::Client;
use crate::session::message_groups::{GroupDigests, exact_history};
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
    digests: &GroupDigests,
    request: &MessagesRequest,
) -> Digest {
    let history = exact_history(&shared.secret, request, &recognized.groups, digests);
    let settings = shared.secret.settings(request);
    let mut identity = shared.secret.part_hasher();
    identity.push(client.principal.as_bytes());
    for digest in [history, recognized.context, settings] {
        identity.push(digest.as_bytes());
    }
    // Session names of the client, and system messages between other messages, are not part of the history.
    for key in &client.keys {
        identity.push(key.as_bytes());
    }
    for (index, message) in request.messages.iter().enumerate() {
        if message.is_system() {
            let text = message.text(request.body());
            identity.push_joined(format!("{index} ").as_bytes(), text.as_bytes());
        }
    }
    identity.push(parts.uri.query().unwrap_or_default().as_bytes());
    // The upstream's credential is included, if the client sends one beside its key for the gateway.
    for name in CREDENTIALS_AND_VERSIONS {
        for value in parts.headers.get_all(name) {
            identity.push(value.as_bytes());
        }
        // Marks the end of this header's values, since no header has this value.
        identity.push(b"\n");
    }
    identity.finish()
}

/// Returns the value of a header if the value is text. A name that is a constant is not parsed.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}
