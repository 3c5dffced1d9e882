//! Replicas that must have each write.

use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};

use super::redis_proxy::{RedisProxy, Treatment};
use super::redis_server::run;
use super::{RedisServer, last_segment, lease_request, primary_and_replica};
use crate::session::redis::RedisStore;
use crate::session::store::{Appended, LeaseOutcome, Progress, SavedTurn, SessionStore as _, StoreError};
use crate::session::tests::{digest, ids, save, turn};
use crate::session::turn_record::TurnRecord;

/// Saves a turn before a call that must not be repeated.
pub(super) async fn save_before_effects(store: &RedisStore, id: &str) -> Result<(), StoreError> {
    let saved = SavedTurn {
        record: TurnRecord::new(turn(id, "ses", id)),
        revision: 0,
        calls: Vec::new(),
        keys: Vec::new(),
        progress: None,
        precedes_effects: true,
    };
    store.save(digest("client"), saved).await.map(|_| ())
}

/// The replicas of a new connection have all of its writes, which are none.
#[tokio::test]
async fn lost_connection_is_no_replication() {
    let Some([primary, replica]) = primary_and_replica() else {
        return;
    };
    let proxy = RedisProxy::start(primary.port());
    let store = RedisStore::new(&proxy.url().parse().unwrap(), None).unwrap();
    let store = store.with_wait_replicas(1);
    save_before_effects(&store, "1").await.unwrap();
    let process = Pid::from_raw(replica.process()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    let mut is_first = true;
    proxy.treat(move |name| {
        if name == "WAIT" && std::mem::take(&mut is_first) {
            Treatment::Lose
        } else {
            Treatment::Forward
        }
    });
    let StoreError(error) = save_before_effects(&store, "2").await.unwrap_err();
    assert!(
        error.starts_with("Redis: 0 of 1 replicas have the write"),
        "{error}"
    );
    kill_process(process, Signal::CONT).unwrap();
    save_before_effects(&store, "3").await.unwrap();
}

/// `WAIT` on a new connection waits only for the writes of this connection, from Redis 7.2 on.
#[tokio::test]
async fn operation_without_a_reply_writes_again_before_it_waits_for_replicas() {
    let Some([primary, _replica]) = primary_and_replica() else {
        return;
    };
    let proxy = RedisProxy::start(primary.port());
    let store = RedisStore::new(&proxy.url().parse().unwrap(), None).unwrap();
    let store = store.with_wait_replicas(1);
    let LeaseOutcome::Taken { lease, .. } = store
        .claim(digest("client"), &lease_request("request", false))
        .await
        .unwrap()
    else {
        panic!("the request is new");
    };
    let changes_at_waits = Arc::new(Mutex::new(Vec::new()));
    let lose_first_wait = || {
        let (port, changes) = (primary.port(), Arc::clone(&changes_at_waits));
        proxy.treat(move |name| {
            if name != "WAIT" {
                return Treatment::Forward;
            }
            let mut changes = changes.lock().unwrap();
            changes.push(number_of_changes(port));
            if changes.len() == 1 {
                Treatment::Lose
            } else {
                Treatment::Forward
            }
        });
    };
    let wrote_again = || {
        let changes = std::mem::take(&mut *changes_at_waits.lock().unwrap());
        assert_eq!(changes.len(), 2, "{changes:?}");
        changes[1] > changes[0]
    };
    let append = async |at| {
        let progress = Progress {
            at,
            is_last: false,
            precedes_effects: true,
            ..last_segment(lease)
        };
        let appended = store.append(digest("client"), progress).await;
        assert_eq!(appended, Ok(Appended::Kept));
    };
    // The server has the scripts from now on.
    save_before_effects(&store, "1").await.unwrap();
    append(0).await;
    lose_first_wait();
    save_before_effects(&store, "2").await.unwrap();
    assert!(wrote_again(), "save");
    lose_first_wait();
    append(1).await;
    assert!(wrote_again(), "append");
}

/// Returns the number of changes since the server of this port has started.
fn number_of_changes(port: u16) -> u64 {
    let info = run(port, &["INFO", "persistence"]).unwrap();
    let line = info
        .text()
        .lines()
        .find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
    line.unwrap().trim().parse().unwrap()
}

/// A connection that waits for replicas executes no other command.
#[tokio::test]
async fn other_operations_do_not_wait_for_replicas() {
    let Some(server) = RedisServer::start_with(&[]) else {
        return;
    };
    let proxy = RedisProxy::start(server.port());
    let store = RedisStore::new(&proxy.url().parse().unwrap(), None).unwrap();
    let store = store.with_wait_replicas(1);
    store.connect().await.unwrap();
    save(&store, turn("1", "ses", "1")).await;
    let commands = proxy.take_commands();
    assert!(!commands.contains(&"WAIT".to_owned()), "{commands:?}");
    // A loaded machine may be slower than the wait of one save.
    let mut is_first = false;
    for id in 2..12 {
        let id = id.to_string();
        tokio::select! {
            biased;
            saved = save_before_effects(&store, &id) => {
                let StoreError(error) = saved.unwrap_err();
                assert!(error.starts_with("Redis: 0 of 1 replicas have the write"), "{error}");
            }
            found = ids(&store, "1") => {
                assert_eq!(found, ["1"]);
                is_first = true;
                break;
            }
        }
    }
    assert!(is_first, "the look-up is not behind the wait");
}
