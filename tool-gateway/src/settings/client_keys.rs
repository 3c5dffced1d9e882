//! [`ClientKey`]: client keys from the configuration and from `TOOL_GATEWAY_CLIENT_KEYS`.

use std::collections::HashMap;
use std::env;

use axum::http::HeaderValue;
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use super::mistakes::Mistakes;
use super::variable_name::VariableName;

/// A client of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientSettings {
    pub(crate) name: String,
    pub(crate) key_sha256: Option<Sha256>,
    /// Name of the environment variable with the key.
    pub(crate) key_env: Option<VariableName>,
    /// Names of the gateway's tools that the client has; all by default.
    pub(crate) tools: Option<Vec<String>>,
}

/// A SHA-256, written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Sha256([u8; 32]);

impl Sha256 {
    /// Computes the digest of a key.
    pub(crate) fn new(key: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, key.as_bytes()).as_ref());
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Sha256 {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
            .collect();
        let bytes: Vec<u8> = digits
            .unwrap_or_default()
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect();
        match <[u8; 32]>::try_from(bytes) {
            Ok(bytes) if text.len() == 64 => Ok(Self(bytes)),
            // The text may be a pasted key, so the message does not contain the text.
            _ => Err(
                "expected the 64 hexadecimal digits that `printf %s \"$KEY\" | sha256sum` prints".to_owned(),
            ),
        }
    }
}

/// A client key, with the name to which its sessions belong, so that the key can be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientKey {
    pub(crate) name: String,
    /// Digest of the key. The key is not stored.
    pub(crate) sha256: Sha256,
}

impl ClientKey {
    pub(crate) fn new(name: String, key: &str) -> Self {
        Self {
            name,
            sha256: Sha256::new(key),
        }
    }

    /// Loads the keys of the configuration and the environment.
    pub(crate) fn load(clients: &[ClientSettings], mistakes: &mut Mistakes) -> Vec<Self> {
        let mut keys = KeyTable::default();
        for (index, client) in clients.iter().enumerate() {
            keys.add_client(client, &index.to_string(), mistakes);
        }
        keys.add_environment(mistakes);
        keys.keys
    }
}

/// Client keys. Each key belongs to one client: a shared key would give one client the sessions of another client.
///
/// A client may have several keys, so that a key can be replaced without interruption.
#[derive(Default)]
struct KeyTable {
    keys: Vec<ClientKey>,
    names: HashMap<Sha256, String>,
}

impl KeyTable {
    fn add_client(&mut self, client: &ClientSettings, index: &str, mistakes: &mut Mistakes) {
        let name = client.name.as_str();
        let added = match (client.key_sha256, &client.key_env) {
            (Some(sha256), None) if sha256 == Sha256::new("") => Err((
                "key_sha256",
                format!(
                    "the client `{name}`: key_sha256 is the digest of nothing; was the variable set in `printf %s \"$KEY\" | sha256sum`?"
                ),
            )),
            (Some(sha256), None) => self
                .add(name.to_owned(), sha256)
                .map_err(|error| ("key_sha256", error)),
            (None, Some(variable)) => match variable.value() {
                Some(key) => self.add_text(name, &key).map_err(|error| ("key_env", error)),
                None => Err((
                    "key_env",
                    format!(
                        "the key of the client `{name}` is not set: put it into the environment as {variable}"
                    ),
                )),
            },
            (None, None) | (Some(_), Some(_)) => Err((
                "name",
                format!("the client `{name}` needs one key: write either key_sha256 or key_env"),
            )),
        };
        if let Err((key, message)) = added {
            mistakes.add(&["clients", index, key], message);
        }
    }

    /// Adds the keys of `TOOL_GATEWAY_CLIENT_KEYS`.
    fn add_environment(&mut self, mistakes: &mut Mistakes) {
        let text = match env::var("TOOL_GATEWAY_CLIENT_KEYS") {
            Ok(text) => text,
            Err(env::VarError::NotPresent) => return,
            // Without keys, the gateway would serve every client.
            Err(env::VarError::NotUnicode(_)) => {
                return mistakes.add_elsewhere("TOOL_GATEWAY_CLIENT_KEYS is not UTF-8; write name=key");
            }
        };
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        for (index, entry) in entries.enumerate() {
            let added = match entry.split_once('=') {
                Some((name, key)) if !name.is_empty() && !key.is_empty() => self.add_text(name, key),
                // The entry may be a key, so the message does not contain the entry.
                _ => Err(format!(
                    "entry {} is not name=key, with commas between entries",
                    index + 1
                )),
            };
            if let Err(message) = added {
                mistakes.add_elsewhere(format_args!("TOOL_GATEWAY_CLIENT_KEYS: {message}"));
            }
        }
    }

    fn add_text(&mut self, name: &str, key: &str) -> Result<(), String> {
        if !can_be_sent(key) {
            return Err(format!(
                "the client `{name}`: the key cannot be sent in a header as it is: write one of visible ASCII characters, \
                 without spaces or line breaks around it and without `Bearer` in front"
            ));
        }
        self.add(name.to_owned(), Sha256::new(key))
    }

    fn add(&mut self, name: String, sha256: Sha256) -> Result<(), String> {
        if name.trim().is_empty() {
            return Err(format!(
                "the client `{name}`: a client has no name; sessions, limits and the log go by it: write a name that stays when the \
                 key changes"
            ));
        }
        let other = self.names.insert(sha256, name.clone());
        if let Some(other) = other.filter(|other| *other != name) {
            return Err(format!(
                "the clients `{other}` and `{name}` have the same key, and could not be distinguished; give each its own"
            ));
        }
        self.keys.push(ClientKey { name, sha256 });
        Ok(())
    }
}

/// Returns whether a client can send this text as its key: a valid header value that neither HTTP nor [`credential`] changes.
fn can_be_sent(key: &str) -> bool {
    key.trim() == key && HeaderValue::from_str(key).is_ok_and(|value| credential(&value) == Some(key))
}

/// Returns the credential in a header, unless it is empty.
pub(crate) fn credential(value: &HeaderValue) -> Option<&str> {
    let value = value.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ').unwrap_or((value, ""));
    let credential = if scheme.eq_ignore_ascii_case("bearer") {
        rest.trim()
    } else {
        value
    };
    (!credential.is_empty()).then_some(credential)
}
