//! Removal of turns and sessions over the maximum.

use std::time::Duration;

use serde_json::json;

use super::{Folder, digest, ids, save, save_with, segment, session_of_key, turn, turn_of_call};
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;
use crate::session::record::SessionId;
use crate::session::store::{MAX_KEYS_OF_SESSION, SessionStore};
use crate::wire::block::Block;

#[tokio::test]
async fn stores_stay_within_their_caps() {
    let folder = Folder::new("caps");
    let file = FileStore::open(folder.file()).unwrap();
    caps_the_turns_of_a_client(&MemoryStore::new().with_max_turns_per_client(2)).await;
    caps_the_turns_of_a_client(&file.clone().with_max_turns_per_client(2)).await;
    let content = |bytes| "x".repeat(bytes);
    caps_the_bytes_of_a_session(&MemoryStore::new().with_max_bytes(33_000), 33_000, content).await;
    caps_the_bytes_of_a_session(&file.clone().with_max_bytes(20_000), 20_000, content).await;
    caps_the_keys_of_a_session(&MemoryStore::new()).await;
    caps_the_keys_of_a_session(&file).await;
}

/// With two turns per client, the oldest turns over the maximum are removed, except the turn that is being saved.
pub(crate) async fn caps_the_turns_of_a_client(store: &dyn SessionStore) {
    let kept = async || {
        let mut kept = Vec::new();
        for point in ["a1", "a2", "a3", "b1", "b2", "b3", "b4"] {
            kept.extend(ids(store, point).await);
        }
        kept
    };
    let save = async |session, turns: &[&str]| {
        for id in turns {
            save_with(store, turn(id, session, id), &[], &[session]).await;
        }
    };
    // A single session.
    save("ada/1", &["a1", "a2", "a3"]).await;
    assert_eq!(kept().await, ["a2", "a3"]);
    // Two sessions: the latest turns of a session stay longer.
    save("ada/2", &["b1"]).await;
    assert_eq!(kept().await, ["a3", "b1"]);
    let named = async |name| session_of_key(store, name).await;
    assert!(named("ada/1").await.is_some());
    save("ada/2", &["b2"]).await;
    assert_eq!(kept().await, ["b1", "b2"]);
    assert_eq!(
        named("ada/1").await,
        None,
        "the session is removed with its last turn"
    );
    save("ada/2", &["b3", "b4"]).await;
    assert_eq!(kept().await, ["b3", "b4"]);
    assert!(named("ada/2").await.is_some());
}

/// Uses a maximum of about 13 turns. A single session stays within this maximum.
pub(crate) async fn caps_the_bytes_of_a_session(
    store: &dyn SessionStore,
    max_bytes: usize,
    content: impl Fn(usize) -> String,
) {
    let kept = async || {
        let mut kept = Vec::new();
        for id in 0..=50 {
            kept.extend(ids(store, &id.to_string()).await);
        }
        kept
    };
    for id in 0..50 {
        save(store, turn(&id.to_string(), "a", &id.to_string())).await;
    }
    let before = kept().await;
    assert!((10..15).contains(&before.len()), "{before:?}");
    let latest = (50 - before.len()..50).map(|id| id.to_string());
    assert_eq!(before, latest.collect::<Vec<_>>());
    // A large turn displaces as many turns as it needs, and is kept even if its size is over the maximum.
    for bytes in [max_bytes - 1_000, 5 * max_bytes] {
        let mut large = turn("50", "a", "50");
        large.truth[0].blocks = vec![Block::text(&content(bytes))];
        save(store, large).await;
        assert_eq!(kept().await, ["50"]);
    }
}

/// A client may use many keys for one session. Only the latest keys find the session.
pub(crate) async fn caps_the_keys_of_a_session(store: &dyn SessionStore) {
    let keys: Vec<_> = (0..=MAX_KEYS_OF_SESSION)
        .map(|key| format!("key {key}"))
        .collect();
    let keys: Vec<_> = keys.iter().map(String::as_str).collect();
    let found = async |key: usize| {
        let session = session_of_key(store, keys[key]).await;
        session.map(|session| session.as_str().to_owned())
    };
    save_with(
        store,
        turn("k1", "keys/a", "k"),
        &[],
        &keys[..MAX_KEYS_OF_SESSION],
    )
    .await;
    assert_eq!(found(0).await.as_deref(), Some("keys/a"));
    // A key that is used again becomes the latest key. A key that is used for another session belongs to that session.
    save_with(store, turn("k2", "keys/a", "k"), &[], &keys[..1]).await;
    save_with(store, turn("k3", "keys/b", "k"), &[], &keys[1..2]).await;
    save_with(
        store,
        turn("k4", "keys/a", "k"),
        &[],
        &keys[MAX_KEYS_OF_SESSION..],
    )
    .await;
    assert_eq!(found(0).await.as_deref(), Some("keys/a"));
    assert_eq!(found(1).await.as_deref(), Some("keys/b"));
    assert_eq!(found(2).await.as_deref(), Some("keys/a"));
    assert_eq!(found(MAX_KEYS_OF_SESSION).await.as_deref(), Some("keys/a"));
    save_with(store, turn("k5", "keys/a", "k"), &[], &["another"]).await;
    assert_eq!(found(2).await, None);
}

/// Suspended turns of a client do not displace the turns of others.
#[tokio::test]
async fn saved_turns_have_space_beside_suspended_turns() {
    let folder = Folder::new("suspended-space");
    let file = FileStore::open(folder.file()).unwrap().with_max_bytes(6_000);
    let memory = MemoryStore::new().with_max_turns(4);
    for store in [&file as &dyn SessionStore, &memory] {
        for id in [
            "suspended-1",
            "suspended-2",
            "suspended-3",
            "suspended-4",
            "suspended-5",
        ] {
            save(store, turn(id, &format!("bo/{id}"), id)).await;
        }
        save(store, turn("1", "ada/1", "1")).await;
        assert_eq!(ids(store, "1").await, ["1"], "{}", store.name());
        assert_eq!(
            ids(store, "suspended-5").await,
            ["suspended-5"],
            "{}",
            store.name()
        );
    }
}

#[tokio::test]
async fn a_client_over_its_cap_displaces_its_own_sessions_only() {
    let folder = Folder::new("client-cap");
    let file = FileStore::open(folder.file()).unwrap();
    // Expiration times in a file are whole seconds.
    displaces_own_sessions(&file.with_max_turns_per_client(3), Duration::from_millis(1100)).await;
    let memory = MemoryStore::new().with_max_turns_per_client(3);
    displaces_own_sessions(&memory, Duration::ZERO).await;
}

/// Saves with three turns per client, and with this time between two sessions.
pub(crate) async fn displaces_own_sessions(store: &dyn SessionStore, between: Duration) {
    save(store, turn("a0", "ada/1", "a0")).await;
    for id in ["suspended-1", "b1", "b2", "b3"] {
        save(store, turn(id, &format!("bo/{id}"), id)).await;
        tokio::time::sleep(between).await;
    }
    let kept = async || {
        let mut kept = Vec::new();
        for id in ["a0", "suspended-1", "b1", "b2", "b3"] {
            kept.extend(ids(store, id).await);
        }
        kept
    };
    assert_eq!(kept().await, ["a0", "suspended-1", "b2", "b3"]);
    // A session that is longer than the maximum displaces other sessions, and then its own beginning.
    for id in 0..5 {
        save(store, turn(&format!("c{id}"), "bo/long", "c")).await;
    }
    assert_eq!(kept().await, ["a0"]);
    assert_eq!(ids(store, "c").await, ["c2", "c3", "c4"]);
}

/// Progress of requests is removed over the maximum, like sessions.
#[tokio::test]
async fn progress_in_a_file_makes_room() {
    let folder = Folder::new("progress");
    let store = FileStore::open(folder.file()).unwrap().with_max_bytes(20_000);
    let progress = |number: usize| segment(digest(&number.to_string()), 0, "x".repeat(1000).as_bytes());
    let mut size = 0;
    for number in 0..1000 {
        store.append(digest("ada"), progress(number)).await.unwrap();
        // A repeated request takes no more space.
        store.append(digest("ada"), progress(number)).await.unwrap();
        let found = store
            .progress(digest("ada"), digest(&number.to_string()))
            .await
            .unwrap();
        assert_eq!(found, [progress(number).segment]);
        if number == 100 {
            size = std::fs::metadata(folder.file()).unwrap().len();
        }
    }
    let mut kept = Vec::new();
    for number in 0..1000 {
        let found = store
            .progress(digest("ada"), digest(&number.to_string()))
            .await
            .unwrap();
        kept.extend(found.first().map(|_| number));
    }
    assert!((15..=20).contains(&kept.len()), "{kept:?}");
    let later = std::fs::metadata(folder.file()).unwrap().len();
    assert!(later <= size * 2, "{size} → {later}");
}

#[tokio::test]
async fn removes_the_session_that_expires_first() {
    let store = MemoryStore::new().with_max_turns(3);
    save_with(&store, turn("suspended-1", "a", "1"), &["call"], &[]).await;
    save_with(&store, turn("2", "b", "2"), &[], &["key b"]).await;
    save(&store, turn("3", "c", "3")).await;
    assert_eq!(
        ids(&store, "2").await,
        ["2"],
        "a look-up does not renew the session"
    );
    save(&store, turn("4", "d", "4")).await;
    assert_eq!(ids(&store, "2").await, [""; 0]);
    save(&store, turn("5", "e", "5")).await;
    assert_eq!(
        (ids(&store, "1").await, ids(&store, "3").await),
        (vec!["suspended-1".to_owned()], Vec::new())
    );
    assert_eq!(
        session_of_key(&store, "key b").await,
        None,
        "the key is removed with its session"
    );
    assert!(turn_of_call(&store, "call").await.is_some());
    assert_eq!(store.len(), 3);
}

#[tokio::test]
async fn continued_suspended_turns_are_evicted_like_others() {
    let store = MemoryStore::new().with_max_turns(2);
    save(&store, turn("suspended-1", "a", "1")).await;
    save_with(&store, turn("2", "a", "2"), &[], &["key"]).await;
    save_with(&store, turn("3", "b", "3"), &[], &["key"]).await;
    assert_eq!(ids(&store, "1").await, [""; 0]);
    assert_eq!(
        (ids(&store, "2").await, ids(&store, "3").await),
        (vec!["2".to_owned()], vec!["3".to_owned()])
    );
    // The key belongs to the other session now, and stays when the first session is removed.
    save(&store, turn("4", "b", "4")).await;
    save(&store, turn("5", "b", "5")).await;
    let named = session_of_key(&store, "key").await;
    assert_eq!(named, Some(SessionId::new("b".to_owned())));
}

#[tokio::test]
async fn bytes_are_capped_and_ten_thousand_suspended_turns_have_space() {
    let store = MemoryStore::new().with_max_bytes(10_000);
    for id in 0..100 {
        save(&store, turn(&id.to_string(), "a", &id.to_string())).await;
    }
    assert!((1..10).contains(&store.len()), "{}", store.len());
    let store = MemoryStore::new();
    for id in 0..10_000 {
        let id = format!("suspended-{id}");
        save_with(&store, turn(&id, "a", &id), &[&id], &[]).await;
    }
    assert_eq!(store.len(), 10_000);
    assert!(turn_of_call(&store, "suspended-0").await.is_some());
}

#[tokio::test]
async fn counts_the_bytes_of_invalid_arguments() {
    let json = json!({ "type": "tool_use", "id": "a", "name": "n", "input": {} });
    let stored = json!({ "json": json, "raw_input": "x".repeat(10_000) });
    let block: Block = serde_json::from_str(&stored.to_string()).unwrap();
    let store = MemoryStore::new().with_max_bytes(50_000);
    for id in 0..20 {
        let mut turn = turn(&id.to_string(), "a", "1");
        turn.truth[0].blocks = vec![block.clone()];
        save(&store, turn).await;
    }
    assert!((3..5).contains(&store.len()), "{}", store.len());
}
