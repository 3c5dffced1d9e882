//! [`authenticate`]: finds the principal of a request by its credential.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::session::chain::ChainKey;
use crate::session::principal::Principal;
use crate::settings::client_keys::{ClientKey, Sha256, credential};
use crate::wire::error::ApiError;

/// Finds the principal of a request: the name of the client's key, or a digest of the credential that was sent. If client keys are
/// configured, a request must send one of them.
pub(crate) fn authenticate(
    secret: &ChainKey,
    keys: &[ClientKey],
    headers: &HeaderMap,
) -> Result<Principal, ApiError> {
    let mut sent = credentials(headers);
    if keys.is_empty() {
        let digest = secret.digest(&[b"credential", sent.next().unwrap_or_default().as_bytes()]);
        return Ok(Principal::from_credential(&digest.to_hex()));
    }
    let mut sent = sent.peekable();
    let advice = if sent.peek().is_none() {
        "no key was sent; send one of the gateway's client keys as `x-api-key` or `authorization: Bearer`"
    } else {
        "unknown key; send one of the gateway's client keys as `x-api-key` or `authorization: Bearer`"
    };
    let known = sent.find_map(|sent| known(secret, keys, sent));
    known
        .map(|key| Principal::from_key_name(&key.name))
        .ok_or_else(|| ApiError::new(StatusCode::UNAUTHORIZED, advice))
}

/// Finds the client with this key.
fn known<'k>(secret: &ChainKey, keys: &'k [ClientKey], sent: &str) -> Option<&'k ClientKey> {
    // Keyed digests are compared, so that the time of the comparison does not depend on the key.
    let keyed = |sha256: &Sha256| secret.digest(&[b"key", sha256.as_bytes()]);
    let sent = keyed(&Sha256::new(sent));
    keys.iter().find(|key| keyed(&key.sha256) == sent)
}

/// Removes the client's key from the headers that contain it. Other credentials stay.
pub(crate) fn remove_key(secret: &ChainKey, keys: &[ClientKey], headers: &mut HeaderMap) {
    for name in HEADERS {
        let is_key =
            |value: &HeaderValue| credential(value).is_some_and(|sent| known(secret, keys, sent).is_some());
        if !headers.get_all(&name).iter().any(is_key) {
            continue;
        }
        let others: Vec<_> = headers
            .get_all(&name)
            .iter()
            .filter(|value| !is_key(value))
            .cloned()
            .collect();
        headers.remove(&name);
        for other in others {
            headers.append(&name, other);
        }
    }
}

/// Headers of credentials. The first value that is present counts, unless another one is a configured key.
const HEADERS: [HeaderName; 2] = [HeaderName::from_static("x-api-key"), header::AUTHORIZATION];

fn credentials(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = HEADERS.into_iter().flat_map(|name| headers.get_all(name));
    values.filter_map(credential)
}
