//! [`StoreLocation`] and [`SessionSettings`]: the store of sessions, its maximum size, and its time to live.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::client_keys::Sha256;
use super::mistakes::Mistakes;
use super::units;
use super::variable_name::VariableName;
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;
#[cfg(feature = "redis")]
use crate::session::redis::{RedisAddress, RedisStore};
use crate::session::store::{
    DEFAULT_BYTES_PER_CLIENT, DEFAULT_TTL, DEFAULT_TURNS_PER_CLIENT, Reach, SessionStore, StoreError,
};

/// Location of the sessions: `memory`, `file:PATH`, or the URL of a Redis server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum StoreLocation {
    #[default]
    Memory,
    File(PathBuf),
    #[cfg(feature = "redis")]
    Redis(RedisAddress),
}

impl TryFrom<String> for StoreLocation {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for StoreLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            #[cfg(feature = "redis")]
            Some(("redis" | "rediss" | "redis+cluster" | "rediss+cluster", _)) => {
                text.parse().map(Self::Redis)
            }
            #[cfg(not(feature = "redis"))]
            Some(("redis" | "rediss" | "redis+cluster" | "rediss+cluster", _)) => Err(
                "this program was built without the feature `redis`; build it with `--features redis`"
                    .to_owned(),
            ),
            _ => Err("expected `memory`, `file:PATH` or `redis://HOST:PORT`".to_owned()),
        }
    }
}

impl StoreLocation {
    /// Returns the gateways that find the entries of the store.
    pub(crate) fn reach(&self) -> Reach {
        match self {
            Self::Memory => Reach::Process,
            Self::File(_) => Reach::Machine,
            #[cfg(feature = "redis")]
            Self::Redis(_) => Reach::Shared,
        }
    }
}

/// Message about a key that another store does not have.
const ONLY_REDIS: &str =
    "only for a store in Redis; leave the key out, or set `store = \"redis://HOST:PORT\"`";

/// Form of secrets and keys.
const SECRET: &str = "64 hexadecimal digits, as `openssl rand -hex 32` prints,";

/// The section `sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SessionSettings {
    /// Time for which a session is kept after its latest turn.
    #[serde(rename = "hours", deserialize_with = "units::hours")]
    pub(crate) ttl: Duration,
    /// Maximum size of the store, in bytes. The default depends on the store.
    #[serde(rename = "mb", deserialize_with = "units::some_mebibytes")]
    pub(crate) max_bytes: Option<u64>,
    /// Maximum number of turns of a client.
    #[serde(deserialize_with = "units::count_u64")]
    pub(crate) client_turns: u64,
    /// Maximum size of a client's turns, in bytes.
    #[serde(rename = "client_mb", deserialize_with = "units::mebibytes_u64")]
    pub(crate) client_bytes: u64,
    /// Whether the session of a history is found despite another system prompt or other tools.
    pub(crate) ignore_context: bool,
    /// Time for which a request waits for another gateway that runs its turn.
    #[serde(rename = "join_seconds", deserialize_with = "units::seconds_from_zero")]
    pub(crate) join_time: Duration,
    /// Name of the environment variable with the password of Redis.
    pub(crate) password_env: Option<VariableName>,
    /// Name of the environment variable with the secret of the session digests, in place of the secret in Redis.
    pub(crate) secret_env: Option<VariableName>,
    /// Name of the environment variable with the key that encrypts the sessions in Redis.
    pub(crate) encryption_key_env: Option<VariableName>,
    /// Number of replicas of Redis that must have the record of a call that must not be repeated.
    #[serde(deserialize_with = "units::count_u32_from_zero")]
    pub(crate) wait_replicas: u32,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            max_bytes: None,
            client_turns: DEFAULT_TURNS_PER_CLIENT,
            client_bytes: DEFAULT_BYTES_PER_CLIENT,
            ignore_context: true,
            join_time: Duration::from_secs(30),
            password_env: None,
            secret_env: None,
            encryption_key_env: None,
            wait_replicas: 0,
        }
    }
}

/// Environment variable of a key of the section.
#[derive(Debug, Clone, Copy)]
struct SessionVariable<'s> {
    key: &'static str,
    name: Option<&'s VariableName>,
    /// Contents of the variable, in words.
    contents: &'static str,
    /// Whether the value has 32 bytes as hexadecimal digits.
    is_secret: bool,
}

/// Parses 32 bytes, written as 64 hexadecimal digits.
fn secret(text: &str) -> Option<[u8; 32]> {
    let secret = Sha256::try_from(text.to_owned()).ok()?;
    Some(*secret.as_bytes())
}

impl SessionSettings {
    /// Adds mistakes in the keys of a store in Redis: another store, and variables that are missing or invalid.
    pub(crate) fn check(&self, location: &StoreLocation, mistakes: &mut Mistakes) {
        let variables = [
            SessionVariable {
                key: "password_env",
                name: self.password_env.as_ref(),
                contents: "the password of Redis",
                is_secret: false,
            },
            SessionVariable {
                key: "secret_env",
                name: self.secret_env.as_ref(),
                contents: SECRET,
                is_secret: true,
            },
            SessionVariable {
                key: "encryption_key_env",
                name: self.encryption_key_env.as_ref(),
                contents: SECRET,
                is_secret: true,
            },
        ];
        let is_shared = location.reach() == Reach::Shared;
        #[cfg(feature = "redis")]
        if let StoreLocation::Redis(address) = location
            && let Err(error) = address.check_password(self.password_env.is_some())
        {
            mistakes.add(&["store"], error);
        }
        if is_shared && self.max_bytes.is_some() {
            mistakes.add(
                &["sessions", "mb"],
                "a store in Redis has the size that `maxmemory` of Redis allows; leave the key out, and set `client_mb` for each client",
            );
        }
        if self.wait_replicas > 0 && !is_shared {
            mistakes.add(&["sessions", "wait_replicas"], ONLY_REDIS);
        }
        for SessionVariable {
            key,
            name,
            contents,
            is_secret,
        } in variables
        {
            let Some(name) = name else {
                continue;
            };
            if !is_shared {
                mistakes.add(&["sessions", key], ONLY_REDIS);
                continue;
            }
            match name.value() {
                None => mistakes.add(
                    &["sessions", key],
                    format_args!(
                        "the variable {name} is not set; put {contents} into it, or leave the key out"
                    ),
                ),
                Some(value) if is_secret && secret(&value).is_none() => mistakes.add(
                    &["sessions", key],
                    format_args!("expected {SECRET} in the variable {name}"),
                ),
                Some(_) => {}
            }
        }
    }

    /// Opens the store at a location.
    pub(crate) fn open(&self, location: &StoreLocation) -> Result<Arc<dyn SessionStore>, StoreError> {
        Ok(match location {
            StoreLocation::Memory => {
                let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
                let mut store = MemoryStore::new()
                    .with_ttl(self.ttl)
                    .with_max_turns_per_client(count(self.client_turns))
                    .with_max_bytes_per_client(count(self.client_bytes));
                if let Some(bytes) = self.max_bytes {
                    store = store.with_max_bytes(count(bytes));
                }
                Arc::new(store)
            }
            StoreLocation::File(path) => {
                let mut store = FileStore::open(path)?
                    .with_ttl(self.ttl)
                    .with_max_turns_per_client(self.client_turns)
                    .with_max_bytes_per_client(self.client_bytes);
                if let Some(bytes) = self.max_bytes {
                    store = store.with_max_bytes(bytes);
                }
                Arc::new(store)
            }
            #[cfg(feature = "redis")]
            StoreLocation::Redis(address) => {
                let value = |name: &Option<VariableName>| name.as_ref().and_then(VariableName::value);
                let mut store = RedisStore::new(address, value(&self.password_env).as_deref())?
                    .with_ttl(self.ttl)
                    .with_max_turns_per_client(self.client_turns)
                    .with_max_bytes_per_client(self.client_bytes)
                    .with_wait_replicas(self.wait_replicas);
                if let Some(secret) = value(&self.secret_env).as_deref().and_then(secret) {
                    store = store.with_secret(secret);
                }
                if let Some(key) = value(&self.encryption_key_env).as_deref().and_then(secret) {
                    store = store.with_encryption_key(&key);
                }
                Arc::new(store)
            }
        })
    }
}
