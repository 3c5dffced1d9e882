//! [`Link`]: the connection to Redis, with retries within the time of an operation.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo as _,
    ProtocolVersion, RedisConnectionInfo, RedisError, RedisResult, ServerErrorKind, Value,
};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::address::RedisAddress;
use super::scripts::StoreScript;
use crate::session::store_error::StoreError;

/// Maximum time of an operation, with all of its retries.
const LIMIT: Duration = Duration::from_secs(2);

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

impl Treatment {
    fn new(error: &RedisError) -> Self {
        match error.kind() {
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
            _ => Self::Fail,
        }
    }
}

/// The connection to Redis.
pub(super) struct Link {
    target: Target,
    slot: Mutex<Slot>,
}

impl Link {
    /// Creates a link that connects with its first operation.
    pub(super) fn new(address: &RedisAddress, password: Option<&str>) -> Result<Self, StoreError> {
        let target = target(address, password).map_err(|error| failed(&error))?;
        Ok(Self {
            target,
            slot: Mutex::default(),
        })
    }

    /// Executes a script.
    pub(super) async fn run(
        &self,
        script: &StoreScript,
        keys: &[String],
        arguments: &[Vec<u8>],
    ) -> Result<Value, StoreError> {
        let command = |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        self.send(command("EVALSHA", &script.sha1), || {
            Some(command("EVAL", &script.code))
        })
        .await
    }

    /// Executes a command.
    pub(super) async fn command(&self, command: Cmd) -> Result<Value, StoreError> {
        self.send(command, || None).await
    }

    /// Sends a command until it is executed, or the time is over.
    async fn send(&self, mut command: Cmd, loading: impl Fn() -> Option<Cmd>) -> Result<Value, StoreError> {
        let end = Instant::now() + LIMIT;
        let mut last: Option<RedisError> = None;
        loop {
            let mut used = 0;
            let attempt = timeout_at(end, self.attempt(&command, &mut used)).await;
            let error = match attempt {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => error,
                Err(_) => {
                    self.forget(used).await;
                    let last = last.map_or_else(String::new, |error| format!(": {error}"));
                    return Err(StoreError(format!(
                        "no response within {} s{last}",
                        LIMIT.as_secs()
                    )));
                }
            };
            match Treatment::new(&error) {
                Treatment::Fail => return Err(failed(&error)),
                Treatment::Load => match loading() {
                    Some(loading) => command = loading,
                    None => return Err(failed(&error)),
                },
                Treatment::Retry => sleep_until(end.min(Instant::now() + PAUSE)).await,
                Treatment::Reconnect => {
                    self.forget(used).await;
                    sleep_until(end.min(Instant::now() + PAUSE)).await;
                }
            }
            last = Some(error);
        }
    }

    /// Sends a command once. `used` receives the number of the connection.
    async fn attempt(&self, command: &Cmd, used: &mut u64) -> RedisResult<Value> {
        let (number, mut connection) = self.connection().await?;
        *used = number;
        connection.send(command).await
    }

    /// Makes the next attempt use a new connection in place of this one.
    async fn forget(&self, number: u64) {
        let mut slot = self.slot.lock().await;
        if slot.number == number {
            slot.connection = None;
        }
    }

    async fn connection(&self) -> RedisResult<(u64, RedisConnection)> {
        let mut slot = self.slot.lock().await;
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
        slot.number += 1;
        slot.connection = Some(connection.clone());
        Ok((slot.number, connection))
    }
}

/// Returns the client of an address.
fn target(address: &RedisAddress, password: Option<&str>) -> RedisResult<Target> {
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
        let client = ClusterClientBuilder::new(nodes)
            .connection_timeout(LIMIT)
            .response_timeout(LIMIT)
            .build()?;
        return Ok(Target::Cluster(Box::new(client)));
    }
    Ok(Target::Single(Box::new(Client::open(nodes.remove(0))?)))
}

fn failed(error: &RedisError) -> StoreError {
    StoreError(format!("Redis: {error}"))
}
