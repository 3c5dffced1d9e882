//! [`SessionStore`]: where turns and sessions are kept.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::chain::Digest;
use super::record::{Session, SessionId, Turn};

/// Keeps the turns of sessions, and finds them. Every key is a [`Digest`] that holds the principal, so that no one finds what is
/// another's. An entry may be gone at any time: then the client's history goes up as it was sent.
///
/// A session expires with all of its turns, a time after its latest one was stored; if that waits for the client, four times as long
/// after it. To look for it does not renew it.
///
/// The gateway waits 30 seconds for an operation, and drops it then: the request is answered with 503, and a retry goes on from there. A
/// write that was dropped must not be done after a later one.
pub trait SessionStore: Send + Sync + 'static {
    /// The turns after each of these points of a conversation, the oldest first (`find_session_by_hash` in requirements 004). Two branches
    /// with the same visible history are two turns after one point.
    ///
    /// After a point at which more conversations were, such as one of "Hi" and "Hello", these are the latest
    /// [`MAX_TURNS_OF_POINT`] of them, and in any case all of `session`.
    fn turns<'a>(
        &'a self,
        points: &'a [Digest],
        session: Option<&'a SessionId>,
    ) -> StoreFuture<'a, Vec<Vec<Arc<Turn>>>>;

    /// The turn that has the call with this id.
    fn turn_of_call(&self, call: Digest) -> StoreFuture<'_, Option<Arc<Turn>>>;

    /// The session that a client names by a key of its own.
    fn session_of_key(&self, key: Digest) -> StoreFuture<'_, Option<SessionId>>;

    /// A session; `None` if it is unknown or has expired. What belongs to an unknown session, such as offloaded files, is
    /// removed after a time.
    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>>;

    /// Stores a turn under its point, its calls and its session's keys (`store_hash_mapping` in requirements 004); replaces one of the same id.
    /// With it, how far its request has come.
    fn save(&self, saved: SavedTurn) -> StoreFuture<'_, ()>;

    /// Whether it outlives the process. Only such a store is told how far requests have come: as long as the process runs, it knows.
    fn is_durable(&self) -> bool {
        false
    }

    /// Stores how far a request has come whose turn is not complete; replaces what was stored before.
    fn save_progress(&self, progress: Progress) -> StoreFuture<'_, ()> {
        let _ = progress;
        Box::pin(async { Ok(()) })
    }

    /// How far a request had come.
    fn progress(&self, request: Digest) -> StoreFuture<'_, Option<Progress>> {
        let _ = request;
        Box::pin(async { Ok(None) })
    }

    /// The secret that the digests of its sessions are keyed with, if it keeps one. A store that outlives the process needs the same each
    /// time, or it finds nothing again: one without it is used with [`Gateway::with_secret`](crate::Gateway::with_secret).
    fn secret(&self) -> Option<[u8; 32]> {
        None
    }

    /// How large it is, if it knows.
    fn size(&self) -> StoreFuture<'_, Option<StoreSize>> {
        Box::pin(async { Ok(None) })
    }

    /// How long a session is kept without a new turn: a day, as provided. Files of sessions that the store does not know are kept as long.
    fn ttl(&self) -> Duration {
        DEFAULT_TTL
    }

    /// What it is, for the operator: `memory`.
    fn name(&self) -> String;
}

/// Time for which a session is kept after its latest turn, by default.
pub(crate) const DEFAULT_TTL: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of turns of a client in a store, by default.
pub(crate) const DEFAULT_TURNS_PER_CLIENT: u64 = 10_000;

/// How much longer a session whose latest turn is suspended is kept than another.
pub(super) const SUSPENDED_FACTOR: u32 = 4;

/// By how many of a client's keys a session is found at most: by the latest.
pub(super) const MAX_KEYS_OF_SESSION: usize = 64;

/// Makes a key the latest of those of a session. Returns the one by which it is not found any more.
pub(super) fn push_key(keys: &mut Vec<Digest>, key: Digest) -> Option<Digest> {
    keys.retain(|other| *other != key);
    keys.push(key);
    (keys.len() > MAX_KEYS_OF_SESSION).then(|| keys.remove(0))
}

/// How many turns after one point [`SessionStore::turns`] finds, besides those of the session that it is asked for.
pub const MAX_TURNS_OF_POINT: usize = 64;

/// A turn, and under what it is found.
#[derive(Debug, Clone)]
pub struct SavedTurn {
    /// The turn.
    pub turn: Turn,
    /// Whose it is.
    pub client: Digest,
    /// The ids of its calls.
    pub calls: Vec<Digest>,
    /// The keys that the client has for its session.
    pub keys: Vec<Digest>,
    /// Where its request has come to with it.
    pub progress: Option<Progress>,
}

/// How far a request has come, so that it can go on after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The request.
    pub request: Digest,
    /// What the gateway knows of it, as JSON.
    pub record: Vec<u8>,
}

/// How large a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSize {
    /// How many turns it keeps.
    pub turns: usize,
    /// How many bytes they take: about, in memory; of the file.
    pub bytes: u64,
}

/// What a store answers; a message for the log if it cannot.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Why a store did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the session store failed: {0}")]
pub struct StoreError(pub String);
