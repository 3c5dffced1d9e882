//! The keys of the clients that are served: of the configuration, and of `TOOL_GATEWAY_CLIENT_KEYS`.

use std::env;

use crate::cli::config::{ClientConfig, Sha256};
use crate::cli::ending::Failure;
use crate::server::gateway::Gateway;

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
        Ok(keys)
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
