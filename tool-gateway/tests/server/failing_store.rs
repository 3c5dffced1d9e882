//! A store in memory whose operations fail, are slow, or never end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tool_gateway::session::Digest;
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::session::record::{Session, SessionId};
use tool_gateway::session::store::{
    Appended, FoundEntries, Lookup, Progress, Reach, SaveOutcome, SavedTurn, SessionStore, StoreError,
    StoreFuture, StoredTurn,
};

/// The store, shared by its clones.
#[derive(Clone)]
pub(crate) struct FailingStore {
    inner: Arc<MemoryStore>,
    /// The segments of each request.
    progress: Arc<Mutex<HashMap<Digest, Vec<Vec<u8>>>>>,
    is_durable: bool,
    latency: Duration,
    /// Number of finished operations.
    operations: Arc<Mutex<Vec<&'static str>>>,
    fails: Arc<Mutex<Fails>>,
    hangs: Arc<Mutex<Fails>>,
    held: Arc<Mutex<Option<Held>>>,
    written: Arc<AtomicUsize>,
    /// Held by the running write, so that writes are executed in the order of their first polls.
    writes: Arc<tokio::sync::Mutex<()>>,
}

/// An operation whose answer waits for a permit.
struct Held {
    operation: &'static str,
    permits: Arc<Semaphore>,
}

/// Condition on the finished operations: whether the last operation fails or hangs.
type Fails = Box<dyn Fn(&[&'static str]) -> bool + Send>;

impl FailingStore {
    /// Creates a store that is durable for the gateway.
    pub(crate) fn durable() -> Self {
        Self {
            inner: Arc::default(),
            progress: Arc::default(),
            is_durable: true,
            latency: Duration::ZERO,
            operations: Arc::default(),
            fails: Arc::new(Mutex::new(Box::new(|_| false))),
            hangs: Arc::new(Mutex::new(Box::new(|_| false))),
            held: Arc::default(),
            written: Arc::default(),
            writes: Arc::default(),
        }
    }

    /// Creates a store that is not durable, and so receives no progress.
    pub(crate) fn in_memory() -> Self {
        Self {
            is_durable: false,
            ..Self::durable()
        }
    }

    /// Sets the duration of each operation.
    pub(crate) fn with_latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Sets the operations that fail; each is the last one of its argument.
    pub(crate) fn fail(&self, fails: impl Fn(&[&'static str]) -> bool + Send + 'static) {
        *self.fails.lock().unwrap() = Box::new(fails);
    }

    /// Sets the operations that never end; each is the last one of its argument.
    pub(crate) fn hang(&self, hangs: impl Fn(&[&'static str]) -> bool + Send + 'static) {
        *self.hangs.lock().unwrap() = Box::new(hangs);
    }

    /// Holds the answer of the next operation with this name until there is a permit.
    pub(crate) fn hold(&self, operation: &'static str) -> Arc<Semaphore> {
        let permits = Arc::new(Semaphore::new(0));
        *self.held.lock().unwrap() = Some(Held {
            operation,
            permits: Arc::clone(&permits),
        });
        permits
    }

    /// Returns the number of bytes of progress that were stored.
    pub(crate) fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    /// Stores a segment of progress. No segment before it is missing.
    fn add_segment(&self, progress: Progress) {
        let mut all = self.progress.lock().unwrap();
        let segments = all.entry(progress.lease.log()).or_default();
        if progress.at == 0 {
            segments.clear();
        }
        assert_eq!(segments.len() as u64, progress.at, "no segment is missing");
        segments.push(progress.segment);
    }

    pub(crate) fn operations(&self) -> usize {
        self.operations.lock().unwrap().len()
    }

    fn run<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        done: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        let mut operations = self.operations.lock().unwrap();
        operations.push(operation);
        if self.fails.lock().unwrap()(&operations) {
            return Box::pin(async { Err(StoreError("the disk is gone".to_owned())) });
        }
        let hangs = self.hangs.lock().unwrap()(&operations);
        let writes = ["save", "append"].contains(&operation).then_some(&self.writes);
        let latency = self.latency;
        let is_held = |held: &mut Held| held.operation == operation;
        let held = self.held.lock().unwrap().take_if(is_held);
        Box::pin(async move {
            let _write = match writes {
                Some(writes) => Some(writes.lock().await),
                None => None,
            };
            if hangs {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(latency).await;
            let answer = done.await;
            if let Some(held) = held {
                let _permit = held.permits.acquire().await;
            }
            answer
        })
    }
}

impl SessionStore for FailingStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        let find = async move { self.inner.find(client, lookup).await };
        self.run("find", Box::pin(find))
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        let load = async move { self.inner.load(client, ids).await };
        self.run("load", Box::pin(load))
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        let session = async move { self.inner.session(client, id).await };
        self.run("session", Box::pin(session))
    }

    fn has_session<'a>(&'a self, client: Option<Digest>, id: &'a SessionId) -> StoreFuture<'a, bool> {
        self.run(
            "has_session",
            Box::pin(async move { self.inner.has_session(client, id).await }),
        )
    }

    fn save(&self, client: Digest, mut saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        let save = async move {
            if let Some(progress) = saved.progress.take() {
                self.add_segment(progress);
            }
            self.inner.save(client, saved).await
        };
        self.run("save", Box::pin(save))
    }

    fn reach(&self) -> Reach {
        if self.is_durable {
            Reach::Machine
        } else {
            Reach::Process
        }
    }

    fn secret(&self) -> Option<[u8; 32]> {
        Some([9; 32])
    }

    fn append(&self, _: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        self.written.fetch_add(progress.segment.len(), Ordering::Relaxed);
        let save = async move {
            self.add_segment(progress);
            Ok(Appended::Kept)
        };
        self.run("append", Box::pin(save))
    }

    fn progress(&self, _: Digest, request: Digest) -> StoreFuture<'_, Vec<Vec<u8>>> {
        let segments = move || self.progress.lock().unwrap().get(&request).cloned();
        let progress = async move { Ok(segments().unwrap_or_default()) };
        self.run("progress", Box::pin(progress))
    }

    fn name(&self) -> String {
        "failing".to_owned()
    }
}
