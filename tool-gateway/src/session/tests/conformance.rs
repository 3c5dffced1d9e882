//! Requirements of every session store.

use std::sync::Arc;
use std::time::Duration;

use super::own_store::OwnStore;
use super::{
    Folder, digest, finder, ids, known, save, save_with, session, session_of_key, state, turn, turn_of_call,
    turns,
};
use crate::session::clock;
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;
use crate::session::record::SessionId;
use crate::session::store::{Lookup, MAX_TURNS_OF_POINT, Reach, SaveOutcome, SavedTurn, SessionStore};
use crate::session::turn_record::TurnRecord;
use crate::wire::block::Block;

/// R-GW-11
#[tokio::test]
async fn memory_store_conforms() {
    conforms(&MemoryStore::new()).await;
    bounds_equal_histories(&MemoryStore::new(), 9_000).await;
}

#[tokio::test]
async fn store_of_a_user_conforms() {
    conforms(&OwnStore::default()).await;
    bounds_equal_histories(&OwnStore::default(), 200).await;
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
    let again = turn_of_call(&store, "call 1").await.unwrap();
    assert_eq!(again.calls[0].result, Some(Block::text("done")));
    let named = session_of_key(&store, "key a").await;
    assert_eq!(named, Some(SessionId::new("a".to_owned())));
}

/// Tests any store.
pub(crate) async fn conforms(store: &dyn SessionStore) {
    assert_eq!(ids(store, "nowhere").await, [""; 0]);
    assert_eq!(turn_of_call(store, "nothing").await, None);
    assert_eq!(session_of_key(store, "nothing").await, None);
    assert_eq!(session(store, &SessionId::new("none".to_owned())).await, None);
    assert_eq!(known(store).await, [""; 0]);
    assert!(!store.ttl().is_zero());

    // A turn is found by its point, by its call and by its session's key.
    let first = turn("suspended-1", "a", "one");
    save_with(store, first.clone(), &["call 1"], &["key a"]).await;
    assert_eq!(turns(store, &[digest("one")]).await, [[Arc::new(first.clone())]]);
    assert_eq!(turn_of_call(store, "call 1").await, Some(Arc::new(first.clone())));
    assert_eq!(session_of_key(store, "key a").await, Some(first.session.clone()));
    let created = session(store, &first.session).await.unwrap();
    assert_eq!((&created.id, &created.state), (&first.session, &first.state));

    // Two branches with the same visible history are two turns, oldest first. A look-up returns only the turns of its points.
    save(store, turn("2", "b", "one")).await;
    save(store, turn("3", "a", "two")).await;
    assert_eq!(ids(store, "one").await, ["suspended-1", "2"]);
    let several = turns(store, &[digest("two"), digest("nowhere"), digest("one")]).await;
    assert_eq!(several.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 2]);

    // Three turns and their size.
    if let Some(size) = store.size().await.unwrap() {
        assert!(size.turns == 3 && size.bytes > 3000, "{size:?}");
    }

    // The session has the state of its latest turn, and its original creation time.
    let later = session(store, &first.session).await.unwrap();
    assert_eq!(later.state, state("3"));
    assert_eq!(later.created_at, created.created_at);
    assert!(later.last_active >= created.last_active);

    assert_eq!(known(store).await, ["a", "b"]);

    // A store in a file also saves the progress of a request, without a lease. Segments keep their order. A new log replaces the previous log.
    if store.reach() == Reach::Machine {
        let (client, request) = (digest("a"), digest("request"));
        let append = async |at: u64, segment: &str| {
            store
                .append(client, super::segment(request, at, segment.as_bytes()))
                .await
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
    assert_eq!(turn_of_call(store, "call 1").await, Some(Arc::new(again)));
    finds_several(store).await;
    separates_clients(store).await;
    replaces_only_the_named_revision(store).await;
}

/// The first known key and the first known call are found. Without another session, all turns of the call's session are found.
async fn finds_several(store: &dyn SessionStore) {
    save_with(store, turn("many-1", "a", "many"), &["call many"], &["key many"]).await;
    for number in 0..MAX_TURNS_OF_POINT {
        save(store, turn(&format!("many other {number}"), "other", "many")).await;
    }
    let find = async |keys: &[&str], calls: &[&str]| {
        let digests = |names: &[&str]| names.iter().map(|name| digest(name)).collect::<Vec<_>>();
        let lookup = Lookup {
            keys: &digests(keys),
            calls: &digests(calls),
            points: &[digest("many")],
            session: None,
        };
        let found = finder(store, "client").history(lookup).await.unwrap();
        let call = found.call.map(|(at, turn)| (at, turn.id.clone()));
        (
            found.session.map(|session| session.as_str().to_owned()),
            call,
            found.turns[0].len(),
        )
    };
    let latest = MAX_TURNS_OF_POINT;
    assert_eq!(find(&["nothing"], &["nothing"]).await, (None, None, latest));
    let named = Some("a".to_owned());
    assert_eq!(
        find(&["nothing", "key many"], &[]).await,
        (named.clone(), None, latest + 1)
    );
    let of_call = Some((1, "many-1".to_owned()));
    assert_eq!(
        find(&[], &["nothing", "call many", "call 1"]).await,
        (None, of_call, latest + 1)
    );
}

/// No client finds a session or a turn of another client, with equal digests, either.
async fn separates_clients(store: &dyn SessionStore) {
    save_with(
        store,
        turn("ada's", "ada/1", "both"),
        &["call of ada"],
        &["key of ada"],
    )
    .await;
    save_with(
        store,
        turn("bob's", "bob/1", "both"),
        &["call of bob"],
        &["key of bob"],
    )
    .await;
    for (client, own, other) in [("ada", "ada's", "bob"), ("bob", "bob's", "ada")] {
        let (of_other, session_of_other) = (format!("{other}'s"), SessionId::new(format!("{other}/1")));
        let found = finder(store, client)
            .turns(&[digest("both")], Some(&session_of_other))
            .await;
        let found: Vec<_> = found.unwrap()[0].iter().map(|turn| turn.id.clone()).collect();
        assert_eq!(found, [own]);
        let call = digest(&format!("call of {other}"));
        assert_eq!(finder(store, client).turn_of_call(call).await.unwrap(), None);
        let key = format!("key of {other}");
        assert_eq!(super::session_of(store, client, &key).await.unwrap(), None);
        assert_eq!(finder(store, client).turn(&of_other).await.unwrap(), None);
        let session = store.session(digest(client), &session_of_other).await;
        assert_eq!(session.unwrap(), None);
        let has = async |client| store.has_session(client, &session_of_other).await.unwrap();
        assert!(has(None).await && has(Some(digest(other))).await);
        assert!(!has(Some(digest(client))).await);
    }
}

/// A turn is created once, and replaced only by a request that has read its latest revision.
async fn replaces_only_the_named_revision(store: &dyn SessionStore) {
    let save = async |state: &str, revision: u64| {
        let mut changed = turn("revised", "a", "revised");
        changed.state = super::state(state);
        let saved = SavedTurn {
            record: TurnRecord::new(changed),
            revision,
            calls: Vec::new(),
            keys: Vec::new(),
            progress: None,
            precedes_effects: false,
        };
        store.save(digest("client"), saved).await.unwrap()
    };
    let revision_of = |saved| match saved {
        SaveOutcome::Saved { revision } => revision,
        other => panic!("{other:?}"),
    };
    assert_eq!(save("unknown", 7).await, SaveOutcome::Conflict { revision: 0 });
    let first = revision_of(save("first", 0).await);
    assert_eq!(save("again", 0).await, SaveOutcome::Conflict { revision: first });
    let second = revision_of(save("second", first).await);
    assert!(first > 0 && second > first, "{first} {second}");
    assert_eq!(
        save("late", first).await,
        SaveOutcome::Conflict { revision: second }
    );
    let stored = finder(store, "client").turn("revised").await.unwrap().unwrap();
    assert_eq!(
        (stored.revision, stored.record.state()),
        (second, &state("second"))
    );
    assert_eq!(ids(store, "revised").await, ["revised"]);
}

/// The look-up of a point returns its latest turns and all turns of the requested session, however many others there are.
pub(crate) async fn bounds_equal_histories(store: &dyn SessionStore, sessions: usize) {
    let id = |number: usize| format!("{number:05}");
    for number in 0..sessions {
        save(store, turn(&id(number), &id(number), "hi")).await;
    }
    save(store, turn("again", &id(0), "elsewhere")).await;
    let found = async |session: Option<&SessionId>| {
        let points = [digest("elsewhere"), digest("hi")];
        let turns = finder(store, "client").turns(&points, session).await.unwrap();
        assert_eq!(turns[0].len(), 1);
        turns[1].iter().map(|turn| turn.id.clone()).collect::<Vec<_>>()
    };
    let latest: Vec<_> = (sessions - MAX_TURNS_OF_POINT..sessions).map(id).collect();
    assert_eq!(found(None).await, latest);
    assert_eq!(found(Some(&SessionId::new(id(sessions - 1)))).await, latest);
    assert_eq!(found(Some(&SessionId::new("unknown".to_owned()))).await, latest);
    let with_own = [vec![id(0)], latest].concat();
    assert_eq!(found(Some(&SessionId::new(id(0)))).await, with_own);
}

/// Expiration times in a file are whole seconds.
pub(crate) const TTL: Duration = Duration::from_secs(2);

/// A session and all of its turns expire one TTL after its latest turn. A turn that waits for the client extends this time. A session is
/// renewed only by a turn.
pub(crate) async fn expires(store: &dyn SessionStore, wait: impl AsyncFn(Duration)) {
    save_with(store, turn("1", "read", "1"), &["call"], &["key"]).await;
    save(store, turn("2", "continued", "2")).await;
    save(store, turn("suspended-3", "waiting", "3")).await;
    save(store, turn("suspended-4", "answered", "4")).await;
    save(store, turn("5", "answered", "5")).await;
    let read = SessionId::new("read".to_owned());
    for step in 0..5 {
        wait(TTL / 4).await;
        ids(store, "1").await;
        turn_of_call(store, "call").await;
        session_of_key(store, "key").await;
        session(store, &read).await;
        save(store, turn(&format!("more {step}"), "continued", "more")).await;
    }
    let mut kept = Vec::new();
    for point in ["1", "2", "3", "4", "5"] {
        kept.extend(ids(store, point).await);
    }
    assert_eq!(kept, ["2", "suspended-3"]);
    assert_eq!(ids(store, "more").await.len(), 5);
    assert_eq!(turn_of_call(store, "call").await, None);
    assert_eq!(session_of_key(store, "key").await, None);
    assert_eq!(session(store, &read).await, None);
    // Removed entries have made room.
    save(store, turn("6", "new", "6")).await;
    if let Some(size) = store.size().await.unwrap() {
        assert_eq!(size.turns, 8);
    }
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
    let found = turn_of_call(store, "call").await;
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
