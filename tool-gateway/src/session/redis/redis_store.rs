//! [`RedisStore`]: the settings and the connection of the store.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use redis::Value;

use super::address::RedisAddress;
use super::damaged::DamagedRecords;
use super::keys::SECRET;
use super::link::{Link, get_secret, set_secret};
use super::packing::Packing;
use super::replies::ScriptReply;
use super::scripts::Scripts;
use crate::session::store::{DEFAULT_BYTES_PER_CLIENT, DEFAULT_TTL, DEFAULT_TURNS_PER_CLIENT, StoreError};

/// Keeps sessions in Redis 6.2 or later, or in Valkey, for several gateways at the same time. Each operation is one script, which Redis
/// executes atomically. All keys of a client are in one slot of a cluster. Sessions expire by the clock of the server.
///
/// The user of Redis needs the commands of the scripts, `EVALSHA`, `EVAL`, `GET`, `SET`, `PING`, and keys that begin with `tg1:`.
///
/// ```no_run
/// use tool_gateway::session::redis::RedisStore;
///
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// let store = RedisStore::new(&"redis://localhost:6379".parse()?, None)?;
/// store.connect().await?;
/// let gateway = tool_gateway::Gateway::new(tool_runtime::ToolRegistry::new(), tool_gateway::upstream::ScriptUpstream::embedded());
/// let gateway = gateway.with_store(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisStore {
    pub(super) link: Arc<Link>,
    pub(super) scripts: Arc<Scripts>,
    pub(super) packing: Packing,
    pub(super) secret: Arc<OnceLock<[u8; 32]>>,
    /// Whether the secret is in Redis.
    pub(super) shares_secret: bool,
    /// Whether Redis has another secret.
    pub(super) lost_secret: Arc<AtomicBool>,
    /// Whether the version and the policy of evictions were checked.
    pub(super) is_checked: Arc<OnceLock<()>>,
    pub(super) damaged: Arc<DamagedRecords>,
    /// Hosts and ports.
    pub(super) name: String,
    pub(super) ttl: Duration,
    pub(super) max_turns_per_client: u64,
    pub(super) max_bytes_per_client: u64,
}

/// Time for which the progress of a request is kept after its last change.
pub(super) const LOG_TIME: Duration = Duration::from_secs(24 * 3600);

impl RedisStore {
    /// Creates a store that connects with its first operation.
    ///
    /// # Errors
    ///
    /// If the address is not supported, or has a user without a password: the default user would run the commands.
    pub fn new(address: &RedisAddress, password: Option<&str>) -> Result<Self, StoreError> {
        address.check_password(password.is_some()).map_err(StoreError)?;
        Ok(Self {
            link: Arc::new(Link::new(address, password)?),
            scripts: Arc::new(Scripts::new()),
            packing: Packing::default(),
            secret: Arc::default(),
            shares_secret: true,
            lost_secret: Arc::default(),
            is_checked: Arc::default(),
            damaged: Arc::default(),
            name: address.to_string(),
            ttl: DEFAULT_TTL,
            max_turns_per_client: DEFAULT_TURNS_PER_CLIENT,
            max_bytes_per_client: DEFAULT_BYTES_PER_CLIENT,
        })
    }

    /// Sets the time for which a session is kept without a new turn, a day by default. A session with a suspended turn is kept four times
    /// as long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the maximum number of turns of each client, 10,000 by default. A client with more turns loses its oldest sessions; the turn that
    /// is being saved is always kept.
    #[must_use]
    pub fn with_max_turns_per_client(mut self, turns: u64) -> Self {
        self.max_turns_per_client = turns;
        self
    }

    /// Sets the approximate maximum number of bytes of each client, with the progress of its requests, 256 MiB by default. Entries above the
    /// maximum are removed in the order of their expiration.
    #[must_use]
    pub fn with_max_bytes_per_client(mut self, bytes: u64) -> Self {
        self.max_bytes_per_client = bytes;
        self
    }

    /// Sets the secret of the session digests. The default is a secret in Redis.
    #[must_use]
    pub fn with_secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Arc::new(OnceLock::from(secret));
        self.shares_secret = false;
        self
    }

    /// Encrypts the stored turns and the progress of requests with AES-256-GCM and this key. Each record is bound to its key in Redis. Records
    /// without encryption are not found any more.
    #[must_use]
    pub fn with_encryption_key(mut self, key: &[u8; 32]) -> Self {
        self.packing = Packing::encrypted(key);
        self
    }

    /// Sets the number of replicas that must have the record of a call that must not be repeated after 100 ms. With fewer, the operation
    /// fails, so that no call begins whose record a failover would lose. The default is 0. To be called before the store is cloned or used.
    #[must_use]
    pub fn with_wait_replicas(mut self, replicas: u32) -> Self {
        if let Some(link) = Arc::get_mut(&mut self.link) {
            link.set_replicas(replicas);
        }
        self
    }

    /// Connects, and reads the secret of the session digests from Redis, or creates the secret there. A gateway needs the secret before its
    /// first request.
    ///
    /// # Errors
    ///
    /// If Redis does not answer, is older than 6.2, or has an invalid secret.
    pub async fn connect(&self) -> Result<(), StoreError> {
        self.check_server().await?;
        if self.secret.get().is_some() {
            return Ok(());
        }
        let secret = self.stored_secret(&crate::random::bytes()).await?;
        // Another call has set an equal secret.
        let _ = self.secret.set(secret);
        self.link.keep_secret(secret);
        Ok(())
    }

    /// Returns the secret in Redis. If there is none, stores this one.
    async fn stored_secret(&self, new: &[u8; 32]) -> Result<[u8; 32], StoreError> {
        let mut stored = self.link.command(get_secret()).await?;
        if stored == Value::Nil {
            self.link.command(set_secret(new)).await?;
            stored = self.link.command(get_secret()).await?;
        }
        let invalid = |_| StoreError(format!("the key {SECRET} of Redis is not a secret of 32 bytes"));
        ScriptReply(stored).bytes()?.try_into().map_err(invalid)
    }

    /// Returns an error if Redis has another secret than this gateway: Redis was empty, and another gateway has created a secret.
    pub(super) async fn check_secret(&self) -> Result<(), StoreError> {
        let Some(own) = self.secret.get().filter(|_| self.shares_secret) else {
            return Ok(());
        };
        if self.stored_secret(own).await? == *own {
            self.lost_secret.store(false, Ordering::Relaxed);
            return Ok(());
        }
        let error = StoreError(format!(
            "the key {SECRET} of Redis has another secret than this gateway; restart the gateway"
        ));
        if !self.lost_secret.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "sessions of other gateways are not found");
        }
        Err(error)
    }

    /// Checks the version of Redis. Logs a warning if Redis removes keys without memory: all keys have a lifetime, so that a policy
    /// `volatile-…` removes sessions in use and leases, too. The first success is the last check.
    async fn check_server(&self) -> Result<(), StoreError> {
        if self.is_checked.get().is_some() {
            self.link.command(redis::cmd("PING")).await?;
            return Ok(());
        }
        let info = match self.link.command(redis::cmd("INFO")).await {
            Ok(info) => ScriptReply(info).info(),
            // The user may have no access to this command, which is no error of the store.
            Err(StoreError(error))
                if ["NOPERM", "unknown command"]
                    .iter()
                    .any(|part| error.contains(part)) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        self.link.command(redis::cmd("PING")).await?;
        let field = |name| info.as_ref().and_then(|info| info.get(name));
        if let Some(version) = field("redis_version")
            && major_and_minor(version).is_some_and(|version| version < MIN_VERSION)
        {
            let (major, minor) = MIN_VERSION;
            return Err(StoreError(format!(
                "Redis {version} lacks commands that the gateway needs; use Redis {major}.{minor} or later"
            )));
        }
        if self.is_checked.set(()).is_ok()
            && let Some(policy) = field("maxmemory_policy")
            && policy != "noeviction"
        {
            tracing::warn!(
                policy,
                "Redis removes sessions in use when it has no memory; set `maxmemory-policy` to `noeviction`"
            );
        }
        Ok(())
    }
}

/// First version that has all commands of the scripts, such as `ZINTER`. Valkey reports the version of Redis that it is compatible with.
const MIN_VERSION: (u32, u32) = (6, 2);

/// Returns the first two numbers of a version.
fn major_and_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("name", &self.name)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_first_two_numbers() {
        for old in ["6.0.20", "5.0", "6.1.999"] {
            assert!(major_and_minor(old).unwrap() < MIN_VERSION, "{old}");
        }
        for new in ["6.2.0", "7.2.4", "8.0", "255.255.255"] {
            assert!(major_and_minor(new).unwrap() >= MIN_VERSION, "{new}");
        }
        for unreadable in ["", "7", "6.x", "unstable"] {
            assert_eq!(major_and_minor(unreadable), None, "{unreadable}");
        }
    }
}
