//! Syncs of the disk for which a turn waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;
use tool_gateway::session::Digest;
use tool_gateway::session::record::{Session, SessionId};
use tool_gateway::session::store::{
    Appended, FoundEntries, Lookup, Progress, Reach, SaveOutcome, SavedTurn, SessionStore, StoreFuture,
    StoredTurn,
};

use crate::failing_store::FailingStore;
use crate::lab::{Chat, Lab, call, says, text, user};

/// Duration of a sync, and the time for which it waits for further writes.
const SYNC: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(10);

/// A durable store with slow syncs, of which each one is for all writes that wait. The clock is paused.
#[derive(Clone)]
struct SlowDisk {
    store: FailingStore,
    syncs: Arc<Mutex<Syncs>>,
}

struct Syncs {
    count: usize,
    /// The latest sync.
    begins: Instant,
    ends: Instant,
}

impl SlowDisk {
    fn new() -> Self {
        let now = Instant::now();
        let syncs = Syncs {
            count: 0,
            begins: now,
            ends: now,
        };
        Self {
            store: FailingStore::durable(),
            syncs: Arc::new(Mutex::new(syncs)),
        }
    }

    /// Returns the number of syncs so far.
    fn count(&self) -> usize {
        self.syncs.lock().unwrap().count
    }

    async fn synced<T>(
        &self,
        written: StoreFuture<'_, T>,
    ) -> Result<T, tool_gateway::session::store::StoreError> {
        let written = written.await;
        let ends = {
            let mut syncs = self.syncs.lock().unwrap();
            let now = Instant::now();
            if now >= syncs.begins {
                syncs.count += 1;
                syncs.begins = syncs.ends.max(now) + PAUSE;
                syncs.ends = syncs.begins + SYNC;
            }
            syncs.ends
        };
        tokio::time::sleep_until(ends).await;
        written
    }
}

impl SessionStore for SlowDisk {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        self.store.find(client, lookup)
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        self.store.load(client, ids)
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.store.session(client, id)
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        Box::pin(self.synced(self.store.save(client, saved)))
    }

    fn reach(&self) -> Reach {
        Reach::Machine
    }

    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        Box::pin(self.synced(self.store.append(client, progress)))
    }

    fn progress(&self, client: Digest, request: Digest) -> StoreFuture<'_, Vec<Vec<u8>>> {
        self.store.progress(client, request)
    }

    fn name(&self) -> String {
        "a slow disk".to_owned()
    }
}

/// Runs concurrent turns of these rounds. Returns the number of syncs, and the number for which the turns waited beside the upstream.
async fn syncs_of(turns: usize, rounds: &[Value], upstream: Duration) -> (usize, u128) {
    let disk = SlowDisk::new();
    let lab = Lab::with(json!({ "turns": rounds }), |gateway| {
        gateway.with_store(disk.clone())
    });
    let began = Instant::now();
    let answers = (0..turns).map(|number| {
        let mut chat = Chat::new(number % 2 == 0);
        chat.messages().push(user(format!("go {number}")));
        let lab = &lab;
        async move { chat.ask(lab).await }
    });
    for answer in join_all(answers).await {
        assert_eq!(answer.text(), "Done.");
    }
    assert_eq!(lab.seen().len(), turns * rounds.len());
    let waited = began.elapsed().checked_sub(upstream).unwrap();
    (
        disk.count(),
        waited.as_millis().div_ceil((SYNC + PAUSE).as_millis()),
    )
}

/// The beginning of a call that must not be repeated is stored before the call, and everything else with the end of the turn.
#[tokio::test(start_paused = true)]
async fn a_turn_with_one_call_waits_for_two_syncs() {
    let rounds = [says(&[call("write", "a")]), says(&[text("Done.")])];
    for turns in [1, 50] {
        assert_eq!(syncs_of(turns, &rounds, Duration::ZERO).await, (2, 2), "{turns}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_calls_that_may_be_repeated_waits_for_one_sync() {
    let rounds = [
        says(&[call("lookup", "a")]),
        says(&[call("lookup", "b"), call("lookup", "c")]),
        says(&[text("Done.")]),
    ];
    for turns in [1, 50] {
        assert_eq!(syncs_of(turns, &rounds, Duration::ZERO).await, (1, 1), "{turns}");
    }
}

/// The other writes end while the upstream answers.
#[tokio::test(start_paused = true)]
async fn slow_rounds_wait_for_the_same_syncs() {
    let slow = |mut turn: Value| {
        turn["delay_ms"] = 1_000.into();
        turn
    };
    let rounds = [slow(says(&[call("write", "a")])), slow(says(&[text("Done.")]))];
    let (_, waited) = syncs_of(1, &rounds, Duration::from_secs(2)).await;
    assert_eq!(waited, 2);
}
