//! [`Instances`]: three gateways over one store.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use serde_json::{Value, json};
use tool_gateway::session::Digest;
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::session::record::{Session, SessionId};
use tool_gateway::session::store::{
    Appended, FoundEntries, FoundTurn, Lease, LeaseOutcome, LeaseRequest, Lookup, Progress, Reach,
    SaveOutcome, SavedTurn, SessionStore, StoreError, StoreFuture, StoredTurn, TurnRef,
};
use tool_gateway::{Gateway, Turns};

use crate::lab::{Lab, Runs, registry, says, slow_call, text};
use crate::protocol::Scripted;
use crate::test_script::TestScript;

/// A gateway's connection to a store of several gateways.
#[derive(Clone, Default)]
pub(crate) struct SharedStore {
    store: Arc<RwLock<Arc<MemoryStore>>>,
    /// Whether the connection is lost.
    is_cut: Arc<AtomicBool>,
    /// Number of records that the gateway has loaded.
    loaded: Arc<AtomicUsize>,
    /// Number of next writes before which the store loses all segments.
    losses: Arc<AtomicUsize>,
    /// Whether logs are read with a damaged segment.
    is_damaged: Arc<AtomicBool>,
    /// Whether each turn was changed since it was read.
    is_changed: Arc<AtomicBool>,
    /// Time of each operation in milliseconds.
    delay: Arc<AtomicU64>,
}

/// Replaces a record by a reference, as a store returns which has its records elsewhere.
fn refer(turn: &mut FoundTurn) {
    if let FoundTurn::Turn(stored) = turn {
        *turn = FoundTurn::Ref(TurnRef {
            id: stored.record.id().to_owned(),
            revision: stored.revision,
        });
    }
}

impl SharedStore {
    /// Returns whether the store has lost the segments before a write, as in a failover to a replica.
    fn loses(&self, progress: &Progress) -> bool {
        let one_less = |losses: usize| losses.checked_sub(1);
        progress.at > 0
            && self
                .losses
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
                .is_ok()
    }

    fn store(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.store.read().unwrap())
    }

    fn run<'a, T: Send + 'a>(&'a self, done: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Box::pin(async { Err(StoreError("no connection".to_owned())) });
        }
        let delay = self.delay.load(Ordering::SeqCst);
        if delay == 0 {
            return done;
        }
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            done.await
        })
    }
}

impl SessionStore for SharedStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        self.run(Box::pin(async move {
            let mut found = self.store().find(client, lookup).await?;
            let of_call = found.call.iter_mut().map(|call| &mut call.turn);
            of_call.chain(found.points.iter_mut().flatten()).for_each(refer);
            Ok(found)
        }))
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        self.loaded.fetch_add(ids.len(), Ordering::SeqCst);
        self.run(Box::pin(async move { self.store().load(client, ids).await }))
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.run(Box::pin(async move { self.store().session(client, id).await }))
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        if saved
            .progress
            .as_ref()
            .is_some_and(|progress| self.loses(progress))
        {
            return Box::pin(async { Ok(SaveOutcome::Gap { have: 0 }) });
        }
        if self.is_changed.load(Ordering::SeqCst) {
            let revision = saved.revision + 1;
            return Box::pin(async move { Ok(SaveOutcome::Conflict { revision }) });
        }
        self.run(Box::pin(async move { self.store().save(client, saved).await }))
    }

    fn reach(&self) -> Reach {
        Reach::Shared
    }

    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        if self.loses(&progress) {
            return Box::pin(async { Ok(Appended::Gap { have: 0 }) });
        }
        self.run(Box::pin(
            async move { self.store().append(client, progress).await },
        ))
    }

    fn claim<'a>(&'a self, client: Digest, request: &'a LeaseRequest<'a>) -> StoreFuture<'a, LeaseOutcome> {
        self.run(Box::pin(async move {
            let mut claimed = self.store().claim(client, request).await?;
            if let LeaseOutcome::Taken { log, .. } | LeaseOutcome::Done { log, .. } = &mut claimed
                && let Some(first) = log.first_mut()
                && self.is_damaged.load(Ordering::SeqCst)
            {
                *first = br#"{"version":9}"#.to_vec();
            }
            Ok(claimed)
        }))
    }

    fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> StoreFuture<'_, bool> {
        self.run(Box::pin(async move {
            self.store().renew(client, lease, has_client).await
        }))
    }

    fn release(&self, client: Digest, lease: Lease, is_seen: bool) -> StoreFuture<'_, ()> {
        self.run(Box::pin(async move {
            self.store().release(client, lease, is_seen).await
        }))
    }

    fn has_lease(&self, client: Digest) -> StoreFuture<'_, bool> {
        self.run(Box::pin(async move { self.store().has_lease(client).await }))
    }

    fn secret(&self) -> Option<[u8; 32]> {
        Some([9; 32])
    }

    fn name(&self) -> String {
        "shared".to_owned()
    }
}

/// Three gateways with one upstream and one record of the calls.
pub(crate) struct Instances {
    pub(crate) one: Lab,
    pub(crate) two: Lab,
    pub(crate) three: Lab,
    /// Running turns of the first gateway.
    pub(crate) turns: Turns,
    /// Running turns of the second gateway.
    pub(crate) two_turns: Turns,
    /// Whether the first gateway has lost the store.
    pub(crate) is_cut: Arc<AtomicBool>,
    /// Number of records that the gateways have loaded.
    pub(crate) loaded: Arc<AtomicUsize>,
    /// Number of next writes before which the store loses all segments.
    pub(crate) losses: Arc<AtomicUsize>,
    /// Whether the gateways read logs with a damaged segment.
    pub(crate) is_damaged: Arc<AtomicBool>,
    /// Whether each turn was changed since a gateway has read it.
    pub(crate) is_changed: Arc<AtomicBool>,
    /// Time of each operation of the store in milliseconds.
    pub(crate) delay: Arc<AtomicU64>,
    store: Arc<RwLock<Arc<MemoryStore>>>,
}

impl Instances {
    pub(crate) fn new(turns: &[Value]) -> Self {
        Self::with(&json!({ "turns": turns }), |gateway| gateway)
    }

    /// The model calls `write` for this time, and the turn ends.
    pub(crate) fn with_slow_write(milliseconds: u64) -> Self {
        Self::new(&[
            says(&[slow_call("write", "a", milliseconds)]),
            says(&[text("Done.")]),
        ])
    }

    pub(crate) fn with(script: &Value, configure: impl Fn(Gateway) -> Gateway) -> Self {
        crate::subscriber::keep();
        let script = TestScript::from_json(&script.to_string()).unwrap();
        let (runs, store) = (Runs::default(), Arc::<RwLock<Arc<MemoryStore>>>::default());
        let (loaded, losses) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (is_damaged, is_changed) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let delay = Arc::<AtomicU64>::default();
        let gateway = |is_cut: &Arc<AtomicBool>| {
            let store = SharedStore {
                store: Arc::clone(&store),
                is_cut: Arc::clone(is_cut),
                loaded: Arc::clone(&loaded),
                losses: Arc::clone(&losses),
                is_damaged: Arc::clone(&is_damaged),
                is_changed: Arc::clone(&is_changed),
                delay: Arc::clone(&delay),
            };
            let gateway = Gateway::new(registry(&runs), Scripted::new(&script))
                .with_deferred(["later"])
                .unwrap();
            configure(gateway.with_store(store))
        };
        let lab = |gateway: Gateway| Lab {
            app: gateway.router(),
            script: script.clone(),
            runs: runs.clone(),
        };
        let is_cut = Arc::<AtomicBool>::default();
        let (one, two) = (gateway(&is_cut), gateway(&Arc::default()));
        Self {
            turns: one.turns(),
            two_turns: two.turns(),
            one: lab(one),
            two: lab(two),
            three: lab(gateway(&Arc::default())),
            is_cut,
            loaded,
            losses,
            is_damaged,
            is_changed,
            delay,
            store,
        }
    }

    /// Makes the store lose everything, as a server that restarts empty.
    pub(crate) fn lose_all(&self) {
        *self.store.write().unwrap() = Arc::default();
    }
}
