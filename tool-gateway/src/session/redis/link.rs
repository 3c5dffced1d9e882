//! [`Link`]: the connection to Redis, with retries within the time of an operation.

use std::sync::{Mutex as StdMutex, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo as _,
    ProtocolVersion, RedisConnectionInfo, RedisError, RedisResult, ServerErrorKind, TlsCertificates, Value,
};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::address::RedisAddress;
use super::health::RedisHealth;
use super::keys::SECRET;
use super::scripts::StoreScript;
use crate::session::store_error::StoreError;

/// Maximum time of an operation, with all of its retries.
const LIMIT: Duration = Duration::from_secs(2);

/// Maximum time of the replication of a write, in milliseconds.
const REPLICATION_MS: u64 = 100;

/// Time before a retry.
const PAUSE: Duration = Duration::from_millis(50);

/// The servers.
enum Target {
    Single(Box<Client>),
    Cluster(Box<ClusterClient>),
}

/// A connection, which its clones share. Operations overlap, and their commands are sent in the order of their first polls.
#[derive(Clone)]
enum RedisConnection {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl RedisConnection {
    async fn send(&mut self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::Single(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => command.query_async(connection).await,
        }
    }

    /// Executes a command, and waits for this number of replicas. Returns the reply, and the number of replicas that have all writes before
    /// the end of the command.
    async fn send_and_wait(&mut self, command: &Cmd, replicas: u32) -> RedisResult<(Value, i64)> {
        let mut pipeline = redis::pipe();
        pipeline.add_command(command.clone());
        pipeline.cmd("WAIT").arg(replicas).arg(REPLICATION_MS);
        let replies = match self {
            Self::Single(connection) => connection.req_packed_commands(&pipeline, 0, 2).await?,
            Self::Cluster(connection) => connection.req_packed_commands(&pipeline, 0, 2).await?,
        };
        let mut replies = replies.into_iter().map(Value::extract_error);
        let mut next = || replies.next().unwrap_or(Ok(Value::Nil));
        match (next()?, next()?) {
            (value, Value::Int(have)) => Ok((value, have)),
            _ => Err((ErrorKind::UnexpectedReturnType, "expected a number of replicas").into()),
        }
    }
}

/// The connection with its number.
#[derive(Default)]
struct Slot {
    number: u64,
    connection: Option<RedisConnection>,
}

/// Treatment of an error.
enum Treatment {
    /// The server does not have the script.
    Load,
    /// The command is sent again.
    Retry,
    /// The command is sent again on a new connection.
    Reconnect,
    Fail,
}

/// Parts of the errors of a script while the slot of its keys moves to another server of the cluster, up to Redis 7.2 and from Redis 7.4 or
/// Valkey 8 on.
const MOVING_SLOT: [&str; 3] = [
    "access a non local key",
    "accessed during rehashing of the slot",
    "access a slot not served",
];

impl Treatment {
    fn new(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::ResponseError)
                if error
                    .detail()
                    .is_some_and(|detail| MOVING_SLOT.iter().any(|part| detail.contains(part))) =>
            {
                Self::Retry
            }
            ErrorKind::Server(ServerErrorKind::NoScript) => Self::Load,
            ErrorKind::Server(
                ServerErrorKind::TryAgain
                | ServerErrorKind::Ask
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ClusterDown,
            ) => Self::Retry,
            // The address may have another primary by now.
            ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::ReadOnly)
            | ErrorKind::Io
            | ErrorKind::Parse
            | ErrorKind::ClusterConnectionNotFound => Self::Reconnect,
            ErrorKind::Server(ServerErrorKind::ResponseError) if is_error_in_script(error, "READONLY") => {
                Self::Reconnect
            }
            _ => Self::Fail,
        }
    }
}

/// Returns whether a command in a script had this error: Redis 6 reports `ERR Error running script (call to …): @user_script:1: -CODE …`.
fn is_error_in_script(error: &RedisError, code: &str) -> bool {
    let detail = error.detail().unwrap_or_default();
    detail.contains("Error running script") && detail.contains(&format!(" -{code} "))
}

/// The connection to Redis, which is made with the first operation, and again after it is lost.
pub(super) struct Link {
    target: Target,
    slot: Mutex<Slot>,
    /// Connection of the writes that replicas must have: Redis executes no other command of a connection that waits for replicas.
    replicated: Mutex<Slot>,
    health: StdMutex<RedisHealth>,
    /// Number of replicas that must have a write before a call that must not be repeated.
    replicas: u32,
    /// Secret that a server without a secret receives.
    secret: OnceLock<[u8; 32]>,
}

impl Link {
    /// Creates a link that connects with its first operation.
    pub(super) fn new(address: &RedisAddress, password: Option<&str>) -> Result<Self, StoreError> {
        let target = target(address, password).map_err(|error| failed(&error))?;
        Ok(Self {
            target,
            slot: Mutex::default(),
            replicated: Mutex::default(),
            health: StdMutex::default(),
            replicas: 0,
            secret: OnceLock::new(),
        })
    }

    /// Sets the number of replicas that must have a write.
    pub(super) fn set_replicas(&mut self, replicas: u32) {
        self.replicas = replicas;
    }

    /// Stores the secret again with each new connection, in case Redis has lost it: the next gateway would create another one.
    pub(super) fn keep_secret(&self, secret: [u8; 32]) {
        let _ = self.secret.set(secret);
    }

    /// Executes a script. With `is_replicated`, returns an error if fewer replicas than required have its writes after 100 ms. Such a script
    /// may be executed before the scripts that were sent earlier.
    pub(super) async fn write(
        &self,
        script: &StoreScript,
        keys: &[String],
        arguments: &[Vec<u8>],
        is_replicated: bool,
    ) -> Result<Value, StoreError> {
        let replicas = if is_replicated { self.replicas } else { 0 };
        let (written, have) = self.execute(script, keys, arguments, replicas).await?;
        if have < i64::from(replicas) {
            return Err(StoreError(format!(
                "Redis: {have} of {replicas} replicas have the write after {REPLICATION_MS} ms"
            )));
        }
        Ok(written)
    }

    /// Returns whether Redis has answered the latest operation with an error, or has not answered for a time. To be called after an error.
    pub(super) fn is_unavailable(&self) -> bool {
        self.with_health(|health| health.has_answered() || health.is_down(Instant::now()))
    }

    fn with_health<T>(&self, with: impl FnOnce(&mut RedisHealth) -> T) -> T {
        with(&mut self.health.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Executes a script.
    pub(super) async fn run(
        &self,
        script: &StoreScript,
        keys: &[String],
        arguments: &[Vec<u8>],
    ) -> Result<Value, StoreError> {
        Ok(self.execute(script, keys, arguments, 0).await?.0)
    }

    /// Executes a script, and waits for replicas. Returns the number of replicas with its writes, too.
    async fn execute(
        &self,
        script: &StoreScript,
        keys: &[String],
        arguments: &[Vec<u8>],
        replicas: u32,
    ) -> Result<(Value, i64), StoreError> {
        let command = |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        let loading = || Some(command("EVAL", &script.code));
        self.send(command("EVALSHA", &script.sha1), replicas, loading)
            .await
    }

    /// Executes a command.
    pub(super) async fn command(&self, command: Cmd) -> Result<Value, StoreError> {
        Ok(self.send(command, 0, || None).await?.0)
    }

    /// Sends a command until it is executed, or the time is over, and waits for replicas. Returns the reply and the number of replicas with
    /// the writes.
    async fn send(
        &self,
        mut command: Cmd,
        replicas: u32,
        loading: impl Fn() -> Option<Cmd>,
    ) -> Result<(Value, i64), StoreError> {
        let began = Instant::now();
        if self.with_health(|health| health.rests(began)) {
            return Err(StoreError(
                "no response to the operations before this one".to_owned(),
            ));
        }
        let slot = if replicas > 0 {
            &self.replicated
        } else {
            &self.slot
        };
        let end = began + LIMIT;
        let mut last: Option<RedisError> = None;
        loop {
            let mut used = 0;
            let attempt = timeout_at(end, self.attempt(slot, &command, replicas, &mut used)).await;
            let error = match attempt {
                Ok(Ok(replies)) => {
                    self.with_health(RedisHealth::answer);
                    return Ok(replies);
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    self.with_health(|health| health.fail(began, Instant::now()));
                    forget(slot, used).await;
                    let last = last.map_or_else(String::new, |error| format!(": {error}"));
                    return Err(StoreError(format!(
                        "no response within {} s{last}",
                        LIMIT.as_secs()
                    )));
                }
            };
            match Treatment::new(&error) {
                Treatment::Fail => {
                    self.with_health(RedisHealth::answer);
                    return Err(failed(&error));
                }
                Treatment::Load => match loading() {
                    Some(loading) => command = loading,
                    None => return Err(failed(&error)),
                },
                Treatment::Retry => sleep_until(end.min(Instant::now() + PAUSE)).await,
                Treatment::Reconnect => {
                    forget(slot, used).await;
                    sleep_until(end.min(Instant::now() + PAUSE)).await;
                }
            }
            last = Some(error);
        }
    }

    /// Sends a command once. `used` receives the number of the connection.
    async fn attempt(
        &self,
        slot: &Mutex<Slot>,
        command: &Cmd,
        replicas: u32,
        used: &mut u64,
    ) -> RedisResult<(Value, i64)> {
        let (number, mut connection) = self.connection(slot).await?;
        *used = number;
        if replicas > 0 {
            return connection.send_and_wait(command, replicas).await;
        }
        Ok((connection.send(command).await?, 0))
    }

    /// Returns the connection of a slot, which is made if there is none.
    async fn connection(&self, slot: &Mutex<Slot>) -> RedisResult<(u64, RedisConnection)> {
        let mut slot = slot.lock().await;
        if let Some(connection) = &slot.connection {
            return Ok((slot.number, connection.clone()));
        }
        let connection = match &self.target {
            Target::Single(client) => {
                let config = AsyncConnectionConfig::new()
                    .set_response_timeout(None)
                    .set_connection_timeout(Some(LIMIT));
                let connection = client
                    .get_multiplexed_async_connection_with_config(&config)
                    .await?;
                RedisConnection::Single(connection)
            }
            Target::Cluster(client) => RedisConnection::Cluster(client.get_async_connection().await?),
        };
        if let Some(secret) = self.secret.get() {
            let mut connection = connection.clone();
            // A write would fail without memory, also of a known secret. `RedisStore::check` reports errors.
            if matches!(connection.send(&get_secret()).await, Ok(Value::Nil)) {
                let _ = connection.send(&set_secret(secret)).await;
            }
        }
        slot.number += 1;
        slot.connection = Some(connection.clone());
        Ok((slot.number, connection))
    }
}

/// Makes the next attempt use a new connection in place of this one.
async fn forget(slot: &Mutex<Slot>, number: u64) {
    let mut slot = slot.lock().await;
    if slot.number == number {
        slot.connection = None;
    }
}

/// Returns the command that reads the secret of all gateways.
pub(super) fn get_secret() -> Cmd {
    let mut get = redis::cmd("GET");
    get.arg(SECRET);
    get
}

/// Returns the command that stores a secret if there is none.
pub(super) fn set_secret(secret: &[u8; 32]) -> Cmd {
    let mut set = redis::cmd("SET");
    set.arg(SECRET).arg(&secret[..]).arg("NX");
    set
}

/// Returns the client of an address.
fn target(address: &RedisAddress, password: Option<&str>) -> RedisResult<Target> {
    let certificates = address.has_tls.then(trusted_certificates);
    let mut settings = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP2)
        .set_db(address.database);
    if let Some(user) = &address.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = password {
        settings = settings.set_password(password);
    }
    let nodes = address.hosts.iter().map(|host| {
        let address = if address.has_tls {
            ConnectionAddr::TcpTls {
                host: host.name.clone(),
                port: host.port,
                insecure: false,
                tls_params: None,
            }
        } else {
            ConnectionAddr::Tcp(host.name.clone(), host.port)
        };
        Ok(address
            .into_connection_info()?
            .set_redis_settings(settings.clone()))
    });
    let mut nodes = nodes.collect::<RedisResult<Vec<ConnectionInfo>>>()?;
    if address.is_cluster {
        let mut builder = ClusterClientBuilder::new(nodes)
            .connection_timeout(LIMIT)
            .response_timeout(LIMIT);
        if let Some(certificates) = certificates {
            builder = builder.certs(certificates);
        }
        let client = builder.build()?;
        return Ok(Target::Cluster(Box::new(client)));
    }
    let node = nodes.remove(0);
    let client = match certificates {
        Some(certificates) => Client::build_with_tls(node, certificates)?,
        None => Client::open(node)?,
    };
    Ok(Target::Single(Box::new(client)))
}

/// Returns the certificates of the system, or in the files of `SSL_CERT_FILE` and `SSL_CERT_DIR`; without any, the crate's certificates are
/// trusted, which are Mozilla's.
fn trusted_certificates() -> TlsCertificates {
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "certificates of the system, or of SSL_CERT_FILE or SSL_CERT_DIR, were not loaded");
    }
    let pem = found.certs.iter().map(|certificate| {
        let text = STANDARD.encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    });
    let pem: String = pem.collect();
    TlsCertificates {
        client_tls: None,
        root_cert: Some(pem.into_bytes()).filter(|pem| !pem.is_empty()),
    }
}

fn failed(error: &RedisError) -> StoreError {
    let detail = error.detail().unwrap_or_default();
    match error.kind() {
        ErrorKind::Server(_) | ErrorKind::Extension
            if error.code() == Some("OOM")
                || detail.starts_with("OOM ")
                || is_error_in_script(error, "OOM") =>
        {
            StoreError("Redis has no memory; raise `maxmemory`".to_owned())
        }
        ErrorKind::Server(_) => StoreError(format!("Redis: {} {detail}", error.code().unwrap_or_default())),
        _ => StoreError(format!("Redis: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(text: &str) -> RedisError {
        let value = redis::parse_redis_value(format!("-{text}\r\n").as_bytes());
        value.and_then(Value::extract_error).unwrap_err()
    }

    #[test]
    fn script_is_retried_while_its_slot_moves() {
        for text in [
            "ERR Error running script (call to f_1a2b): @user_script:9: @user_script: 9: Lua script attempted to access a non local key in a cluster node ",
            "ERR Script attempted to access a non local key in a cluster node script: 1a2b, on @user_script:9.",
            "ERR Unable to execute command 'exists' in script because undeclared keys were accessed during rehashing of the slot script: 1a2b, on @user_script:9.",
            "ERR Script attempted to access a slot not served script: 1a2b, on @user_script:9.",
        ] {
            let treatment = Treatment::new(&server_error(text));
            assert!(matches!(treatment, Treatment::Retry), "{text}");
        }
    }

    /// Redis 6 has the code inside the text of an error, and Redis 7 in front.
    #[test]
    fn errors_of_commands_in_scripts_are_recognized() {
        for text in [
            "READONLY You can't write against a read only replica. script: 1a2b, on @user_script:40.",
            "ERR Error running script (call to f_1a2b): @user_script:40: @user_script: 40: -READONLY You can't write against a read only replica. ",
        ] {
            let treatment = Treatment::new(&server_error(text));
            assert!(matches!(treatment, Treatment::Reconnect), "{text}");
        }
        for text in [
            "OOM command not allowed when used memory > 'maxmemory'. script: 1a2b, on @user_script:40.",
            "ERR Error running script (call to f_1a2b): @user_script:40: @user_script: 40: -OOM command not allowed when used memory > 'maxmemory'. ",
        ] {
            let error = server_error(text);
            assert!(matches!(Treatment::new(&error), Treatment::Fail), "{text}");
            let StoreError(error) = failed(&error);
            assert_eq!(error, "Redis has no memory; raise `maxmemory`");
        }
        let other = server_error(
            "ERR Error running script (call to f_1a2b): @user_script:40: attempt to index a nil value",
        );
        assert!(matches!(Treatment::new(&other), Treatment::Fail));
    }
}
