//! Round trips and times of look-ups.

use std::time::Instant;

use super::redis_proxy::RedisProxy;
use super::{RedisServer, store_of};
use crate::session::finder::{Finder, FoundHistory};
use crate::session::redis::RedisStore;
use crate::session::store::Lookup;
use crate::session::tests::{digest, save_with, turn};

const POINTS: usize = 256;

/// Looks up a history with a turn after each of its points.
async fn history(store: &RedisStore) -> FoundHistory {
    let points: Vec<_> = (0..POINTS)
        .map(|point| digest(&format!("point {point}")))
        .collect();
    let lookup = Lookup {
        keys: &[digest("key")],
        calls: &[digest("call 1")],
        points: &points,
        session: None,
    };
    Finder::new(store, digest("client"))
        .history(lookup)
        .await
        .unwrap()
}

/// The ids of the turns, and their records.
#[tokio::test]
async fn history_of_256_points_is_two_round_trips() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    for point in 0..POINTS {
        let saved = turn(&point.to_string(), "a", &format!("point {point}"));
        save_with(&store, saved, &[&format!("call {point}")], &["key"]).await;
    }
    let proxy = RedisProxy::start(server.port());
    let counted = RedisStore::new(&proxy.url().parse().unwrap(), None).unwrap();
    history(&counted).await;
    proxy.take_commands();
    let found = history(&counted).await;
    assert!(found.turns.iter().all(|turns| turns.len() == 1));
    assert!(found.call.is_some() && found.session.is_some());
    assert_eq!(proxy.take_commands(), ["EVALSHA", "EVALSHA"]);

    let points: Vec<_> = (0..POINTS)
        .map(|point| digest(&format!("point {point}")))
        .collect();
    let lookup = Lookup {
        points: &points,
        ..Lookup::default()
    };
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        crate::session::store::SessionStore::find(&store, digest("client"), &lookup)
            .await
            .unwrap();
        times.push(began.elapsed());
    }
    // Without a bound, since other tests run at the same time.
    times.sort_unstable();
    let median = times[times.len() / 2];
    eprintln!("look-up of {POINTS} points: median {median:?}");
}
