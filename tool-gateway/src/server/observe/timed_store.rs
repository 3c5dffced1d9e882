//! [`TimedStore`]: measures the operations of a session store, limits their time, and keeps the records of a shared store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::metrics::{Metrics, StoreOperation};
use crate::session::Digest;
use crate::session::record::{Session, SessionId};
use crate::session::record_cache::RecordCache;
use crate::session::store::{
    Appended, FoundEntries, Lease, LeaseOutcome, LeaseRequest, Lookup, Progress, Reach, SaveOutcome,
    SavedTurn, SessionStore, StoreError, StoreFuture, StoreSize, StoredTurn,
};

/// Maximum time of an operation: a disk or a network that hangs must not block requests and hold their memory forever.
const LIMIT: Duration = Duration::from_secs(30);

/// A store with the metrics of its operations.
pub(crate) struct TimedStore {
    store: Arc<dyn SessionStore>,
    metrics: Metrics,
    /// Records of a shared store. Other stores have their records in the memory of this machine.
    cache: Option<RecordCache>,
    operations: Operations,
}

struct Operations {
    find: StoreOperation,
    load: StoreOperation,
    session: StoreOperation,
    has_session: StoreOperation,
    save: StoreOperation,
    append: StoreOperation,
    progress: StoreOperation,
    claim: StoreOperation,
    renew: StoreOperation,
    release: StoreOperation,
    has_lease: StoreOperation,
    remove_expired: StoreOperation,
}

impl TimedStore {
    pub(crate) fn new(store: Arc<dyn SessionStore>, metrics: Metrics) -> Self {
        let cache = (store.reach() == Reach::Shared).then(RecordCache::new);
        let operations = Operations {
            find: StoreOperation::new("find"),
            load: StoreOperation::new("load"),
            session: StoreOperation::new("session"),
            has_session: StoreOperation::new("has_session"),
            save: StoreOperation::new("save"),
            append: StoreOperation::new("append"),
            progress: StoreOperation::new("progress"),
            claim: StoreOperation::new("claim"),
            renew: StoreOperation::new("renew"),
            release: StoreOperation::new("release"),
            has_lease: StoreOperation::new("has_lease"),
            remove_expired: StoreOperation::new("remove_expired"),
        };
        Self {
            store,
            metrics,
            cache,
            operations,
        }
    }

    fn timed<'a, T: Send + 'a>(
        &'a self,
        operation: &'a StoreOperation,
        done: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let began = Instant::now();
            let answer = in_time(done).await;
            self.metrics.store(operation, began.elapsed());
            if answer.is_err() {
                self.metrics.store_errors.inc();
            }
            answer
        })
    }
}

/// Returns the result of an operation, or an error after [`LIMIT`].
async fn in_time<T>(done: StoreFuture<'_, T>) -> Result<T, StoreError> {
    let late = |_| Err(StoreError(format!("no response within {} s", LIMIT.as_secs())));
    tokio::time::timeout(LIMIT, done).await.unwrap_or_else(late)
}

impl SessionStore for TimedStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        let found = self.timed(&self.operations.find, self.store.find(client, lookup));
        let Some(cache) = &self.cache else {
            return found;
        };
        Box::pin(async move {
            let mut found = found.await?;
            cache.fill(client, &mut found);
            Ok(found)
        })
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        let loaded = self.timed(&self.operations.load, self.store.load(client, ids));
        let Some(cache) = &self.cache else {
            return loaded;
        };
        Box::pin(async move {
            let loaded = loaded.await?;
            for turn in loaded.iter().flatten() {
                cache.insert(client, turn.clone());
            }
            Ok(loaded)
        })
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.timed(&self.operations.session, self.store.session(client, id))
    }

    fn has_session<'a>(&'a self, client: Option<Digest>, id: &'a SessionId) -> StoreFuture<'a, bool> {
        self.timed(&self.operations.has_session, self.store.has_session(client, id))
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        let Some(cache) = &self.cache else {
            return self.timed(&self.operations.save, self.store.save(client, saved));
        };
        let record = saved.record.clone();
        let outcome = self.timed(&self.operations.save, self.store.save(client, saved));
        Box::pin(async move {
            let outcome = outcome.await?;
            if let SaveOutcome::Saved { revision } = outcome {
                cache.insert(client, StoredTurn { revision, record });
            }
            Ok(outcome)
        })
    }

    fn secret(&self) -> Option<[u8; 32]> {
        self.store.secret()
    }

    fn reach(&self) -> Reach {
        self.store.reach()
    }

    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        self.timed(&self.operations.append, self.store.append(client, progress))
    }

    fn progress(&self, client: Digest, log: Digest) -> StoreFuture<'_, Vec<Vec<u8>>> {
        self.timed(&self.operations.progress, self.store.progress(client, log))
    }

    fn claim<'a>(&'a self, client: Digest, request: &'a LeaseRequest<'a>) -> StoreFuture<'a, LeaseOutcome> {
        self.timed(&self.operations.claim, self.store.claim(client, request))
    }

    fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> StoreFuture<'_, bool> {
        self.timed(
            &self.operations.renew,
            self.store.renew(client, lease, has_client),
        )
    }

    fn release(&self, client: Digest, lease: Lease, is_seen: bool) -> StoreFuture<'_, ()> {
        self.timed(
            &self.operations.release,
            self.store.release(client, lease, is_seen),
        )
    }

    fn has_lease(&self, client: Digest) -> StoreFuture<'_, bool> {
        self.timed(&self.operations.has_lease, self.store.has_lease(client))
    }

    fn remove_expired(&self) -> StoreFuture<'_, bool> {
        self.timed(&self.operations.remove_expired, self.store.remove_expired())
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(in_time(self.store.check()))
    }

    fn damaged_records(&self) -> u64 {
        self.store.damaged_records()
    }

    fn size(&self) -> StoreFuture<'_, Option<StoreSize>> {
        Box::pin(in_time(self.store.size()))
    }

    fn ttl(&self) -> Duration {
        self.store.ttl()
    }

    fn name(&self) -> String {
        self.store.name()
    }
}
