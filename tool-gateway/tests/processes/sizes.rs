//! Memory of Redis for sessions.

use std::ops::Range;

use serde_json::json;

use crate::cluster::call;
use crate::conversation::Conversation;
use crate::gateway_process::{GatewayProcess, Settings};
use crate::redis_server::{RedisReply, RedisServer};
use crate::upstream::Upstream;

const SESSIONS: usize = 500;
const CLIENTS: usize = 8;

/// Kind of a session.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    turns: usize,
    /// Number of characters of the arguments of each call.
    characters: usize,
    /// Whether each turn waits for a result of the client.
    is_suspended: bool,
}

/// Prints a line for each kind of sessions.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; run with `cargo nextest run -p tool-gateway --features redis --test processes --run-ignored only --no-capture sizes`"]
async fn memory_of_sessions() {
    for (name, turns, characters, is_suspended) in [
        ("one turn, one call, 100 characters", 1, 100, false),
        ("one suspended turn, 100 characters", 1, 100, true),
        ("ten turns, ten calls, 100 characters each", 10, 100, false),
        ("ten turns, ten calls, 4,000 characters each", 10, 4_000, false),
    ] {
        let kind = Kind {
            name,
            turns,
            characters,
            is_suspended,
        };
        measure(kind).await;
    }
}

async fn measure(kind: Kind) {
    let redis = RedisServer::start().expect("redis-server");
    let upstream = Upstream::start().await;
    let runs = std::env::temp_dir().join(format!("tool-gateway-sizes-{}", std::process::id()));
    let gateway = GatewayProcess::start(&Settings {
        redis: redis.url(),
        upstream: upstream.url.clone(),
        runs: runs.clone(),
        join_seconds: 30,
    });
    // The first sessions open the connections and load the scripts, whose memory does not grow with the number of sessions.
    converse_in_parallel(&gateway, kind, SESSIONS..SESSIONS + CLIENTS).await;
    delete_progress(&redis);
    let before = used(&redis);
    converse_in_parallel(&gateway, kind, 0..SESSIONS).await;
    let with_progress = used(&redis);
    delete_progress(&redis);
    let after = used(&redis);
    println!(
        "{}: {} bytes a session, and {} of progress; {} bytes of user messages",
        kind.name,
        (after - before) / SESSIONS,
        (with_progress - after) / SESSIONS,
        kind.turns * kind.characters,
    );
    let _ = std::fs::remove_file(runs);
}

async fn converse_in_parallel(gateway: &GatewayProcess, kind: Kind, sessions: Range<usize>) {
    let clients = (0..CLIENTS).map(|client| {
        let sessions = sessions.clone().skip(client).step_by(CLIENTS);
        async move {
            for session in sessions {
                converse(gateway, kind, session).await;
            }
        }
    });
    futures_util::future::join_all(clients).await;
}

/// Deletes the progress of requests, which is otherwise kept for a day.
fn delete_progress(redis: &RedisServer) {
    for kind in ["R", "L"] {
        if let RedisReply::List(keys) = redis.run(&["KEYS", &format!("tg1:*:{kind}:*")]) {
            let mut delete = vec!["DEL"];
            delete.extend(keys.iter().map(RedisReply::text));
            redis.run(&delete);
        }
    }
}

async fn converse(gateway: &GatewayProcess, kind: Kind, session: usize) {
    let mut conversation: Option<Conversation> = None;
    for turn in 0..kind.turns {
        let words =
            (0..).map(|word: usize| format!("word{} ", (word * 7919 + turn * 31 + session * 17) % 5000));
        let mut key = format!("{session}-{turn} ");
        for word in words {
            if key.len() >= kind.characters {
                break;
            }
            key.push_str(&word);
        }
        let plan = if kind.is_suspended {
            [
                json!([call("write", &key, 0), call("weather", "b", 0)]),
                json!("Done."),
            ]
        } else {
            [json!([call("write", &key, 0)]), json!("Done.")]
        };
        match &mut conversation {
            Some(conversation) => conversation.plan(&plan),
            None => conversation = Some(Conversation::new(&plan)),
        }
        let conversation = conversation.as_mut().unwrap();
        let reply = conversation.ask(gateway).await;
        conversation.answer(&reply);
    }
}

fn used(redis: &RedisServer) -> usize {
    let memory = redis.run(&["INFO", "memory"]);
    let used = memory
        .text()
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    used.unwrap().trim().parse().unwrap()
}
