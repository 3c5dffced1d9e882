//! The principal of a request: the name of the client's key, or a digest of the credential that it sent.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};

use crate::session::chain::ChainKey;
use crate::wire::error::ApiError;

/// A key that a client may use, and the name under which its sessions are kept, so that keys can be changed.
#[derive(Debug)]
pub(super) struct ClientKey {
    pub(super) name: String,
    pub(super) key: SecretString,
}

/// Finds the principal. Where keys are configured, a request needs one of them.
pub(super) fn principal(
    secret: &ChainKey,
    keys: &[ClientKey],
    headers: &HeaderMap,
) -> Result<String, ApiError> {
    let sent = credential(headers);
    if keys.is_empty() {
        let digest = secret.digest(&[b"credential", sent.unwrap_or_default().as_bytes()]);
        return Ok(format!("credential {}", digest.to_hex()));
    }
    let digest = |key: &str| secret.digest(&[b"key", key.as_bytes()]);
    // Digests are compared, so that time tells nothing of a key.
    let known = sent
        .map(digest)
        .and_then(|sent| keys.iter().find(|key| digest(key.key.expose_secret()) == sent));
    known.map(|key| format!("key {}", key.name)).ok_or_else(|| {
        ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unknown key; send one of the gateway's client keys as `x-api-key` or `authorization: Bearer`",
        )
    })
}

/// Removes the key that the principal was found by, in whichever headers it is. Another credential beside it stays.
pub(super) fn remove_credential(headers: &mut HeaderMap) {
    let Some(key) = credential(headers).map(str::to_owned) else {
        return;
    };
    for name in [HeaderName::from_static("x-api-key"), header::AUTHORIZATION] {
        let is_key = |value: &HeaderValue| {
            let value = value.to_str().unwrap_or_default();
            value.strip_prefix("Bearer ").unwrap_or(value) == key
        };
        if headers.get(&name).is_some_and(is_key) {
            headers.remove(name);
        }
    }
}

fn credential(headers: &HeaderMap) -> Option<&str> {
    if let Some(key) = headers.get("x-api-key") {
        return key.to_str().ok();
    }
    let bearer = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    bearer.strip_prefix("Bearer ").or(Some(bearer))
}
