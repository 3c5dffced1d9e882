//! [`Client`]: the client of a request, with the session keys that it sends, and the digests by which a store finds its entries.

use super::chain::{ChainKey, Digest};
use super::minted_id::MintKey;
use super::principal::Principal;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;

/// Client of a request, with the session keys that the client sends.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) principal: Principal,
    /// Digest by which a store separates the entries of clients.
    pub(crate) digest: Digest,
    /// First digest in the chains of the principal.
    pub(crate) beginning: Digest,
    /// Key of the ids of the client's calls.
    pub(crate) mint_key: MintKey,
    /// Session keys of the request.
    pub(crate) keys: Vec<String>,
}

impl Client {
    pub(crate) fn new(key: &ChainKey, principal: Principal, keys: Vec<String>) -> Self {
        let digests = key.principal(&principal);
        Self {
            principal,
            digest: digests.client,
            beginning: digests.beginning,
            mint_key: MintKey::new(digests.minted_ids),
            keys,
        }
    }
}

/// Computes the digest by which a store finds the call with this id.
pub(crate) fn call_digest(key: &ChainKey, principal: &Principal, id: &str) -> Digest {
    key.digest(&[b"call", principal.as_bytes(), id.as_bytes()])
}

/// Computes the digest by which a store finds a session, from a client's session key.
pub(crate) fn key_digest(key: &ChainKey, principal: &Principal, name: &str) -> Digest {
    key.digest(&[b"key", principal.as_bytes(), name.as_bytes()])
}

/// Returns the session keys of a request, combined with the agent of the session. A session key is only a hint: the history must confirm
/// the session.
pub(crate) fn session_keys(
    header: Option<&str>,
    agent: Option<&str>,
    request: &MessagesRequest,
) -> Vec<String> {
    let mut keys: Vec<String> = header.map(|id| format!("header {id}")).into_iter().collect();
    let user = request
        .get("metadata")
        .and_then(Object::from_json)
        .and_then(|metadata| metadata.string("user_id"));
    // Claude Code sends JSON in this field. Other clients send the name of a user, which is no session key, since a user has many sessions.
    let session = user
        .as_deref()
        .and_then(|user| Object::parse(user).ok()?.string("session_id"));
    keys.extend(session.map(|id| format!("user_id {id}")));
    let thread = request
        .get("thread")
        .and_then(|thread| serde_json::from_str::<String>(thread).ok());
    keys.extend(thread.map(|id| format!("thread {id}")));
    if let Some(agent) = agent.filter(|agent| !agent.is_empty()) {
        // Headers have no line breaks, so keys of different agents differ.
        keys = keys.iter().map(|key| format!("agent {agent}\n{key}")).collect();
    }
    keys
}
