//! Random operations of two clients, after which all keys are counted.

use std::collections::{HashMap, HashSet};

use super::{RedisReply, RedisServer, store_of};
use crate::session::store::{
    Appended, LeaseOutcome, LeaseRequest, Lookup, Progress, SaveOutcome, SavedTurn, SessionStore,
};
use crate::session::tests::{Random, digest, is_long, turn};
use crate::session::turn_record::TurnRecord;
use crate::wire::block::Block;

const CLIENTS: [&str; 2] = ["ada", "bob"];

#[tokio::test]
async fn random_operations_leave_keys_with_lifetimes_and_right_sizes() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server)
        .with_max_turns_per_client(60)
        .with_max_bytes_per_client(400_000);
    store.connect().await.unwrap();
    let (operations, mut random) = (if is_long() { 100_000 } else { 2_500 }, Random(5));
    let mut saved = 0;
    for number in 0..operations {
        let client = CLIENTS[random.below(2)];
        if random.below(3) == 0 {
            runs_a_request(&store, &mut random, client).await;
        } else {
            saved += usize::from(saves_a_turn(&store, &mut random, client, number).await);
        }
        if number % 50 == 0 {
            finds_no_other_client(&store, &mut random).await;
        }
    }
    assert!(saved > operations / 4, "{saved}");
    counts_all_keys(&server);
}

/// Saves a new turn, or a known one in a right or wrong revision. Returns whether the turn was stored.
async fn saves_a_turn(store: &dyn SessionStore, random: &mut Random, client: &str, number: usize) -> bool {
    let kind = ["plain", "suspended"][random.below(2)];
    let id = format!(
        "{kind} {client} {}",
        if random.below(4) == 0 {
            random.below(90)
        } else {
            1000 + number
        }
    );
    // A turn belongs to one session, whose name its id determines.
    let name = usize::from(*id.as_bytes().last().unwrap()) % 10;
    let mut saved = turn(
        &id,
        &format!("ses {client} {name}"),
        &format!("point {}", random.below(12)),
    );
    saved.truth[0].blocks = vec![Block::text(&format!(
        "{client} {}",
        "x".repeat(random.below(3000))
    ))];
    let stored = store
        .load(digest(client), std::slice::from_ref(&id))
        .await
        .unwrap();
    let revision = stored[0].as_ref().map_or(0, |stored| stored.revision);
    let wrong = random.below(8) == 0;
    let saved = SavedTurn {
        record: TurnRecord::new(saved),
        revision: revision + u64::from(wrong),
        calls: (0..random.below(3))
            .map(|_| digest(&format!("call {}", random.below(200))))
            .collect(),
        keys: (0..random.below(3))
            .map(|_| digest(&format!("key {}", random.below(40))))
            .collect(),
        progress: None,
        precedes_effects: false,
    };
    match store.save(digest(client), saved).await.unwrap() {
        SaveOutcome::Saved { revision: new } => {
            assert!(!wrong && new > revision);
            true
        }
        SaveOutcome::Conflict { revision: stored } => {
            assert!(wrong && stored == revision);
            false
        }
        other => panic!("a turn without progress: {other:?}"),
    }
}

/// Claims a request, and appends to its log.
async fn runs_a_request(store: &dyn SessionStore, random: &mut Random, client: &str) {
    let request = LeaseRequest {
        request: digest(&format!("request {}", random.below(30))),
        instance: random.below(3) as u128,
        running: &[],
        idempotency_key: None,
        is_retry: random.below(2) == 0,
    };
    let LeaseOutcome::Taken { lease, log, .. } = store.claim(digest(client), &request).await.unwrap() else {
        return;
    };
    assert!(log.iter().all(|segment| segment.starts_with(client.as_bytes())));
    for at in 0..random.below(4) as u64 {
        let progress = Progress {
            lease,
            restart: 0,
            at,
            segment: format!("{client} {}", "s".repeat(random.below(2000))).into_bytes(),
            is_last: random.below(4) == 0,
            precedes_effects: false,
        };
        let appended = store.append(digest(client), progress).await.unwrap();
        assert_eq!(appended, Appended::Kept);
    }
    assert!(
        store
            .renew(digest(client), lease, random.below(2) == 0)
            .await
            .unwrap()
    );
    if random.below(10) > 0 {
        store
            .release(digest(client), lease, random.below(2) == 0)
            .await
            .unwrap();
    }
}

/// Looks up equal digests for both clients, and compares the owners of all results.
async fn finds_no_other_client(store: &dyn SessionStore, random: &mut Random) {
    let digests = |kind: &str, number| {
        (0..number)
            .map(|number| digest(&format!("{kind} {number}")))
            .collect::<Vec<_>>()
    };
    let (mut keys, mut calls) = (digests("key", 40), digests("call", 200));
    keys.drain(..random.below(30));
    calls.drain(..random.below(150));
    for client in CLIENTS {
        let lookup = Lookup {
            keys: &keys,
            calls: &calls,
            points: &digests("point", 12),
            session: None,
        };
        let found = crate::session::finder::Finder::new(store, digest(client))
            .history(lookup)
            .await
            .unwrap();
        let turns = found
            .turns
            .iter()
            .flatten()
            .chain(found.call.iter().map(|(_, turn)| turn));
        for turn in turns {
            assert!(turn.id.contains(&format!(" {client} ")), "{client} {}", turn.id);
        }
        assert!(
            found
                .session
                .is_none_or(|session| session.as_str().contains(&format!(" {client} ")))
        );
    }
}

/// Checks the lifetime and the slot of each key, and recounts the sizes of each client.
fn counts_all_keys(server: &RedisServer) {
    let found = server.run(&["KEYS", "*"]);
    let (mut slots, mut counted) = (
        HashMap::<String, HashSet<i64>>::new(),
        HashMap::<String, [i64; 2]>::new(),
    );
    let number = |reply: RedisReply| match reply {
        RedisReply::Number(number) => number,
        other => other.text().parse().unwrap(),
    };
    for key in found.texts() {
        let lifetime = number(server.run(&["PTTL", key]));
        if key == "tg1:secret" {
            assert_eq!(lifetime, -1);
            continue;
        }
        assert!(lifetime > 0, "{key} has no lifetime");
        let (client, rest) = key.split_at(key.find('}').unwrap() + 1);
        slots
            .entry(client.to_owned())
            .or_default()
            .insert(number(server.run(&["CLUSTER", "KEYSLOT", key])));
        if rest.starts_with(":T:") {
            let [turns, bytes] = counted.entry(client.to_owned()).or_default();
            *turns += 1;
            *bytes += number(server.run(&["HGET", key, "z"]));
        } else if let Some(request) = rest.strip_prefix(":R:")
            && request.contains(':')
        {
            let [_, bytes] = counted.entry(client.to_owned()).or_default();
            *bytes += 512;
            if let RedisReply::Text(log) = server.run(&["HGET", key, "log_bytes"]) {
                *bytes += log.parse::<i64>().unwrap();
            }
        }
    }
    assert_eq!(slots.len(), 2);
    assert!(slots.values().all(|slots| slots.len() == 1), "{slots:?}");
    assert_eq!(counted.len(), 2);
    for (client, [turns, bytes]) in counted {
        let size = |field: &str| number(server.run(&["HGET", &format!("{client}:U"), field]));
        assert_eq!([size("turns"), size("bytes")], [turns, bytes], "{client}");
        assert!(turns <= 60 && turns > 5, "{turns}");
    }
}
