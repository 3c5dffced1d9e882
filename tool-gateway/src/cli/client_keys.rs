//! The keys of the clients that are served: of the configuration, and of `TOOL_GATEWAY_CLIENT_KEYS`.

use std::collections::HashMap;
use std::env;

use tool_cli::Failure;

use crate::cli::config::{ClientConfig, Sha256};
use crate::server::access::client_key::{can_be_sent, sha256};
use crate::server::http::gateway::Gateway;

/// A client's name, and its key or the digest of it.
pub(crate) enum ClientKey {
    Text { name: String, key: String },
    Digest { name: String, sha256: Sha256 },
}

impl ClientKey {
    /// All of them.
    pub(crate) fn all(configured: &[ClientConfig]) -> Result<Vec<Self>, Failure> {
        let keys: Result<Vec<_>, _> = configured.iter().map(Self::of).collect();
        let mut keys = keys?;
        keys.extend(of_environment()?);
        check(&keys)?;
        Ok(keys)
    }

    fn name(&self) -> &str {
        match self {
            Self::Text { name, .. } | Self::Digest { name, .. } => name,
        }
    }

    fn sha256(&self) -> [u8; 32] {
        match self {
            Self::Text { key, .. } => sha256(key),
            Self::Digest { sha256, .. } => sha256.0,
        }
    }

    fn of(client: &ClientConfig) -> Result<Self, Failure> {
        let name = client.name.clone();
        match (&client.key_sha256, &client.key_env) {
            (Some(sha256), None) => Ok(Self::Digest {
                name,
                sha256: *sha256,
            }),
            (None, Some(variable)) => match env::var(variable) {
                Ok(key) if !key.is_empty() => Ok(Self::Text { name, key }),
                _ => Err(Failure::Message(format!(
                    "the key of the client `{name}` is not set: put it into the environment as {variable}"
                ))),
            },
            (None, None) | (Some(_), Some(_)) => Err(Failure::Message(format!(
                "the client `{name}` needs one key: write either key_sha256 or key_env"
            ))),
        }
    }

    /// A gateway that serves this client, too.
    pub(crate) fn add_to(self, gateway: Gateway) -> Gateway {
        match self {
            Self::Text { name, key } => gateway.with_client_key(name, key),
            Self::Digest { name, sha256 } => gateway.with_client_key_sha256(name, sha256.0),
        }
    }
}

/// Refuses keys that no client can send, and keys of two clients: one of them would have the sessions of the other.
///
/// One client may have two keys: so they are changed, without a moment at which neither the old one nor the new one is served.
fn check(keys: &[ClientKey]) -> Result<(), Failure> {
    let mut names: HashMap<[u8; 32], &str> = HashMap::new();
    for key in keys {
        let name = key.name();
        let reason = match key {
            _ if name.trim().is_empty() => Some(
                "a client has no name; sessions, limits and the log go by it: write a name that stays when the key changes",
            ),
            ClientKey::Text { key, .. } if !can_be_sent(key) => Some(
                "the key cannot be sent in a header as it is: write one of visible ASCII characters, without spaces or line breaks \
                 around it and without `Bearer` in front",
            ),
            ClientKey::Digest {
                sha256: Sha256(digest),
                ..
            } if *digest == sha256("") => Some(
                "key_sha256 is the digest of nothing; was the variable set in `printf %s \"$KEY\" | sha256sum`?",
            ),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(Failure::Message(format!("the client `{name}`: {reason}")));
        }
        if let Some(other) = names.insert(key.sha256(), name).filter(|other| *other != name) {
            return Err(Failure::Message(format!(
                "the clients `{other}` and `{name}` have the same key, and could not be distinguished; give each its own"
            )));
        }
    }
    Ok(())
}

/// The keys of `TOOL_GATEWAY_CLIENT_KEYS`.
fn of_environment() -> Result<Vec<ClientKey>, Failure> {
    let text = match env::var("TOOL_GATEWAY_CLIENT_KEYS") {
        Ok(text) => text,
        Err(env::VarError::NotPresent) => return Ok(Vec::new()),
        // Not "no keys": that would serve everyone.
        Err(env::VarError::NotUnicode(_)) => {
            return Err(Failure::Message(
                "TOOL_GATEWAY_CLIENT_KEYS is not UTF-8; write name=key".to_owned(),
            ));
        }
    };
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let keys = entries
        .enumerate()
        .map(|(place, entry)| match entry.split_once('=') {
            Some((name, key)) if !name.is_empty() && !key.is_empty() => Ok(ClientKey::Text {
                name: name.to_owned(),
                key: key.to_owned(),
            }),
            // The entry itself may be a key.
            _ => Err(Failure::Message(format!(
                "TOOL_GATEWAY_CLIENT_KEYS: entry {} is not name=key, with commas between entries",
                place + 1
            ))),
        });
    keys.collect()
}
