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
use crate::session::store::LeaseRequest;
#[cfg(unix)]
use crate::session::store::{Lease, Progress};
use crate::session::tests::digest;

/// Creates a store of a server.
fn store_of(server: &RedisServer) -> RedisStore {
    RedisStore::new(&server.url().parse().unwrap(), None).unwrap()
}

/// Starts a server and its replica.
#[cfg(unix)]
fn primary_and_replica() -> Option<[RedisServer; 2]> {
    let [primary, replica] = [RedisServer::start_with(&[])?, RedisServer::start_with(&[])?];
    replica.run(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    for (server, state) in [(&replica, "master_link_status:up"), (&primary, "state=online")] {
        server.wait(|server| {
            let replication = server.run(&["INFO", "replication"]);
            replication.text().contains(state)
        });
    }
    Some([primary, replica])
}

/// Creates a request of the first gateway for a lease.
fn lease_request(request: &str, is_retry: bool) -> LeaseRequest<'static> {
    LeaseRequest {
        request: digest(request),
        instance: 1,
        running: &[],
        idempotency_key: None,
        is_retry,
    }
}

/// Creates the only segment of a complete log.
#[cfg(unix)]
fn last_segment(lease: Lease) -> Progress {
    Progress {
        lease,
        restart: 0,
        at: 0,
        segment: b"segment".to_vec(),
        is_last: true,
        precedes_effects: false,
    }
}

impl RedisStore {
    /// Lets a test set the time of the scripts.
    fn with_skew(mut self) -> Self {
        self.scripts = Arc::new(Scripts::skewed());
        self
    }
}
