//! Tests over a real server, which each test starts.

#[path = "../../../../../tests/support/redis_server.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::format_push_string,
    clippy::panic,
    reason = "shared with other suites"
)]
mod redis_server;
#[path = "../../../../../tests/support/redis_proxy.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other suites")]
mod redis_proxy;
mod requirements;
mod parts;
mod speed;
mod nodes;
#[cfg(unix)]
mod failover;
#[cfg(unix)]
mod replicas;
mod random_operations;
mod large_clients;
mod access;
#[cfg(unix)]
mod failures;

use std::sync::Arc;

use self::redis_server::{RedisReply, RedisServer};
use super::RedisStore;
use super::scripts::Scripts;

/// Creates a store of a server.
fn store_of(server: &RedisServer) -> RedisStore {
    RedisStore::new(&server.url().parse().unwrap(), None).unwrap()
}

impl RedisStore {
    /// Lets a test set the time of the scripts.
    fn with_skew(mut self) -> Self {
        self.scripts = Arc::new(Scripts::skewed());
        self
    }
}
