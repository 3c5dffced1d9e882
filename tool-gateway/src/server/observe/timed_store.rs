//! [`TimedStore`]: measures the operations of a session store, and limits their time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::metrics::Metrics;
use crate::session::Digest;
use crate::session::record::{Session, SessionId, Turn};
use crate::session::store::{Progress, SavedTurn, SessionStore, StoreError, StoreFuture, StoreSize};

/// Maximum time of an operation: a disk or a network that hangs must not block requests and hold their memory forever.
const LIMIT: Duration = Duration::from_secs(30);

/// A store with the metrics of its operations.
pub(crate) struct TimedStore {
    store: Arc<dyn SessionStore>,
    metrics: Metrics,
}

impl TimedStore {
    pub(crate) fn new(store: Arc<dyn SessionStore>, metrics: Metrics) -> Self {
        Self { store, metrics }
    }

    fn timed<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
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
    fn turns<'a>(
        &'a self,
        points: &'a [Digest],
        session: Option<&'a SessionId>,
    ) -> StoreFuture<'a, Vec<Vec<Arc<Turn>>>> {
        self.timed("turns", self.store.turns(points, session))
    }

    fn turn_of_call(&self, call: Digest) -> StoreFuture<'_, Option<Arc<Turn>>> {
        self.timed("turn_of_call", self.store.turn_of_call(call))
    }

    fn session_of_key(&self, key: Digest) -> StoreFuture<'_, Option<SessionId>> {
        self.timed("session_of_key", self.store.session_of_key(key))
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.timed("session", self.store.session(id))
    }

    fn save(&self, saved: SavedTurn) -> StoreFuture<'_, ()> {
        self.timed("save", self.store.save(saved))
    }

    fn secret(&self) -> Option<[u8; 32]> {
        self.store.secret()
    }

    fn is_durable(&self) -> bool {
        self.store.is_durable()
    }

    fn save_progress(&self, progress: Progress) -> StoreFuture<'_, ()> {
        self.timed("save_progress", self.store.save_progress(progress))
    }

    fn progress(&self, client: Digest, request: Digest) -> StoreFuture<'_, Vec<Vec<u8>>> {
        self.timed("progress", self.store.progress(client, request))
    }

    fn remove_expired(&self) -> StoreFuture<'_, bool> {
        self.timed("remove_expired", self.store.remove_expired())
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
