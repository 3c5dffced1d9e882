//! A server that hangs, restarts, loses data, has no memory, or denies commands.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::replicas::save_before_effects;
use super::{RedisReply, RedisServer, last_segment, lease_request, primary_and_replica, store_of};
use crate::session::record::SessionId;
use crate::session::redis::RedisStore;
use crate::session::redis::keys::ClientKeys;
use crate::session::store::{
    Appended, Lease, LeaseOutcome, LeaseRequest, Progress, SavedTurn, SessionStore, StoreError,
};
use crate::session::tests::{conformance, digest, ids, save, save_with, session_of_key, turn, turn_of_call};
use crate::session::turn_record::TurnRecord;

fn signal(process: i32, signal: Signal) {
    kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
}

async fn try_save(store: &RedisStore, id: &str, content: &str) -> Result<(), StoreError> {
    let mut saved = turn(id, "ses", id);
    saved.state.insert("content".to_owned(), content.into());
    let saved = SavedTurn {
        record: TurnRecord::new(saved),
        revision: 0,
        calls: Vec::new(),
        keys: Vec::new(),
        progress: None,
        precedes_effects: false,
    };
    store.save(digest("client"), saved).await.map(|_| ())
}

/// Claims a free sample of a request.
async fn take(store: &RedisStore, request: &LeaseRequest<'_>) -> Lease {
    match store.claim(digest("client"), request).await.unwrap() {
        LeaseOutcome::Taken { lease, .. } => lease,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn operations_on_a_server_that_hangs_fail_after_two_seconds_and_then_at_once() {
    let Some(server) = RedisServer::start_with(&[]) else {
        return;
    };
    let store = store_of(&server);
    store.connect().await.unwrap();
    save(&store, turn("1", "a", "1")).await;
    let process = server.process();
    signal(process, Signal::STOP);
    let began = Instant::now();
    for id in ["2", "3", "4"] {
        let StoreError(error) = try_save(&store, id, "").await.unwrap_err();
        assert!(error.starts_with("no response within 2 s"), "{error}");
    }
    let attempts = began.elapsed();
    assert!(attempts >= Duration::from_secs(6), "{attempts:?}");
    let StoreError(error) = try_save(&store, "5", "").await.unwrap_err();
    assert_eq!(error, "no response to the operations before this one");
    assert!(store.check().await.is_ok(), "not down for ten seconds");
    signal(process, Signal::CONT);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ids(&store, "1").await, ["1"]);
    try_save(&store, "5", "").await.unwrap();
    // A write whose answer was not received is executed once, or never.
    let found = ids(&store, "2").await;
    assert!(found.is_empty() || found == ["2"], "{found:?}");
}

#[tokio::test]
async fn a_server_that_restarts_empty_is_found_again_without_its_sessions() {
    let Some(server) = RedisServer::start_with(&[]) else {
        return;
    };
    let store = store_of(&server);
    store.connect().await.unwrap();
    let secret = store.secret();
    save_with(&store, turn("1", "a", "1"), &["call"], &["key"]).await;
    let port = server.port();
    drop(server);
    let server = RedisServer::start_on(port, &[]).unwrap();
    assert_eq!(ids(&store, "1").await, [""; 0]);
    assert_eq!(turn_of_call(&store, "call").await, None);
    save(&store, turn("2", "a", "2")).await;
    assert_eq!(ids(&store, "2").await, ["2"]);
    // A gateway keeps its secret, which a later gateway does not have any more.
    store.check().await.unwrap();
    assert_eq!(store.secret(), secret);
    server.run(&["SCRIPT", "FLUSH"]);
    save(&store, turn("3", "a", "3")).await;
    assert_eq!(ids(&store, "3").await, ["3"]);
}

#[tokio::test]
async fn a_save_without_memory_fails_and_changes_nothing() {
    let options = ["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"];
    let Some(server) = RedisServer::start_with(&options) else {
        return;
    };
    let store = store_of(&server);
    let content = |id: usize| {
        let bytes = crate::random::bytes::<20_000>();
        let letters = bytes
            .iter()
            .map(|byte| crate::random::letter(*byte))
            .collect::<String>();
        format!("{id} {letters}")
    };
    let mut number = 0;
    let StoreError(error) = loop {
        if let Err(error) = try_save(&store, &number.to_string(), &content(number)).await {
            break error;
        }
        number += 1;
        assert!(number < 2000);
    };
    assert_eq!(error, "Redis has no memory; raise `maxmemory`");
    let keys = ClientKeys::new(digest("client"));
    let turns = |server: &RedisServer| server.run(&["HGET", &keys.sizes(), "turns"]);
    assert_eq!(turns(&server), RedisReply::Text(number.to_string()));
    assert_eq!(
        server.run(&["EXISTS", &keys.turn(&number.to_string())]),
        RedisReply::Number(0)
    );
    assert_eq!(ids(&store, "0").await, ["0"], "look-ups need no memory");
    server.run(&["CONFIG", "SET", "maxmemory", "0"]);
    try_save(&store, &number.to_string(), "").await.unwrap();
}

#[tokio::test]
async fn a_user_without_scripts_gets_an_error_with_its_reason() {
    let Some(server) = RedisServer::start_with(&[]) else {
        return;
    };
    server.run(&[
        "ACL", "SETUSER", "ada", "on", ">hush", "~tg1:*", "+@all", "-evalsha", "-eval",
    ]);
    let address = format!("redis://ada@127.0.0.1:{}/1", server.port())
        .parse()
        .unwrap();
    let store = RedisStore::new(&address, Some("hush")).unwrap();
    store.connect().await.unwrap();
    let StoreError(error) = try_save(&store, "1", "").await.unwrap_err();
    assert!(error.contains("NOPERM") && error.contains("evalsha"), "{error}");
    server.run(&["ACL", "SETUSER", "ada", "+evalsha", "+eval"]);
    try_save(&store, "1", "").await.unwrap();
    let StoreError(error) = RedisStore::new(&address, None).unwrap_err();
    assert_eq!(
        error,
        "missing password of the user `ada`; set `sessions.password_env` to the name of an environment variable with the password"
    );
    let StoreError(error) = RedisStore::new(&address, Some("wrong"))
        .unwrap()
        .connect()
        .await
        .unwrap_err();
    assert!(
        error.contains("WRONGPASS") || error.to_lowercase().contains("auth"),
        "{error}"
    );
}

/// A lease that a failover loses has a lower fence than the next one.
#[tokio::test]
async fn a_failover_that_loses_a_lease_raises_the_fence() {
    let Some([primary, replica]) = primary_and_replica() else {
        return;
    };
    let store = store_of(&primary).with_wait_replicas(1);
    let claim = async |store: &RedisStore, request: &str, instance| {
        let request = LeaseRequest {
            instance,
            ..lease_request(request, true)
        };
        store.claim(digest("client"), &request).await
    };
    let kept = claim(&store, "kept", 1).await.unwrap();
    assert!(matches!(kept, LeaseOutcome::Taken { .. }));
    // A claim does not wait for replicas. They receive all writes in order.
    save_before_effects(&store, "1").await.unwrap();
    replica.run(&["REPLICAOF", "NO", "ONE"]);
    // The write is on the primary only, so the gateway does not run the call.
    let StoreError(error) = save_before_effects(&store, "2").await.unwrap_err();
    assert_eq!(error, "Redis: 0 of 1 replicas have the write after 100 ms");
    let fence = |claimed| match claimed {
        LeaseOutcome::Taken { lease, .. } => lease.fence,
        other => panic!("{other:?}"),
    };
    let lost = fence(claim(&store, "lost", 1).await.unwrap());
    drop(primary);
    let store = store_of(&replica);
    assert!(matches!(
        claim(&store, "kept", 2).await.unwrap(),
        LeaseOutcome::Held { .. }
    ));
    assert!(fence(claim(&store, "lost", 2).await.unwrap()) > lost);
}

/// The clock of a promoted replica may be behind the clock of the lost primary.
#[tokio::test]
async fn fence_grows_when_the_clock_of_the_server_goes_back() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server).with_skew();
    let client = digest("client");
    let request = lease_request("request", true);
    let mut last = 0;
    for skew in ["60000", "0", "30000"] {
        server.run(&["SET", &ClientKeys::new(client).key_of_skew(), skew]);
        let lease = take(&store, &request).await;
        assert!(lease.fence > last, "{skew}");
        last = lease.fence;
        store.release(client, lease, false).await.unwrap();
    }
}

/// A later turn need not have the keys of the earlier ones.
#[tokio::test]
async fn keys_of_a_session_live_as_long_as_its_latest_turn() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server).with_skew();
    let keys = ClientKeys::new(digest("client"));
    save_with(&store, turn("1", "a", "1"), &["call"], &["key"]).await;
    let of_turn = [
        keys.turn("1"),
        keys.point(digest("1")),
        keys.call(digest("call")),
        keys.name(digest("key")),
    ];
    for key in &of_turn {
        assert_eq!(server.run(&["EXPIRE", key, "60"]), RedisReply::Number(1), "{key}");
    }
    server.run(&[
        "SET",
        &keys.key_of_skew(),
        &(store.ttl().as_millis() / 3).to_string(),
    ]);
    save(&store, turn("2", "a", "2")).await;
    for key in &of_turn {
        let left = server.run(&["TTL", key]);
        assert!(
            matches!(left, RedisReply::Number(left) if left > 4 * 24 * 3600),
            "{key} {left:?}"
        );
    }
}

#[tokio::test]
async fn damaged_records_are_missing_turns_and_counted() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    for id in ["1", "2"] {
        save(&store, turn(id, "a", id)).await;
    }
    let keys = ClientKeys::new(digest("client"));
    let key = keys.turn("1");
    server.run(&["HSET", &key, "b", "\u{1}not zstd"]);
    // Each request of the conversation looks up the record.
    for _ in 0..2 {
        assert_eq!(ids(&store, "1").await, [""; 0]);
    }
    assert_eq!(ids(&store, "2").await, ["2"]);
    assert_eq!(store.damaged_records(), 1);
    // A record of the previous version, without compression, and of an unknown version.
    let record = TurnRecord::new(turn("1", "a", "1")).encode().unwrap();
    let record = String::from_utf8(record).unwrap();
    let of_version = |version: u32| {
        format!(
            "\0{}",
            record.replace("\"version\":6", &format!("\"version\":{version}"))
        )
    };
    server.run(&["HSET", &key, "b", &of_version(5)]);
    assert_eq!(ids(&store, "1").await, ["1"]);
    server.run(&["HSET", &key, "b", &of_version(9)]);
    assert_eq!(ids(&store, "1").await, [""; 0]);
    assert_eq!(store.damaged_records(), 2);
    // Single keys are lost.
    server.run(&["DEL", &keys.turn("2")]);
    assert_eq!(ids(&store, "2").await, [""; 0]);
    server.run(&["HSET", &key, "b", &of_version(6)]);
    assert_eq!(ids(&store, "1").await, ["1"]);
    server.run(&["DEL", &keys.session("a")]);
    assert_eq!(ids(&store, "1").await, [""; 0]);
    save_with(&store, turn("3", "a", "3"), &[], &["key"]).await;
    assert_eq!(
        session_of_key(&store, "key").await,
        Some(SessionId::new("a".to_owned()))
    );
}

/// Gateways with an earlier and a later encryption key use one server.
#[tokio::test]
async fn unreadable_progress_is_counted_and_another_sample_is_claimed() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let [earlier, later] = [3, 4].map(|key| store_of(&server).with_encryption_key(&[key; 32]));
    let claim = async |instance: u128, request: &str, running: &[u64]| {
        let store = if instance == 1 { &earlier } else { &later };
        let request = LeaseRequest {
            instance,
            running,
            ..lease_request(request, true)
        };
        store.claim(digest("client"), &request).await.unwrap()
    };
    for (is_last, request) in [(false, "incomplete"), (true, "complete")] {
        let LeaseOutcome::Taken { lease: first, .. } = claim(1, request, &[]).await else {
            panic!("the sample is free");
        };
        let progress = Progress {
            is_last,
            ..last_segment(first)
        };
        earlier.append(digest("client"), progress).await.unwrap();
        earlier.release(digest("client"), first, false).await.unwrap();
        let LeaseOutcome::Unreadable { lease } = claim(2, request, &[]).await else {
            panic!("the log has another key");
        };
        assert_eq!((lease.sample, is_last), (0, lease == first));
        later.release(digest("client"), lease, false).await.unwrap();
        let claimed = claim(2, request, &[lease.sample]).await;
        assert!(
            matches!(claimed, LeaseOutcome::Taken { lease, log, .. } if lease.sample == 1 && log.is_empty())
        );
    }
    assert_eq!(later.damaged_records(), 2);
    let claimed = claim(1, "complete", &[]).await;
    assert!(matches!(claimed, LeaseOutcome::Done { log, .. } if log == [b"segment"]));
}

/// Redis loses the log of a complete sample.
#[tokio::test]
async fn sample_without_its_log_is_free() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    let request = lease_request("request", true);
    let claim = async || store.claim(digest("client"), &request).await.unwrap();
    let LeaseOutcome::Taken { lease, .. } = claim().await else {
        panic!("the sample is free");
    };
    store.append(digest("client"), last_segment(lease)).await.unwrap();
    let keys = ClientKeys::new(digest("client"));
    server.run(&["DEL", &keys.log(digest("request"), 0)]);
    let LeaseOutcome::Taken { lease, log, .. } = claim().await else {
        panic!("the log is lost");
    };
    assert!(log.is_empty());
    store.append(digest("client"), last_segment(lease)).await.unwrap();
    assert!(matches!(claim().await, LeaseOutcome::Done { log, .. } if log == [b"segment"]));
}

/// The test sets the size of the log.
#[tokio::test]
async fn progress_of_a_request_has_a_maximum_size() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    let lease = take(&store, &lease_request("request", false)).await;
    let append = async |restart, at| {
        let progress = Progress {
            restart,
            at,
            is_last: false,
            ..last_segment(lease)
        };
        store.append(digest("client"), progress).await
    };
    assert_eq!(append(0, 0).await, Ok(Appended::Kept));
    let sample = ClientKeys::new(digest("client")).sample(lease);
    server.run(&["HSET", &sample, "log_bytes", &(64_u64 << 20).to_string()]);
    let StoreError(error) = append(0, 1).await.unwrap_err();
    assert_eq!(error, "the progress of a request is larger than 64 MiB");
    // A log that begins again replaces the earlier one.
    assert_eq!(append(1, 0).await, Ok(Appended::Kept));
}

/// The log of an answer that a client has received is kept for ten minutes.
#[tokio::test]
async fn received_answer_is_kept_for_a_short_time() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    let lease = take(&store, &lease_request("request", false)).await;
    store.append(digest("client"), last_segment(lease)).await.unwrap();
    let keys = ClientKeys::new(digest("client"));
    for (is_seen, expected) in [(false, 24 * 3600), (true, 600)] {
        store.release(digest("client"), lease, is_seen).await.unwrap();
        for key in [keys.sample(lease), keys.log(lease.request, lease.sample)] {
            let RedisReply::Number(left) = server.run(&["TTL", &key]) else {
                panic!("a number of seconds");
            };
            assert!((expected - 60..=expected).contains(&left), "{key}: {left}");
        }
    }
}

#[tokio::test]
async fn encrypted_records_have_no_readable_content() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server).with_encryption_key(&[3; 32]);
    conformance::conforms(&store).await;
    let keys = ClientKeys::new(digest("client"));
    let stored = server.run(&["HGET", &keys.turn("3"), "b"]);
    assert!(!stored.text().contains("get_weather") && !stored.text().contains("xxxx"));
    // A record under the key of another turn is damaged.
    let script = "redis.call('HSET', KEYS[2], 'b', redis.call('HGET', KEYS[1], 'b')) return 1";
    let copied = server.run(&["EVAL", script, "2", &keys.turn("2"), &keys.turn("3")]);
    assert_eq!(copied, RedisReply::Number(1));
    assert_eq!(ids(&store, "two").await, [""; 0]);
    assert_eq!(store.damaged_records(), 1);
}

/// The files of a session are kept as long as the session, whose latest turn need not be readable.
#[tokio::test]
async fn session_with_a_damaged_record_exists() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    save(&store, turn("1", "a", "1")).await;
    let keys = ClientKeys::new(digest("client"));
    server.run(&["HSET", &keys.turn("1"), "b", "\u{1}not zstd"]);
    let id = SessionId::new("a".to_owned());
    let client = digest("client");
    assert_eq!(store.session(client, &id).await, Ok(None));
    let damaged = store.damaged_records();
    for (client, exists) in [(Some(client), true), (None, true), (Some(digest("bob")), false)] {
        assert_eq!(store.has_session(client, &id).await, Ok(exists));
    }
    assert_eq!(store.damaged_records(), damaged, "the record is not read");
}

/// A load balancer sends requests to another gateway if Redis rejects the commands of this one.
#[tokio::test]
async fn check_fails_without_access() {
    let Some(server) = RedisServer::start_with(&[]) else {
        return;
    };
    server.run(&["ACL", "SETUSER", "ada", "on", ">hush", "~tg1:*", "+@all"]);
    let address = format!("redis://ada@127.0.0.1:{}", server.port());
    let store = RedisStore::new(&address.parse().unwrap(), Some("hush")).unwrap();
    store.connect().await.unwrap();
    store.check().await.unwrap();
    server.run(&["ACL", "SETUSER", "ada", "-evalsha", "-eval"]);
    let StoreError(error) = store.check().await.unwrap_err();
    assert!(error.contains("NOPERM"), "{error}");
    server.run(&["ACL", "SETUSER", "ada", "+evalsha", "+eval"]);
    store.check().await.unwrap();
    // The password is another one after the connection is lost.
    server.run(&["ACL", "SETUSER", "ada", "resetpass", ">other"]);
    server.run(&["CLIENT", "KILL", "USER", "ada"]);
    for _ in 0..5 {
        let StoreError(error) = store.check().await.unwrap_err();
        assert!(error.to_lowercase().contains("auth"), "{error}");
    }
    server.run(&["ACL", "SETUSER", "ada", ">hush"]);
    store.check().await.unwrap();
}

/// A gateway that starts after Redis was empty finds the sessions of the running gateways.
#[tokio::test]
async fn secret_that_redis_has_lost_is_stored_again() {
    let Some(server) = RedisServer::start_with(&[]) else {
        return;
    };
    let running = store_of(&server);
    running.connect().await.unwrap();
    let later = async |server: &RedisServer| {
        let later = store_of(server);
        later.connect().await.unwrap();
        later
    };
    server.run(&["FLUSHALL"]);
    running.check().await.unwrap();
    assert_eq!(later(&server).await.secret(), running.secret());
    // The first operation after a restart is enough.
    let port = server.port();
    drop(server);
    let server = RedisServer::start_on(port, &[]).unwrap();
    assert_eq!(ids(&running, "1").await, [""; 0]);
    let other = later(&server).await;
    assert_eq!(other.secret(), running.secret());
    // Another gateway was faster.
    server.run(&["FLUSHALL"]);
    let other = later(&server).await;
    assert_ne!(other.secret(), running.secret());
    other.check().await.unwrap();
    let StoreError(error) = running.check().await.unwrap_err();
    assert_eq!(
        error,
        "the key tg1:secret of Redis has another secret than this gateway; restart the gateway"
    );
    // A secret of the configuration is not in Redis.
    store_of(&server).with_secret([1; 32]).check().await.unwrap();
}
