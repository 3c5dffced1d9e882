//! Leases of requests among several gateways.

use std::time::Duration;

use super::{digest, turn};
use crate::session::lease::{CLIENT_MARK, LEASE_TIME, MAX_SAMPLES, UNSEEN_TIME};
use crate::session::memory::MemoryStore;
use crate::session::store::{
    Appended, Lease, LeaseOutcome, LeaseRequest, Progress, SaveOutcome, SavedTurn, SessionStore,
};
use crate::session::turn_record::TurnRecord;

#[tokio::test(start_paused = true)]
async fn memory_store_has_leases() {
    has_leases(&MemoryStore::new(), tokio::time::advance).await;
}

#[tokio::test]
async fn lost_leases_of_a_memory_store_stay_with_their_owner() {
    let store = MemoryStore::new();
    keeps_lost_leases(&store, || store.lose_leases()).await;
}

/// Gateway that claims requests in the tests.
#[derive(Clone, Copy)]
struct Instance<'s> {
    store: &'s dyn SessionStore,
    number: u128,
}

impl Instance<'_> {
    async fn claim(self, request: &str, is_retry: bool) -> LeaseOutcome {
        self.claim_with_key(request, is_retry, None).await
    }

    async fn claim_with_key(self, request: &str, is_retry: bool, key: Option<&str>) -> LeaseOutcome {
        let request = LeaseRequest {
            request: digest(request),
            instance: self.number,
            running: &[],
            is_retry,
            idempotency_key: key.map(digest),
        };
        self.store.claim(digest("client"), &request).await.unwrap()
    }

    async fn take(self, request: &str, is_retry: bool) -> (Lease, Vec<Vec<u8>>) {
        let (lease, log, _) = self.take_with_log_fence(request, is_retry).await;
        (lease, log)
    }

    /// Returns the fence of the log, too.
    async fn take_with_log_fence(self, request: &str, is_retry: bool) -> (Lease, Vec<Vec<u8>>, u64) {
        match self.claim(request, is_retry).await {
            LeaseOutcome::Taken {
                lease,
                log,
                log_fence,
            } => (lease, log, log_fence),
            other => panic!("{other:?}"),
        }
    }

    async fn append(self, lease: Lease, at: u64, segment: &str, is_last: bool) -> Appended {
        let progress = progress(lease, at, segment, is_last);
        self.store.append(digest("client"), progress).await.unwrap()
    }

    /// Saves a turn with the last segment of its request.
    async fn save(self, lease: Lease, at: u64, segment: &str) -> SaveOutcome {
        let saved = SavedTurn {
            record: TurnRecord::new(turn(segment, "leases", segment)),
            revision: 0,
            calls: Vec::new(),
            keys: Vec::new(),
            progress: Some(progress(lease, at, segment, true)),
            precedes_effects: false,
        };
        self.store.save(digest("client"), saved).await.unwrap()
    }

    async fn renew(self, lease: Lease, has_client: bool) -> bool {
        self.store
            .renew(digest("client"), lease, has_client)
            .await
            .unwrap()
    }

    async fn release(self, lease: Lease, is_seen: bool) {
        self.store
            .release(digest("client"), lease, is_seen)
            .await
            .unwrap();
    }
}

fn progress(lease: Lease, at: u64, segment: &str, is_last: bool) -> Progress {
    Progress {
        lease,
        restart: 0,
        at,
        segment: segment.as_bytes().to_vec(),
        is_last,
        precedes_effects: false,
    }
}

/// Tests any store. `lose` removes everything, as a failover or a restart of a server does. The owner of a lease keeps the lease, unless another gateway has taken
/// the lease meanwhile.
pub(crate) async fn keeps_lost_leases(store: &dyn SessionStore, lose: impl Fn()) {
    let [one, two] = [1, 2].map(|number| Instance { store, number });
    let is_held = |claimed| matches!(claimed, LeaseOutcome::Held { .. });
    // The owner sends its log again.
    let (lease, _) = one.take("lost", false).await;
    assert_eq!(one.append(lease, 0, "a", false).await, Appended::Kept);
    lose();
    assert_eq!(one.append(lease, 1, "b", false).await, Appended::Gap { have: 0 });
    assert_eq!(one.append(lease, 0, "a and b", false).await, Appended::Kept);
    assert!(is_held(two.claim("lost", true).await));
    assert!(store.has_lease(digest("client")).await.unwrap());
    // A renewal is first.
    lose();
    assert!(one.renew(lease, true).await);
    assert!(is_held(two.claim("lost", true).await));
    assert_eq!(one.append(lease, 1, "c", false).await, Appended::Gap { have: 0 });
    // The end of the turn is first.
    lose();
    assert_eq!(one.save(lease, 1, "c").await, SaveOutcome::Gap { have: 0 });
    assert!(matches!(
        one.save(lease, 0, "all").await,
        SaveOutcome::Saved { .. }
    ));
    assert_eq!(
        two.claim("lost", true).await,
        LeaseOutcome::Done {
            lease,
            log: vec![b"all".to_vec()]
        }
    );
    // Another gateway is first.
    lose();
    one.release(lease, true).await;
    let (later, log) = two.take("lost", true).await;
    assert!(log.is_empty() && later.fence > lease.fence);
    assert!(!one.renew(lease, true).await);
    assert_eq!(one.append(lease, 0, "late", false).await, Appended::Fenced);
    assert_eq!(one.save(lease, 0, "late").await, SaveOutcome::Fenced);
    assert_eq!(two.append(later, 0, "a", false).await, Appended::Kept);
    // The gateway runs the lost sample, so that an equal request gets another one.
    lose();
    let request = LeaseRequest {
        request: digest("lost"),
        instance: 2,
        running: &[0],
        is_retry: false,
        idempotency_key: None,
    };
    let claimed = store.claim(digest("client"), &request).await.unwrap();
    assert!(matches!(claimed, LeaseOutcome::Taken { lease, .. } if lease.sample == 1));
}

/// Tests any store. `wait` lets time pass.
pub(crate) async fn has_leases(store: &dyn SessionStore, wait: impl AsyncFn(Duration)) {
    let [one, two] = [1, 2].map(|number| Instance { store, number });
    is_taken_once(one, two).await;
    is_taken_over(one, two, &wait).await;
    is_left_to_a_request_without_a_sign(one, two, &wait).await;
    has_samples(one, two).await;
    replaces_a_log(one).await;
    joins_by_key(one, two).await;
    leaves_an_old_answer_to_retries(one, two, &wait).await;
    has_few_samples(one).await;
    ends_with_its_release(one, two, &wait).await;
    has_leases_of_a_client(one, &wait).await;
}

/// A retry waits for the owner, and gets its answer. A repeated segment is one segment.
async fn is_taken_once(one: Instance<'_>, two: Instance<'_>) {
    let (lease, log, log_fence) = one.take_with_log_fence("once", false).await;
    assert!(log.is_empty() && lease.fence > 0 && log_fence == 0);
    assert!(matches!(two.claim("once", true).await, LeaseOutcome::Held { left } if left <= LEASE_TIME));
    for _ in 0..2 {
        assert_eq!(one.append(lease, 0, "a", false).await, Appended::Kept);
    }
    assert_eq!(one.append(lease, 2, "c", false).await, Appended::Gap { have: 1 });
    assert_eq!(one.append(lease, 1, "b", true).await, Appended::Kept);
    let done = LeaseOutcome::Done {
        lease,
        log: vec![b"a".to_vec(), b"b".to_vec()],
    };
    assert_eq!(two.claim("once", true).await, done);
    // No client has received the answer.
    assert_eq!(two.claim("once", false).await, done);
    one.release(lease, true).await;
    assert_eq!(two.claim("once", true).await, done);
    // Another client has an equal request.
    let request = LeaseRequest {
        request: digest("once"),
        instance: 2,
        running: &[],
        is_retry: true,
        idempotency_key: None,
    };
    let other = two.store.claim(digest("other client"), &request).await.unwrap();
    assert!(matches!(other, LeaseOutcome::Taken { log, .. } if log.is_empty()));
    // An equal request that is not a retry is another sample.
    let (again, log, log_fence) = two.take_with_log_fence("once", false).await;
    assert!(log.is_empty() && again.fence > lease.fence);
    // Its number is used again, and progress of the first owner is outdated.
    assert_eq!((again.sample, log_fence), (lease.sample, again.fence));
    // Also for the next owner, if the first one has written nothing.
    two.release(again, false).await;
    let (next, log, log_fence) = one.take_with_log_fence("once", true).await;
    assert!(log.is_empty() && next.fence > again.fence);
    assert_eq!((next.sample, log_fence), (lease.sample, again.fence));
    one.release(next, false).await;
    let (again, _) = two.take("once", true).await;
    // No client has received its answer.
    assert_eq!(two.append(again, 0, "again", true).await, Appended::Kept);
    let done = LeaseOutcome::Done {
        lease: again,
        log: vec![b"again".to_vec()],
    };
    assert_eq!(one.claim("once", false).await, done);
}

/// After its lease, another gateway continues from the log, and the first one is fenced.
async fn is_taken_over(one: Instance<'_>, two: Instance<'_>, wait: &impl AsyncFn(Duration)) {
    let (first, _) = one.take("over", false).await;
    assert_eq!(one.append(first, 0, "a", false).await, Appended::Kept);
    wait(LEASE_TIME / 2).await;
    assert!(one.renew(first, true).await);
    wait(LEASE_TIME * 2 / 3).await;
    assert!(matches!(two.claim("over", true).await, LeaseOutcome::Held { .. }));
    wait(LEASE_TIME / 2).await;
    let (second, log, log_fence) = two.take_with_log_fence("over", true).await;
    assert_eq!((log, second.sample), (vec![b"a".to_vec()], first.sample));
    assert_eq!(log_fence, first.fence);
    assert!(second.fence > first.fence);
    assert!(!one.renew(first, true).await);
    assert_eq!(one.append(first, 1, "late", false).await, Appended::Fenced);
    one.release(first, true).await;
    assert!(two.renew(second, true).await);
    // A released lease is free at once. Its owner has written nothing.
    two.release(second, false).await;
    let (third, log, log_fence) = one.take_with_log_fence("over", true).await;
    assert_eq!((log, log_fence), (vec![b"a".to_vec()], first.fence));
    assert_eq!(one.append(third, 0, "a and b", false).await, Appended::Kept);
    one.release(third, false).await;
    let (_, log, log_fence) = two.take_with_log_fence("over", true).await;
    assert_eq!((log, log_fence), (vec![b"a and b".to_vec()], third.fence));
}

/// A request without a sign of a retry joins a turn whose client has left.
async fn is_left_to_a_request_without_a_sign(
    one: Instance<'_>,
    two: Instance<'_>,
    wait: &impl AsyncFn(Duration),
) {
    let (left, _) = one.take("left", false).await;
    wait(CLIENT_MARK + Duration::from_millis(1)).await;
    assert!(matches!(
        two.claim("left", false).await,
        LeaseOutcome::Held { .. }
    ));
    assert!(one.renew(left, true).await);
    let (other, _) = two.take("left", false).await;
    assert_ne!(other.sample, left.sample);
    // The client of the first sample leaves.
    assert!(one.renew(left, false).await);
    let third = Instance { number: 3, ..one };
    assert!(matches!(
        third.claim("left", false).await,
        LeaseOutcome::Held { .. }
    ));
}

/// Concurrent samples have separate logs. A retry gets the lowest sample that no client has received.
async fn has_samples(one: Instance<'_>, two: Instance<'_>) {
    let (first, _) = one.take("samples", false).await;
    let (second, _) = two.take("samples", false).await;
    assert_eq!((first.sample, second.sample), (0, 1));
    assert_ne!(first.log(), second.log());
    one.append(first, 0, "first", true).await;
    two.append(second, 0, "second", true).await;
    let third = Instance { number: 3, ..one };
    let sample = |claimed| match claimed {
        LeaseOutcome::Done { lease, .. } => lease.sample,
        other => panic!("{other:?}"),
    };
    // The client of the first sample may be receiving its answer, and the client of the second one has left.
    assert!(two.renew(second, false).await);
    assert_eq!(sample(third.claim("samples", true).await), 1);
    one.release(first, true).await;
    assert_eq!(sample(third.claim("samples", true).await), 1);
    two.release(second, true).await;
    // All answers have been received, so a retry gets the latest one.
    assert_eq!(sample(third.claim("samples", true).await), 1);
}

/// An owner whose write failed sends its log again.
async fn replaces_a_log(one: Instance<'_>) {
    let (lease, _) = one.take("again", false).await;
    one.append(lease, 0, "a", false).await;
    one.append(lease, 1, "b", false).await;
    let progress = |restart: u32, at: u64, segment: &str| Progress {
        lease,
        restart,
        at,
        segment: segment.as_bytes().to_vec(),
        is_last: false,
        precedes_effects: false,
    };
    let append = async |progress| one.store.append(digest("client"), progress).await.unwrap();
    assert_eq!(append(progress(1, 0, "all")).await, Appended::Kept);
    // A late write of the earlier log changes nothing.
    assert_eq!(append(progress(0, 2, "late")).await, Appended::Fenced);
    assert_eq!(append(progress(1, 1, "more")).await, Appended::Kept);
    one.release(lease, false).await;
    assert_eq!(one.take("again", true).await.1, [&b"all"[..], b"more"]);
}

/// A request gets the sample with its idempotency key, and a retry gets no sample with another key.
async fn joins_by_key(one: Instance<'_>, two: Instance<'_>) {
    let take = async |instance: Instance<'_>, key: &str| match instance
        .claim_with_key("keys", false, Some(key))
        .await
    {
        LeaseOutcome::Taken { lease, .. } => lease,
        other => panic!("{other:?}"),
    };
    let first = take(one, "a").await;
    let second = take(two, "b").await;
    assert_eq!((first.sample, second.sample), (0, 1));
    let third = Instance { number: 3, ..one };
    let claim = async |is_retry, key| third.claim_with_key("keys", is_retry, key).await;
    for is_retry in [false, true] {
        assert!(matches!(
            claim(is_retry, Some("b")).await,
            LeaseOutcome::Held { .. }
        ));
    }
    assert_eq!(two.append(second, 0, "b", true).await, Appended::Kept);
    two.release(second, true).await;
    let done = LeaseOutcome::Done {
        lease: second,
        log: vec![b"b".to_vec()],
    };
    assert_eq!(claim(false, Some("b")).await, done);
    // A retry without a key may be one of any sample.
    assert!(matches!(claim(true, None).await, LeaseOutcome::Held { .. }));
    assert_eq!(one.append(first, 0, "a", true).await, Appended::Kept);
    one.release(first, true).await;
    // Another key is another request, also as a retry, and leaves the answers of the earlier keys.
    match claim(true, Some("c")).await {
        LeaseOutcome::Taken { lease, log, .. } => assert_eq!((lease.sample, log.len()), (2, 0)),
        other => panic!("{other:?}"),
    }
    assert_eq!(claim(false, Some("b")).await, done);
}

/// An answer that no client has received is for all equal requests for a time, and then for retries.
async fn leaves_an_old_answer_to_retries(
    one: Instance<'_>,
    two: Instance<'_>,
    wait: &impl AsyncFn(Duration),
) {
    let (left, _) = one.take("unseen", false).await;
    assert_eq!(one.append(left, 0, "a", true).await, Appended::Kept);
    one.release(left, false).await;
    wait(UNSEEN_TIME.saturating_sub(Duration::from_secs(5))).await;
    let done = LeaseOutcome::Done {
        lease: left,
        log: vec![b"a".to_vec()],
    };
    assert_eq!(two.claim("unseen", false).await, done);
    wait(Duration::from_secs(10)).await;
    let (other, log) = two.take("unseen", false).await;
    assert_eq!((other.sample, log.len()), (1, 0));
    let third = Instance { number: 3, ..one };
    assert_eq!(third.claim("unseen", true).await, done);
    two.release(other, false).await;
}

/// Requests with many idempotency keys have few samples. A new one replaces the oldest answer.
async fn has_few_samples(one: Instance<'_>) {
    let claim = async |number: u64| {
        let key = format!("key {number}");
        one.claim_with_key("many", false, Some(&key)).await
    };
    for number in 0..MAX_SAMPLES + 5 {
        let LeaseOutcome::Taken { lease, log, .. } = claim(number).await else {
            panic!("the key is new");
        };
        assert_eq!((lease.sample, log.len()), (number % MAX_SAMPLES, 0));
        assert_eq!(one.append(lease, 0, "a", true).await, Appended::Kept);
        one.release(lease, true).await;
    }
    for number in [MAX_SAMPLES - 1, MAX_SAMPLES, MAX_SAMPLES + 4] {
        assert!(
            matches!(claim(number).await, LeaseOutcome::Done { .. }),
            "{number}"
        );
    }
    assert!(matches!(claim(0).await, LeaseOutcome::Taken { .. }));
}

/// A renewal and a segment may be executed after the release of their lease, or after the end of the turn.
async fn ends_with_its_release(one: Instance<'_>, two: Instance<'_>, wait: &impl AsyncFn(Duration)) {
    wait(LEASE_TIME + Duration::from_millis(1)).await;
    let has_lease = async || one.store.has_lease(digest("client")).await.unwrap();
    let (released, _) = one.take("released", false).await;
    one.release(released, false).await;
    assert!(!one.renew(released, true).await && !has_lease().await);
    assert_eq!(one.append(released, 0, "a", false).await, Appended::Kept);
    assert!(!has_lease().await);
    let (later, log) = two.take("released", true).await;
    assert_eq!((log, later.sample), (vec![b"a".to_vec()], 0));
    two.release(later, false).await;
    let (ended, _) = one.take("ended", false).await;
    assert_eq!(one.append(ended, 0, "a", true).await, Appended::Kept);
    assert!(one.renew(ended, true).await && !has_lease().await);
    assert!(matches!(
        two.claim("ended", true).await,
        LeaseOutcome::Done { .. }
    ));
    one.release(ended, true).await;
    assert!(!one.renew(ended, true).await);
}

/// The gateway asks whether a turn of a client may not be stored yet.
async fn has_leases_of_a_client(one: Instance<'_>, wait: &impl AsyncFn(Duration)) {
    wait(LEASE_TIME + Duration::from_millis(1)).await;
    let has = async |client: &str| one.store.has_lease(digest(client)).await.unwrap();
    assert!(!has("client").await);
    let (lease, _) = one.take("lease", false).await;
    assert!(has("client").await && !has("client without a lease").await);
    one.release(lease, false).await;
    assert!(!has("client").await);
    let (lease, _) = one.take("last", false).await;
    assert_eq!(one.append(lease, 0, "a", true).await, Appended::Kept);
    assert!(!has("client").await);
    one.take("expired", false).await;
    wait(LEASE_TIME + Duration::from_millis(1)).await;
    assert!(!has("client").await);
}
