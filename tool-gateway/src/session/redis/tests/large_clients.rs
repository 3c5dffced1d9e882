//! Clients with as many turns as a store allows, beside which the other clients do not wait.

use super::{RedisReply, RedisServer, store_of};
use crate::session::chain::Digest;
use crate::session::record::SessionId;
use crate::session::redis::keys::ClientKeys;
use crate::session::store::{FoundTurn, Lookup, SessionStore};
use crate::session::tests::{digest, turn};
use crate::session::turn_record::TurnRecord;

const TURNS: usize = 9_984;
const POINTS: usize = 156;

/// Size of a turn as the store counts it.
const BYTES: usize = 2_000;

fn point(number: usize) -> Digest {
    digest(&format!("point {number}"))
}

/// Gives the client a session `ses` with many turns, each after one of the points.
fn fill(server: &RedisServer) {
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
    let (turns, bytes, points_number) = (TURNS.to_string(), BYTES.to_string(), POINTS.to_string());
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
    fill(&server);
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
    fill(&server);
    let store = store_of(&server);
    store.connect().await.unwrap();
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
