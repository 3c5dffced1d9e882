//! Replicas that must have each write.

use rustix::process::{Pid, Signal, kill_process};

use super::redis_proxy::{RedisProxy, Treatment};
use super::{RedisServer, primary_and_replica};
use crate::session::redis::RedisStore;
use crate::session::store::{SavedTurn, SessionStore as _, StoreError};
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
