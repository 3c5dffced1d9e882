//! Clients with as many turns as a store allows, beside which the other clients do not wait.

use super::{RedisReply, RedisServer, lease_request, store_of};
use crate::session::chain::Digest;
use crate::session::record::SessionId;
use crate::session::redis::keys::ClientKeys;
use crate::session::store::{FoundTurn, LeaseOutcome, Lookup, Progress, SessionStore, StoreError};
use crate::session::tests::{digest, ids, save, turn};
use crate::session::turn_record::TurnRecord;
use crate::wire::block::Block;

const TURNS: usize = 9_984;
const POINTS: usize = 156;

fn point(number: usize) -> Digest {
    digest(&format!("point {number}"))
}

/// Gives the client a session `ses` with many turns, each after one of the points and with this size.
fn fill(server: &RedisServer, bytes: usize) {
    let script = "
local prefix, turns, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
for number = 1, turns do
  local id, point = 'turn ' .. number, KEYS[(number - 1) % #KEYS + 1]
  redis.call('HSET', prefix .. 'T:' .. id, 'b', ARGV[4], 'r', number, 's', 'ses', 'z', bytes, 'p', string.sub(point, #prefix + 3), 'c', '')
  redis.call('ZADD', point, number, id)
  redis.call('ZADD', prefix .. 'Z:ses', number, id)
end
redis.call('HSET', prefix .. 'S:ses', 'created', 1, 'active', 1, 'first', 1, 'latest', 'turn ' .. turns, 'renewed', 1)
redis.call('ZADD', prefix .. 'O', '9000000000000000', 'ses')
redis.call('HSET', prefix .. 'U', 'seq', turns, 'turns', turns, 'bytes', turns * bytes, 't:ses', turns, 'b:ses', turns * bytes)
return turns";
    let keys = ClientKeys::new(digest("client"));
    let record = TurnRecord::new(turn("turn 1", "ses", "point 0"))
        .encode()
        .unwrap();
    let record = format!("\0{}", String::from_utf8(record).unwrap());
    let points: Vec<_> = (0..POINTS).map(|number| keys.point(point(number))).collect();
    let prefix = keys.order().strip_suffix('O').unwrap().to_owned();
    let (turns, bytes, points_number) = (TURNS.to_string(), bytes.to_string(), POINTS.to_string());
    let mut command = vec!["EVAL", script, &points_number];
    command.extend(points.iter().map(String::as_str));
    command.extend([prefix.as_str(), &turns, &bytes, &record]);
    assert_eq!(
        server.run(&command),
        RedisReply::Number(i64::try_from(TURNS).unwrap())
    );
}

/// Number of scripts, and of the commands in all of them, since the last call.
#[derive(Debug)]
struct Executed {
    scripts: u64,
    commands: u64,
}

fn executed(server: &RedisServer) -> Executed {
    let stats = server.run(&["INFO", "commandstats"]);
    let mut executed = Executed {
        scripts: 0,
        commands: 0,
    };
    for line in stats.text().lines() {
        let Some((name, rest)) = line
            .strip_prefix("cmdstat_")
            .and_then(|line| line.split_once(":calls="))
        else {
            continue;
        };
        let calls: u64 = rest.split(',').next().unwrap().parse().unwrap();
        match name {
            "eval" | "evalsha" => executed.scripts += calls,
            _ => executed.commands += calls,
        }
    }
    server.run(&["CONFIG", "RESETSTAT"]);
    executed
}

#[tokio::test]
async fn finds_the_points_of_a_large_session_in_parts() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    fill(&server, 2_000);
    let store = store_of(&server);
    let points: Vec<_> = (0..POINTS).map(point).collect();
    let session = SessionId::new("ses".to_owned());
    let lookup = Lookup {
        points: &points,
        session: Some(&session),
        ..Lookup::default()
    };
    store.connect().await.unwrap();
    executed(&server);
    let found = store.find(digest("client"), &lookup).await.unwrap();
    let Executed { scripts, commands } = executed(&server);
    assert_eq!(found.points.len(), POINTS);
    for (number, turns) in found.points.iter().enumerate() {
        let ids = turns.iter().map(|turn| match turn {
            FoundTurn::Ref(turn) => (turn.id.clone(), turn.revision),
            FoundTurn::Turn(_) => panic!("a turn without a reference"),
        });
        let expected = (0..TURNS / POINTS).map(|turn| number + 1 + turn * POINTS);
        let expected = expected.map(|turn| (format!("turn {turn}"), turn as u64));
        assert_eq!(ids.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
    assert!(scripts > 1 && commands < 2_500 * scripts, "{scripts} {commands}");
}

#[tokio::test]
async fn loads_large_records_in_parts() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    fill(&server, 2_000);
    let store = store_of(&server);
    store.connect().await.unwrap();
    // The first operation loads the script.
    store
        .load(digest("client"), &["turn 1".to_owned()])
        .await
        .unwrap();
    executed(&server);
    let ids: Vec<_> = (1..=2_000).map(|number| format!("turn {number}")).collect();
    let found = store.load(digest("client"), &ids).await.unwrap();
    assert!(found.iter().all(Option::is_some) && found.len() == ids.len());
    let small = executed(&server);
    assert_eq!(small.scripts, 2, "{small:?}");
    let keys = ClientKeys::new(digest("client"));
    for id in &ids[..4] {
        let mut large = turn(id, "ses", "point 0");
        large
            .state
            .insert("content".to_owned(), "x".repeat(6 << 20).into());
        let record = TurnRecord::new(large).encode().unwrap();
        let record = format!("\0{}", String::from_utf8(record).unwrap());
        server.run(&["HSET", &keys.turn(id), "b", &record]);
    }
    executed(&server);
    let found = store.load(digest("client"), &ids[..5]).await.unwrap();
    assert!(found.iter().all(Option::is_some) && found.len() == 5);
    let large = executed(&server);
    assert_eq!(large.scripts, 2, "{large:?}");
}

/// The turns are prolonged, and an expired session is removed, in parts.
#[tokio::test]
async fn saves_into_a_large_session_in_parts() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    fill(&server, 2_000);
    let store = store_of(&server);
    store.connect().await.unwrap();
    let keys = ClientKeys::new(digest("client"));
    let lifetime = |key: &str| number(server.run(&["PTTL", key]));
    executed(&server);
    save(&store, turn("new", "ses", "new")).await;
    let renewed = executed(&server);
    assert!(renewed.scripts > 10, "{renewed:?}");
    assert!(renewed.commands < 1_000 * renewed.scripts, "{renewed:?}");
    for turn in [1, 5_000, TURNS] {
        let kept = lifetime(&keys.turn(&format!("turn {turn}")));
        assert!(kept > 4 * 24 * 3_600_000, "{turn} {kept}");
    }
    save(&store, turn("newer", "ses", "new")).await;
    assert_eq!(executed(&server).scripts, 2, "a look-up and the save");

    server.run(&["DEL", &keys.session("ses")]);
    save(&store, turn("again", "ses", "again")).await;
    let revived = executed(&server);
    assert!(revived.commands < 1_000 * revived.scripts, "{revived:?}");
    assert_eq!(ids(&store, "again").await, ["again"]);
    assert_eq!(ids(&store, "new").await, [""; 0]);
    assert_eq!(
        store.load(digest("client"), &["new".to_owned()]).await,
        Ok(vec![None])
    );
    executed(&server);
    for id in 0..=TURNS / 16 {
        save(&store, turn(&format!("again {id}"), "ses", "again")).await;
    }
    let removed = executed(&server);
    assert!(removed.commands < 500 * removed.scripts, "{removed:?}");
    let size = |field: &str| number(server.run(&["HGET", &keys.sizes(), field]));
    let turns = size("turns");
    assert_eq!(turns, i64::try_from(TURNS / 16 + 2).unwrap());
    assert_eq!(
        server.run(&["EXISTS", &keys.turn("turn 5000")]),
        RedisReply::Number(0)
    );
    assert!(size("bytes") < turns * 3_000);
}

/// A few large turns displace all small ones, which takes several scripts.
#[tokio::test]
async fn large_turns_do_not_exceed_the_cap_of_a_client() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    fill(&server, 60);
    let max_bytes = 800_000;
    let store = store_of(&server).with_max_bytes_per_client(max_bytes);
    let keys = ClientKeys::new(digest("client"));
    store.connect().await.unwrap();
    executed(&server);
    for id in ["1", "2", "3"] {
        let mut large = turn(id, "large", id);
        let content = (0..400).flat_map(|_| crate::random::bytes::<1_000>().map(crate::random::letter));
        large.truth[0].blocks = vec![Block::text(&content.collect::<String>())];
        save(&store, large).await;
        let bytes = number(server.run(&["HGET", &keys.sizes(), "bytes"]));
        assert!(u64::try_from(bytes).unwrap() <= max_bytes, "{bytes}");
        assert_eq!(ids(&store, id).await, [id]);
    }
    let removed = executed(&server);
    assert!(
        removed.scripts > 10 && removed.commands < 5_000 * removed.scripts,
        "{removed:?}"
    );
}

/// The progress of requests is removed over the maximum, like sessions, unless the requests run.
#[tokio::test]
async fn progress_in_redis_makes_room() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let max_bytes = 40_000;
    let store = store_of(&server).with_max_bytes_per_client(max_bytes);
    let keys = ClientKeys::new(digest("client"));
    save(&store, turn("1", "a", "1")).await;
    let run = async |request: &str, bytes: usize| {
        let claimed = lease_request(request, false);
        let LeaseOutcome::Taken { lease, .. } = store.claim(digest("client"), &claimed).await.unwrap() else {
            panic!("the request is new");
        };
        let segment = (0..bytes / 1_000).flat_map(|_| crate::random::bytes::<1_000>());
        let progress = Progress {
            lease,
            restart: 0,
            at: 0,
            segment: segment.collect(),
            is_last: false,
            precedes_effects: false,
        };
        store.append(digest("client"), progress).await.map(|_| lease)
    };
    let running = run("runs", 1_000).await.unwrap();
    for request in 0..60 {
        let lease = run(&request.to_string(), 1_000).await.unwrap();
        store.release(digest("client"), lease, false).await.unwrap();
        let bytes = number(server.run(&["HGET", &keys.sizes(), "bytes"]));
        assert!((1_000..=40_000).contains(&bytes), "{bytes}");
    }
    let log = |request: &str| keys.log(digest(request), 0);
    let exists = |key: &str| number(server.run(&["EXISTS", key])) == 1;
    assert!(exists(&log("runs")) && exists(&log("59")) && !exists(&log("0")));
    assert_eq!(
        ids(&store, "1").await,
        [""; 0],
        "the session expires before the logs"
    );
    // The requests that run have no room for a large segment.
    let StoreError(error) = run("large", 60_000).await.unwrap_err();
    assert_eq!(
        error,
        "the client's running requests have more than 40000 bytes of progress"
    );
    store.release(digest("client"), running, false).await.unwrap();
    let next = run("next", 38_000).await.unwrap();
    assert!(!exists(&log("runs")));
    // A late segment does not remove the earlier segments of its log.
    store.release(digest("client"), next, false).await.unwrap();
    let late = Progress {
        lease: next,
        restart: 0,
        at: 1,
        segment: crate::random::bytes::<3_000>().to_vec(),
        is_last: false,
        precedes_effects: false,
    };
    store.append(digest("client"), late).await.unwrap_err();
    assert!(exists(&log("next")));
}

fn number(reply: RedisReply) -> i64 {
    match reply {
        RedisReply::Number(number) => number,
        other => other.text().parse().unwrap(),
    }
}
