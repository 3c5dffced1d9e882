//! Segments of a request's progress that are larger than a value may be.

use std::time::Duration;

use super::{RedisReply, RedisServer, lease_request, store_of};
use crate::session::redis::RedisStore;
use crate::session::redis::keys::ClientKeys;
use crate::session::redis::packing::Packing;
use crate::session::store::{Appended, Lease, LeaseOutcome, Progress, SessionStore as _};
use crate::session::tests::{digest, leases};

impl RedisStore {
    fn with_max_part(mut self, bytes: usize) -> Self {
        self.packing = Packing::default().with_max_part(bytes);
        self
    }
}

async fn claim(store: &RedisStore) -> LeaseOutcome {
    let request = lease_request("request", true);
    store.claim(digest("client"), &request).await.unwrap()
}

async fn append(store: &RedisStore, lease: Lease, at: u64, segment: &[u8]) -> Appended {
    let progress = Progress {
        lease,
        restart: 0,
        at,
        segment: segment.to_vec(),
        is_last: false,
        precedes_effects: false,
    };
    store.append(digest("client"), progress).await.unwrap()
}

/// Each value has at most the maximum size, and a lost part is a gap of the log.
#[tokio::test]
async fn large_segments_are_appended_in_parts() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server).with_max_part(100);
    let LeaseOutcome::Taken { lease, .. } = claim(&store).await else {
        panic!("the request is new");
    };
    let segments = [50, 450, 60, 250].map(|length| crate::random::bytes::<450>()[..length].to_vec());
    for _ in 0..2 {
        for (at, segment) in (0..).zip(&segments) {
            assert_eq!(append(&store, lease, at, segment).await, Appended::Kept, "{at}");
        }
    }
    let keys = ClientKeys::new(digest("client"));
    let entries = server.run(&["LLEN", &keys.log(digest("request"), 0)]);
    assert_eq!(entries, RedisReply::Number(1 + 5 + 1 + 3));
    let size = server.run(&["HGET", &keys.sample(lease), "log_bytes"]);
    // Each record and each part has a byte in front.
    assert_eq!(size.text(), (50 + 450 + 60 + 250 + 4 + 8).to_string());
    assert_eq!(
        append(&store, lease, 5, b"later").await,
        Appended::Gap { have: 4 }
    );
    match claim(&store).await {
        LeaseOutcome::Taken { log, .. } => assert_eq!(log, segments),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn store_with_small_parts_has_leases() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = store_of(&server).with_max_part(1);
    let skew = ClientKeys::new(digest("client")).key_of_skew();
    let wait = async |time: Duration| {
        server.run(&["INCRBY", &skew, &time.as_millis().to_string()]);
    };
    leases::has_leases(&store.clone().with_skew(), wait).await;
    let lose = || {
        server.run(&["FLUSHALL"]);
    };
    leases::keeps_lost_leases(&store, lose).await;
}
