//! A primary of a cluster that dies.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::nodes::{Nodes, node};
use super::{RedisReply, lease_request};
use crate::session::redis::RedisStore;
use crate::session::redis::keys::ClientKeys;
use crate::session::store::{Appended, Lease, LeaseOutcome, Progress, SessionStore as _, StoreError};
use crate::session::tests::{digest, ids, save, turn};

async fn append(store: &RedisStore, lease: Lease, at: u64) -> Result<Appended, StoreError> {
    let progress = Progress {
        lease,
        restart: 0,
        at,
        segment: b"segment".to_vec(),
        is_last: false,
        precedes_effects: true,
    };
    store.append(digest("client"), progress).await
}

/// The replica of the client's primary is promoted, and has the writes before calls that must not be repeated.
#[tokio::test]
async fn replica_continues_after_the_death_of_its_primary() {
    let options = ["--cluster-node-timeout", "1000"];
    let Some(nodes) = Nodes::start_with(&options) else {
        return;
    };
    let Some(replica) = node(&options) else {
        return;
    };
    let store = nodes.store().with_wait_replicas(1);
    store.connect().await.unwrap();
    save(&store, turn("1", "a", "1")).await;
    let turn_key = ClientKeys::new(digest("client")).turn("1");
    let has_turn = |node: usize| nodes.0[node].run(&["EXISTS", &turn_key]) == RedisReply::Number(1);
    let owner = &nodes.0[(0..3).find(|node| has_turn(*node)).unwrap()];
    let port = replica.port().to_string();
    owner.run(&["CLUSTER", "MEET", "127.0.0.1", &port]);
    let id = owner.run(&["CLUSTER", "MYID"]).text().to_owned();
    // The replica learns of its primary from the messages of the other servers.
    replica.wait(|replica| replica.run(&["CLUSTER", "REPLICATE", &id]) == RedisReply::Text("OK".to_owned()));
    replica.wait(|replica| {
        let info = replica.run(&["INFO", "replication"]);
        info.text().contains("master_link_status:up")
    });
    // The primary counts the replica for a write only from now on.
    owner.wait(|owner| {
        owner
            .run(&["INFO", "replication"])
            .text()
            .contains("state=online")
    });
    // All servers know the replica, which needs the votes of the others.
    for server in &nodes.0 {
        server.wait(|server| server.run(&["CLUSTER", "NODES"]).text().contains(" slave "));
    }
    let request = lease_request("request", false);
    let LeaseOutcome::Taken { lease, .. } = store.claim(digest("client"), &request).await.unwrap() else {
        panic!("the request is new");
    };
    assert_eq!(append(&store, lease, 0).await, Ok(Appended::Kept));
    kill_process(Pid::from_raw(owner.process()).unwrap(), Signal::KILL).unwrap();
    replica.wait(|replica| {
        let role = replica.run(&["ROLE"]);
        let is_primary = |part: &RedisReply| *part == RedisReply::Text("master".to_owned());
        let is_promoted = matches!(&role, RedisReply::List(parts) if parts.first().is_some_and(is_primary));
        is_promoted
            && replica
                .run(&["CLUSTER", "INFO"])
                .text()
                .contains("cluster_state:ok")
    });
    // An operation has two seconds, and later ones fail at once for a time. The store finds the new primary without a restart.
    let renewed = async {
        while store.renew(digest("client"), lease, true).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let renewed = tokio::time::timeout(Duration::from_secs(30), renewed).await;
    renewed.expect("the new primary is found");
    assert_eq!(ids(&store, "1").await, ["1"]);
    // The segment was replicated.
    let later = append(&store, lease, 2).await.unwrap_err();
    assert!(later.0.starts_with("Redis: 0 of 1 replicas"), "{later}");
    match store.claim(digest("client"), &request).await.unwrap() {
        LeaseOutcome::Taken { log, .. } => assert_eq!(log, [b"segment"]),
        other => panic!("{other:?}"),
    }
}
