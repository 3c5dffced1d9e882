//! Number of round trips to Redis in a turn.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use tool_gateway::session::redis::RedisStore;

use crate::lab::{Chat, Lab, call, says, text};
use crate::redis_proxy::RedisProxy;
use crate::redis_server::RedisServer;
use crate::reply;

/// Maximum number of commands of a turn with a call: a look-up, a claim, the progress before the call and after it, the save, and the release,
/// for which the client does not wait.
const MOST: usize = 6;

/// Number of turns of the long conversation, each with two points of its history.
const TURNS: usize = 130;

async fn store_at(url: &str) -> RedisStore {
    let store = RedisStore::new(&url.parse().unwrap(), None).unwrap();
    store.connect().await.unwrap();
    store
}

/// Returns the number of look-ups in the store.
async fn lookups(lab: &Lab) -> usize {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let metrics = reply::bytes(lab.send(request).await.into_body()).await;
    let metrics = String::from_utf8(metrics.to_vec()).unwrap();
    let counts = ["find", "load", "session", "has_session", "progress"].map(|operation| {
        let name = format!("tool_gateway_store_seconds_count{{operation=\"{operation}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.map_or(0, |count| count.parse().unwrap())
    });
    counts.iter().sum()
}

#[tokio::test]
async fn turn_with_a_call_has_few_round_trips() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let proxy = RedisProxy::start(server.port());
    let store = store_at(&proxy.url()).await;
    let turns: Vec<_> = (0..4)
        .flat_map(|turn| {
            let call = call("write", &turn.to_string());
            [says(&[call]), says(&[text("Done.")])]
        })
        .collect();
    let lab = Lab::with(json!({ "turns": turns, "order": "requests" }), |gateway| {
        gateway.with_store(store)
    });
    for is_stream in [false, true] {
        let mut chat = Chat::new(is_stream);
        for turn in 0..2 {
            proxy.take_commands();
            let before = lookups(&lab).await;
            let reply = chat.say(&lab, format!("go {is_stream} {turn}")).await;
            assert_eq!(reply.text(), "Done.");
            // The release of the lease is beside the end of the answer.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let commands = proxy.take_commands();
            eprintln!("{is_stream} {turn}: {} round trips", commands.len());
            let of_lookups = lookups(&lab).await - before;
            // The gateway has the records of the turns that it stored.
            assert!(of_lookups <= 1, "{of_lookups}");
            // The first turn sends the scripts.
            if is_stream {
                assert!(commands.len() <= MOST, "{commands:?}");
            }
        }
    }
}

/// Another gateway has no record of the conversation.
#[tokio::test]
async fn long_history_is_found_in_two_round_trips() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let turns: Vec<_> = (0..TURNS)
        .map(|turn| says(&[text(&format!("Turn {turn}."))]))
        .collect();
    let script = json!({ "turns": turns, "order": "requests" });
    let store = store_at(&server.url()).await;
    let lab = Lab::with(script, |gateway| gateway.with_store(store));
    let mut chat = Chat::new(false);
    let mut session = String::new();
    for turn in 0..TURNS {
        session = chat.say(&lab, format!("go {turn}")).await.session().0;
    }
    let proxy = RedisProxy::start(server.port());
    let store = store_at(&proxy.url()).await;
    let turns = [says(&[call("write", "a")]), says(&[text("Done.")])];
    let script = json!({ "turns": turns, "order": "requests" });
    let other = Lab::with(script, |gateway| gateway.with_store(store));
    proxy.take_commands();
    let reply = chat.say(&other, "go on").await;
    assert_eq!((reply.text(), reply.session().0), ("Done.".to_owned(), session));
    let lookups = lookups(&other).await;
    assert!(lookups <= 2, "{lookups}");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let commands = proxy.take_commands();
    // A new gateway loads the records once.
    let count = commands.iter().filter(|name| *name == "EVALSHA").count();
    assert!(count <= MOST + 1, "{commands:?}");
}
