//! Requirements of every session store.

use std::sync::Arc;
use std::time::Duration;

use super::{Folder, digest, ids, known, save, save_with, state, turn};
use crate::session::clock;
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;
use crate::session::record::SessionId;
use crate::session::store::{MAX_TURNS_OF_POINT, Progress, SessionStore};
use crate::wire::block::Block;

/// R-GW-11
#[tokio::test]
async fn memory_store_conforms() {
    conforms(&MemoryStore::new()).await;
    bounds_equal_histories(&MemoryStore::new(), 10_000).await;
}

/// R-GW-12
#[tokio::test(start_paused = true)]
async fn memory_store_expires_complete_sessions() {
    let store = MemoryStore::new()
        .with_ttl(TTL)
        .with_clock(clock::tests::paused());
    expires(&store, tokio::time::advance).await;
}

/// R-GW-12
#[tokio::test]
async fn file_store_expires_complete_sessions() {
    let folder = Folder::new("conforms-expiry");
    let store = FileStore::open(folder.file()).unwrap().with_ttl(TTL);
    expires(&store, tokio::time::sleep).await;
}

#[tokio::test]
async fn file_store_conforms_and_survives_the_process() {
    let folder = Folder::new("conforms");
    let store = FileStore::open(folder.file()).unwrap();
    conforms(&store).await;
    bounds_equal_histories(&store, 200).await;
    let secret = store.secret();
    assert!(secret.is_some());
    drop(store);
    let store = FileStore::open(folder.file()).unwrap();
    assert_eq!(store.secret(), secret);
    assert_eq!(ids(&store, "one").await, ["2", "suspended-1"]);
    let again = store.turn_of_call(digest("call 1")).await.unwrap().unwrap();
    assert_eq!(again.calls[0].result, Some(Block::text("done")));
    let named = store.session_of_key(digest("key a")).await.unwrap();
    assert_eq!(named, Some(SessionId("a".to_owned())));
}

/// Tests any store.
async fn conforms(store: &dyn SessionStore) {
    assert_eq!(ids(store, "nowhere").await, [""; 0]);
    assert_eq!(store.turn_of_call(digest("nothing")).await.unwrap(), None);
    assert_eq!(store.session_of_key(digest("nothing")).await.unwrap(), None);
    assert_eq!(store.session(&SessionId("none".to_owned())).await.unwrap(), None);
    assert_eq!(known(store).await, [""; 0]);
    assert!(!store.ttl().is_zero());

    // A turn is found by its point, by its call and by its session's key.
    let first = turn("suspended-1", "a", "one");
    save_with(store, first.clone(), &["call 1"], &["key a"]).await;
    assert_eq!(
        store.turns(&[digest("one")], None).await.unwrap(),
        [[Arc::new(first.clone())]]
    );
    assert_eq!(
        store.turn_of_call(digest("call 1")).await.unwrap(),
        Some(Arc::new(first.clone()))
    );
    assert_eq!(
        store.session_of_key(digest("key a")).await.unwrap(),
        Some(first.session.clone())
    );
    let session = store.session(&first.session).await.unwrap().unwrap();
    assert_eq!((&session.id, &session.state), (&first.session, &first.state));

    // Two branches with the same visible history are two turns, oldest first. A look-up returns only the turns of its points.
    save(store, turn("2", "b", "one")).await;
    save(store, turn("3", "a", "two")).await;
    assert_eq!(ids(store, "one").await, ["suspended-1", "2"]);
    let several = store
        .turns(&[digest("two"), digest("nowhere"), digest("one")], None)
        .await
        .unwrap();
    assert_eq!(several.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 2]);

    // Three turns and their size.
    let size = store.size().await.unwrap().unwrap();
    assert!(size.turns == 3 && size.bytes > 3000, "{size:?}");

    // The session has the state of its latest turn, and its original creation time.
    let later = store.session(&first.session).await.unwrap().unwrap();
    assert_eq!(later.state, state("3"));
    assert_eq!(later.created_at, session.created_at);
    assert!(later.last_active >= session.last_active);

    assert_eq!(known(store).await, ["a", "b"]);

    // Durable stores also save the progress of a request. Segments keep their order. A new log replaces the previous log.
    if store.is_durable() {
        let (client, request) = (digest("a"), digest("request"));
        let append = async |at: u64, segment: &str| {
            let segment = segment.as_bytes().to_vec();
            let progress = Progress {
                client,
                request,
                at,
                segment,
            };
            store.save_progress(progress).await
        };
        let segments = async || store.progress(client, request).await.unwrap();
        assert!(segments().await.is_empty());
        append(0, "{}").await.unwrap();
        append(1, "one").await.unwrap();
        append(2, "two").await.unwrap();
        assert_eq!(segments().await, [&b"{}"[..], b"one", b"two"]);
        // The previous segment is missing.
        assert!(append(4, "four").await.is_err());
        assert_eq!(segments().await.len(), 3);
        append(0, "again").await.unwrap();
        assert_eq!(segments().await, [b"again"]);
    }

    // A turn that is saved again, with the results of its deferred calls, replaces the earlier version.
    let mut again = first.clone();
    again.calls[0].result = Some(Block::text("done"));
    save_with(store, again.clone(), &["call 1"], &["key a"]).await;
    let mut found = ids(store, "one").await;
    found.sort();
    assert_eq!(found, ["2", "suspended-1"]);
    assert_eq!(
        store.turn_of_call(digest("call 1")).await.unwrap(),
        Some(Arc::new(again))
    );
}

/// The look-up of a point returns its latest turns and all turns of the requested session, however many others there are.
async fn bounds_equal_histories(store: &dyn SessionStore, sessions: usize) {
    let id = |number: usize| format!("{number:05}");
    for number in 0..sessions {
        save(store, turn(&id(number), &id(number), "hi")).await;
    }
    save(store, turn("again", &id(0), "elsewhere")).await;
    let found = async |session: Option<&SessionId>| {
        let points = [digest("elsewhere"), digest("hi")];
        let turns = store.turns(&points, session).await.unwrap();
        assert_eq!(turns[0].len(), 1);
        turns[1].iter().map(|turn| turn.id.clone()).collect::<Vec<_>>()
    };
    let latest: Vec<_> = (sessions - MAX_TURNS_OF_POINT..sessions).map(id).collect();
    assert_eq!(found(None).await, latest);
    assert_eq!(found(Some(&SessionId(id(sessions - 1)))).await, latest);
    assert_eq!(found(Some(&SessionId("unknown".to_owned()))).await, latest);
    let with_own = [vec![id(0)], latest].concat();
    assert_eq!(found(Some(&SessionId(id(0)))).await, with_own);
}

/// Expiration times in a file are whole seconds.
const TTL: Duration = Duration::from_secs(2);

/// A session and all of its turns expire one TTL after its latest turn. A turn that waits for the client extends this time. A session is
/// renewed only by a turn.
async fn expires(store: &dyn SessionStore, wait: impl AsyncFn(Duration)) {
    save_with(store, turn("1", "read", "1"), &["call"], &["key"]).await;
    save(store, turn("2", "continued", "2")).await;
    save(store, turn("suspended-3", "waiting", "3")).await;
    save(store, turn("suspended-4", "answered", "4")).await;
    save(store, turn("5", "answered", "5")).await;
    let read = SessionId("read".to_owned());
    for step in 0..5 {
        wait(TTL / 4).await;
        ids(store, "1").await;
        store.turn_of_call(digest("call")).await.unwrap();
        store.session_of_key(digest("key")).await.unwrap();
        store.session(&read).await.unwrap();
        save(store, turn(&format!("more {step}"), "continued", "more")).await;
    }
    let mut kept = Vec::new();
    for point in ["1", "2", "3", "4", "5"] {
        kept.extend(ids(store, point).await);
    }
    assert_eq!(kept, ["2", "suspended-3"]);
    assert_eq!(ids(store, "more").await.len(), 5);
    assert_eq!(store.turn_of_call(digest("call")).await.unwrap(), None);
    assert_eq!(store.session_of_key(digest("key")).await.unwrap(), None);
    assert_eq!(store.session(&read).await.unwrap(), None);
    // Removed entries have made room.
    save(store, turn("6", "new", "6")).await;
    assert_eq!(store.size().await.unwrap().unwrap().turns, 8);
}

#[tokio::test]
async fn stores_keep_turns_of_other_clients() {
    let folder = Folder::new("conforms-clients");
    let memory = MemoryStore::new()
        .with_max_bytes(60_000)
        .with_max_bytes_per_client(40_000);
    keeps_turns_of_other_clients(&memory).await;
    let file = FileStore::open(folder.file()).unwrap();
    let file = file.with_max_bytes(60_000).with_max_bytes_per_client(40_000);
    keeps_turns_of_other_clients(&file).await;
}

/// Expects a store with limits of 40,000 bytes per client and 60,000 bytes in total.
async fn keeps_turns_of_other_clients(store: &dyn SessionStore) {
    save_with(store, turn("suspended-1", "ada/1", "waits"), &["call"], &[]).await;
    let large = |id: &str, session: &str, bytes: usize| {
        let mut turn = turn(id, session, id);
        turn.truth[0].blocks = vec![Block::text(&"x".repeat(bytes))];
        turn
    };
    let kept = async |ids_of: &[String]| {
        let mut kept = Vec::new();
        for id in ids_of {
            kept.extend(ids(store, id).await);
        }
        kept
    };
    // Many large turns of one client, in one session and in many, above the limit of a client.
    let large_ids: Vec<_> = (0..18).map(|number| format!("large {number}")).collect();
    for (number, id) in large_ids.iter().enumerate() {
        save(store, large(id, &format!("eve/{}", number % 9), 18_000)).await;
    }
    let of_eve = kept(&large_ids).await;
    assert_eq!(of_eve.last(), large_ids.last(), "{}", store.name());
    assert!(of_eve.len() <= 2, "{of_eve:?}");
    save(store, large("huge", "eve/huge", 200_000)).await;
    assert_eq!(ids(store, "huge").await, ["huge"]);
    let found = store.turn_of_call(digest("call")).await.unwrap();
    assert!(found.is_some(), "{}", store.name());
    // Over the total, the client with the most bytes loses its oldest turns, whichever client saves.
    save(store, large("of bob", "bob/1", 18_000)).await;
    assert_eq!(ids(store, "huge").await, [""; 0]);
    for number in 0..4 {
        save(
            store,
            large(&format!("of cyd {number}"), &format!("cyd/{number}"), 10_000),
        )
        .await;
    }
    save(store, large("of dan", "dan/1", 9_000)).await;
    assert!(ids(store, "of cyd 0").await.is_empty(), "{}", store.name());
    for kept in ["waits", "of bob", "of cyd 3", "of dan"] {
        assert_eq!(ids(store, kept).await.len(), 1, "{kept} in {}", store.name());
    }
}
