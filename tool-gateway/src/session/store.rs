//! [`SessionStore`]: storage of turns and sessions.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::chain::Digest;
use super::record::{Session, SessionId, Turn};

/// Stores and finds the turns of sessions. Every key is a [`Digest`] that includes the principal, so that no principal finds entries of
/// another principal. A store may remove entries at any time: the client's messages are then forwarded unchanged.
///
/// A store has limits for each client and for all clients. The oldest sessions of a client above its own limits are removed. Above a limit
/// of all clients, the oldest session of the client with the most data is removed, so that no client displaces the turns of a smaller
/// client.
///
/// A session with all of its turns expires a fixed time after its latest turn was stored. The time is four times as long if the latest turn
/// is suspended. A look-up does not renew a session.
///
/// The gateway drops an operation after 30 seconds, and responds to the request with 503. A retry continues from the last stored point. A
/// dropped write must not be executed after a later write. Writes of one request may overlap, and must be executed in the order of their
/// first polls.
pub trait SessionStore: Send + Sync + 'static {
    /// Returns the turns after each of these points of a conversation, oldest first (`find_session_by_hash` in requirements 004). Two
    /// branches with one visible history are two turns after one point.
    ///
    /// A point may be common to many conversations, such as "Hi" and "Hello". The store returns the latest [`MAX_TURNS_OF_POINT`] turns
    /// after it, and all turns of `session`.
    fn turns<'a>(
        &'a self,
        points: &'a [Digest],
        session: Option<&'a SessionId>,
    ) -> StoreFuture<'a, Vec<Vec<Arc<Turn>>>>;

    /// Returns the turn of the call with this digest.
    fn turn_of_call(&self, call: Digest) -> StoreFuture<'_, Option<Arc<Turn>>>;

    /// Returns the session of a client's session key.
    fn session_of_key(&self, key: Digest) -> StoreFuture<'_, Option<SessionId>>;

    /// Returns a session; `None` if the session is unknown or has expired. Files of unknown sessions, such as offloaded results, are
    /// removed after a time.
    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>>;

    /// Stores a turn under its point, its calls and its session's keys (`store_hash_mapping` in requirements 004), with the progress of its
    /// request. Replaces a turn with an equal id.
    fn save(&self, saved: SavedTurn) -> StoreFuture<'_, ()>;

    /// Returns whether entries survive the process. Only a durable store receives the progress of requests, since a running process has it
    /// in memory.
    fn is_durable(&self) -> bool {
        false
    }

    /// Appends a segment to the progress of a request whose turn is incomplete.
    fn save_progress(&self, progress: Progress) -> StoreFuture<'_, ()> {
        let _ = progress;
        Box::pin(async { Ok(()) })
    }

    /// Returns all segments of a request's progress in their order, or an empty list if the request is unknown.
    fn progress(&self, client: Digest, request: Digest) -> StoreFuture<'_, Vec<Vec<u8>>> {
        let _ = (client, request);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Removes expired sessions, and expired progress of requests. Returns whether there may be more. The gateway calls this method at
    /// intervals. A store with automatic expiration need not implement it.
    ///
    /// No session is removed for one time to live after a change of the wall clock, or after a suspension of the machine.
    fn remove_expired(&self) -> StoreFuture<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    /// Returns the secret that keys the digests of the sessions; `None` if the store has no secret. The sessions of a durable store are
    /// found only with an unchanged secret: if the store has none, set [`Gateway::with_secret`](crate::Gateway::with_secret).
    fn secret(&self) -> Option<[u8; 32]> {
        None
    }

    /// Returns the size of the store, if it is known.
    fn size(&self) -> StoreFuture<'_, Option<StoreSize>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns the time for which a session is kept without a new turn, a day by default. Files of unknown sessions are kept for this time,
    /// too.
    fn ttl(&self) -> Duration {
        DEFAULT_TTL
    }

    /// Returns the name of the store for messages to the operator, such as `memory`.
    fn name(&self) -> String;
}

/// Default time for which a session is kept after its latest turn.
pub(crate) const DEFAULT_TTL: Duration = Duration::from_secs(24 * 3600);

/// Default maximum number of turns of a client in a store.
pub(crate) const DEFAULT_TURNS_PER_CLIENT: u64 = 10_000;

/// Default maximum number of bytes of a client in a store: 256 MiB.
pub(crate) const DEFAULT_BYTES_PER_CLIENT: u64 = 256 << 20;

/// Factor of the time to live of a session whose latest turn is suspended.
pub(super) const SUSPENDED_FACTOR: u32 = 4;

/// Maximum number of session keys of a session. Only the latest keys are kept.
pub(super) const MAX_KEYS_OF_SESSION: usize = 64;

/// Makes a key the latest key of a session. Returns the key that is removed above the maximum.
pub(super) fn push_key(keys: &mut Vec<Digest>, key: Digest) -> Option<Digest> {
    keys.retain(|other| *other != key);
    keys.push(key);
    (keys.len() > MAX_KEYS_OF_SESSION).then(|| keys.remove(0))
}

/// Maximum number of turns after one point that [`SessionStore::turns`] returns, besides the turns of the requested session.
pub const MAX_TURNS_OF_POINT: usize = 64;

/// A turn with the digests by which it is found.
#[derive(Debug, Clone)]
pub struct SavedTurn {
    /// The turn.
    pub turn: Turn,
    /// Digest of the client.
    pub client: Digest,
    /// Digests of the ids of the turn's calls.
    pub calls: Vec<Digest>,
    /// Digests of the client's keys for the session.
    pub keys: Vec<Digest>,
    /// Progress of the request that produced the turn.
    pub progress: Option<Progress>,
}

/// A segment of the progress of a request. After a crash, the request continues from all of its segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The client.
    pub client: Digest,
    /// The request.
    pub request: Digest,
    /// Number of segments before this segment. Segment 0 replaces earlier progress of the request.
    pub at: u64,
    /// Changes since the previous segment, as a record of the gateway in JSON.
    pub segment: Vec<u8>,
}

/// The size of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSize {
    /// Number of turns.
    pub turns: usize,
    /// Size in bytes: an estimate for a store in memory, or the size of the file.
    pub bytes: u64,
}

/// Result of a store operation. The error has a message for the log.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Error of a store operation, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the session store failed: {0}")]
pub struct StoreError(pub String);
