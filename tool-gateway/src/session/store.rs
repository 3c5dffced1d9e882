//! [`SessionStore`]: the storage of turns and sessions.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::chain::Digest;
use super::record::{Session, SessionId, Turn};

/// Keeps the turns of sessions, and finds them. Every key is a [`Digest`] that holds the principal, so that no principal finds an entry of
/// another. An entry may be removed at any time: then the client's history goes up unchanged.
///
/// A session expires with all of its turns, a time after its latest one was stored; if that waits for the client, four times as long after
/// it. A lookup does not renew a session.
///
/// The gateway waits 30 seconds for an operation, and drops it then: the request is answered with 503, and a retry continues from the last
/// stored point. A write that was dropped must not be done after a later one.
pub trait SessionStore: Send + Sync + 'static {
    /// Returns the turns after each of these points of a conversation, the oldest first (`find_session_by_hash` in requirements 004). Two
    /// branches with the same visible history are two turns after one point.
    ///
    /// After a point of many conversations, such as "Hi" and "Hello", these are the latest [`MAX_TURNS_OF_POINT`] turns, and always all
    /// turns of `session`.
    fn turns<'a>(
        &'a self,
        points: &'a [Digest],
        session: Option<&'a SessionId>,
    ) -> StoreFuture<'a, Vec<Vec<Arc<Turn>>>>;

    /// Returns the turn of the call with this id.
    fn turn_of_call(&self, call: Digest) -> StoreFuture<'_, Option<Arc<Turn>>>;

    /// Returns the session of a client's key.
    fn session_of_key(&self, key: Digest) -> StoreFuture<'_, Option<SessionId>>;

    /// Returns a session; `None` if it is unknown or has expired. The files of an unknown session, such as offloaded results, are removed
    /// after a time.
    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>>;

    /// Stores a turn under its point, its calls and its session's keys (`store_hash_mapping` in requirements 004); replaces a turn of the
    /// same id. The progress of its request is stored with it.
    fn save(&self, saved: SavedTurn) -> StoreFuture<'_, ()>;

    /// Whether the store outlives the process. Only such a store gets the progress of requests: a running process knows it.
    fn is_durable(&self) -> bool {
        false
    }

    /// Stores the progress of a request whose turn is not complete; replaces an earlier progress.
    fn save_progress(&self, progress: Progress) -> StoreFuture<'_, ()> {
        let _ = progress;
        Box::pin(async { Ok(()) })
    }

    /// Returns the progress of a request.
    fn progress(&self, request: Digest) -> StoreFuture<'_, Option<Progress>> {
        let _ = request;
        Box::pin(async { Ok(None) })
    }

    /// Returns the secret that keys the digests of the sessions, if the store keeps one. A store that outlives the process needs an
    /// unchanged secret to find its sessions: a store without one is used with [`Gateway::with_secret`](crate::Gateway::with_secret).
    fn secret(&self) -> Option<[u8; 32]> {
        None
    }

    /// Returns the size of the store, if it is known.
    fn size(&self) -> StoreFuture<'_, Option<StoreSize>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns the time for which a session is kept without a new turn: a day, by default. Files of unknown sessions are kept as long.
    fn ttl(&self) -> Duration {
        DEFAULT_TTL
    }

    /// Returns the name of the store for the operator: `memory`.
    fn name(&self) -> String;
}

/// Time for which a session is kept after its latest turn, by default.
pub(crate) const DEFAULT_TTL: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of turns of a client in a store, by default.
pub(crate) const DEFAULT_TURNS_PER_CLIENT: u64 = 10_000;

/// Factor of the time for which a session is kept if its latest turn is suspended.
pub(super) const SUSPENDED_FACTOR: u32 = 4;

/// Maximum number of a client's keys for a session: the latest ones.
pub(super) const MAX_KEYS_OF_SESSION: usize = 64;

/// Makes a key the latest one of a session. Returns the key that is removed.
pub(super) fn push_key(keys: &mut Vec<Digest>, key: Digest) -> Option<Digest> {
    keys.retain(|other| *other != key);
    keys.push(key);
    (keys.len() > MAX_KEYS_OF_SESSION).then(|| keys.remove(0))
}

/// Maximum number of turns after one point that [`SessionStore::turns`] returns, besides the turns of the requested session.
pub const MAX_TURNS_OF_POINT: usize = 64;

/// A turn, and the digests by which it is found.
#[derive(Debug, Clone)]
pub struct SavedTurn {
    /// The turn.
    pub turn: Turn,
    /// The client.
    pub client: Digest,
    /// The ids of its calls.
    pub calls: Vec<Digest>,
    /// The client's keys for its session.
    pub keys: Vec<Digest>,
    /// The progress of its request with the turn.
    pub progress: Option<Progress>,
}

/// The progress of a request, from which it can continue after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The request.
    pub request: Digest,
    /// The record of the gateway, as JSON.
    pub record: Vec<u8>,
}

/// The size of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSize {
    /// Number of turns.
    pub turns: usize,
    /// Size in bytes: an estimate in memory, or the size of the file.
    pub bytes: u64,
}

/// The result of a store's operation, with a message for the log if it failed.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The reason that a store failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the session store failed: {0}")]
pub struct StoreError(pub String);
