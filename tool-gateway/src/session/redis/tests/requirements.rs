//! The requirements of all session stores.

use std::time::Duration;

use super::{RedisServer, store_of};
use crate::session::finder::Finder;
use crate::session::redis::keys::ClientKeys;
use crate::session::tests::{caps, conformance, digest, leases, model};

#[tokio::test]
async fn store_in_redis_conforms() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    // A look-up of earlier records would be one more round trip.
    assert!(!Finder::new(&store, digest("client")).has_earlier_records());
    conformance::conforms(&store).await;
    server.run(&["FLUSHALL"]);
    conformance::bounds_equal_histories(&store, 200).await;
    server.run(&["FLUSHALL"]);
    conformance::expires(&store.with_ttl(conformance::TTL), tokio::time::sleep).await;
}

#[tokio::test]
async fn store_in_redis_stays_within_its_caps() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server);
    // Random letters have 6 bits of a byte, and all other contents are compressed.
    let content = |bytes: usize| {
        crate::random::bytes::<200_000>()[..bytes * 4 / 3]
            .iter()
            .map(|byte| crate::random::letter(*byte))
            .collect()
    };
    caps::caps_the_turns_of_a_client(&store.clone().with_max_turns_per_client(2)).await;
    caps::caps_the_bytes_of_a_session(&store.clone().with_max_bytes_per_client(24_000), 24_000, content)
        .await;
    caps::caps_the_keys_of_a_session(&store).await;
    server.run(&["FLUSHALL"]);
    let store = store.with_max_turns_per_client(3);
    caps::displaces_own_sessions(&store, Duration::from_millis(2)).await;
}

#[tokio::test]
async fn store_in_redis_follows_a_model() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    for seed in 0..3 {
        model::follows_a_model(&store_of(&server), seed, 100).await;
        server.run(&["FLUSHALL"]);
    }
}

#[tokio::test]
async fn store_in_redis_has_leases() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let skew = ClientKeys::new(digest("client")).key_of_skew();
    let wait = async |time: Duration| {
        server.run(&["INCRBY", &skew, &time.as_millis().to_string()]);
    };
    leases::has_leases(&store_of(&server).with_skew(), wait).await;
    let lose = || {
        server.run(&["FLUSHALL"]);
    };
    leases::keeps_lost_leases(&store_of(&server), lose).await;
}
