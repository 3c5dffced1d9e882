//! [`SessionStore`]: storage of turns and sessions.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::chain::Digest;
pub use super::lease::{Appended, Lease, LeaseOutcome, LeaseRequest, Progress};
use super::record::{Session, SessionId};
pub use super::store_error::StoreError;
use super::turn_record::TurnRecord;

/// Stores and finds the turns of sessions. Each operation names its client, and finds only entries of this client. A store may remove
/// entries at any time: the client's messages are then forwarded unchanged.
///
/// A store has limits for each client and for all clients. The oldest sessions of a client above its own limits are removed. Above a limit
/// of all clients, the oldest session of the client with the most data is removed, so that no client displaces the turns of a smaller
/// client.
///
/// A session with all of its turns expires a fixed time after its latest turn was stored. The time is four times as long if the latest turn
/// is suspended. A look-up does not renew a session.
///
/// All operations except look-ups are atomic. The gateway drops an operation after 30 seconds, and responds to the request with 503. A retry
/// continues from the last stored point. A dropped write must not be executed after a later write. Writes of one request may overlap, and
/// must be executed in the order of their first polls.
///
/// The turns of this store are encoded, as in a database, and each operation is one look-up or one change of its tables:
///
#[doc = concat!("```\n", include_str!("tests/own_store.rs"), "\n",
"# use tool_gateway::{Gateway, upstream::ScriptUpstream};
# fn main() {
let gateway = Gateway::new(tool_runtime::ToolRegistry::new(), ScriptUpstream::embedded());
let router = gateway.with_store(OwnStore::default()).router();
# let _ = router;
# }
```")]
pub trait SessionStore: Send + Sync + 'static {
    /// Finds sessions and turns of a client (`find_session_by_hash` in requirements 004). Expired sessions and their turns are not found.
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries>;

    /// Returns the turns with these ids, in the order of the ids; `None` for an unknown or expired turn.
    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>>;

    /// Returns a session; `None` if the session is unknown or has expired.
    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>>;

    /// Returns whether the client has this session. The gateway removes files of unknown sessions, such as offloaded results, after a time.
    /// `None` is a session whose client the gateway does not know, such as of files of an earlier version: a store that looks up sessions by
    /// their client returns `true`.
    fn has_session<'a>(&'a self, client: Option<Digest>, id: &'a SessionId) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            match client {
                Some(client) => Ok(self.session(client, id).await?.is_some()),
                None => Ok(true),
            }
        })
    }

    /// Stores a turn under its point, its calls and its session's keys (`store_hash_mapping` in requirements 004), with the progress of its
    /// request. Creates the turn, or replaces exactly the revision that `saved` names; otherwise nothing is changed. Removes entries of the
    /// client above its limits, but never the turn of this operation.
    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome>;

    /// Returns which gateways find the entries. A gateway keeps the progress of its requests in memory, too, and stores it only if the store
    /// is [durable](Reach::is_durable).
    fn reach(&self) -> Reach;

    /// Appends a segment to the progress of a request, and renews its lease. An operation that is executed again changes nothing.
    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        let _ = (client, progress);
        Box::pin(async { Ok(Appended::Kept) })
    }

    /// Returns all segments of a sample's progress ([`Lease::log`]) in their order, or an empty list if the sample is unknown. The gateway
    /// does not call this method with a [shared](Reach::Shared) store, whose [`claim`](Self::claim) returns the segments.
    fn progress(&self, client: Digest, log: Digest) -> StoreFuture<'_, Vec<Vec<u8>>> {
        let _ = (client, log);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Claims a sample of the answer to a request, so that no other gateway runs the sample: the sample with the request's idempotency key;
    /// a sample whose client has left; the oldest sample that no client has received, for a retry; or a new sample. A complete sample that a client has received is replaced, except for a
    /// retry. The lease is valid for [`LEASE_TIME`](super::lease::LEASE_TIME).
    ///
    /// The gateway calls this method and the next three only with a [shared](Reach::Shared) store: in another store, one process knows what
    /// runs. The default implementation fails.
    fn claim<'a>(&'a self, client: Digest, request: &'a LeaseRequest<'a>) -> StoreFuture<'a, LeaseOutcome> {
        let _ = (client, request);
        let error = StoreError("the store has no leases, so one gateway at a time can use it".to_owned());
        Box::pin(async { Err(error) })
    }

    /// Prolongs a lease. `has_client` states whether a client waits for the answer. Returns whether the gateway still has the lease.
    fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> StoreFuture<'_, bool> {
        let _ = (client, lease, has_client);
        Box::pin(async { Ok(true) })
    }

    /// Ends a lease. `is_seen` states that a client has received the complete answer. A lease of another gateway is unchanged.
    fn release(&self, client: Digest, lease: Lease, is_seen: bool) -> StoreFuture<'_, ()> {
        let _ = (client, lease, is_seen);
        Box::pin(async { Ok(()) })
    }

    /// Returns whether a gateway has a lease of this client, so that a turn of the client may not be stored yet.
    fn has_lease(&self, client: Digest) -> StoreFuture<'_, bool> {
        let _ = client;
        Box::pin(async { Ok(false) })
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

    /// Returns an error if the store has not answered for a time, so that a load balancer sends requests to another gateway. A store with
    /// connections connects, and reads its [secret](Self::secret).
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the number of records that could not be read since the start. Their turns are not found.
    fn damaged_records(&self) -> u64 {
        0
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

/// Maximum number of turns after one point that [`SessionStore::find`] returns, besides the turns of the requested session.
pub const MAX_TURNS_OF_POINT: usize = 64;

/// The gateways that find the entries of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The gateways of this process. The entries end with the process.
    Process,
    /// One gateway of this machine at a time. The entries survive the process.
    Machine,
    /// All gateways with an equal configuration, at the same time.
    Shared,
}

impl Reach {
    /// Returns whether the entries survive the process. Only a durable store receives the progress of requests, since a running process has
    /// it in memory.
    pub fn is_durable(self) -> bool {
        self != Self::Process
    }
}

/// Digests by which [`SessionStore::find`] looks for sessions and turns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lookup<'a> {
    /// Keys of the client for its session, in the order of preference.
    pub keys: &'a [Digest],
    /// Ids of calls, in the order of preference.
    pub calls: &'a [Digest],
    /// Points of a conversation.
    pub points: &'a [Digest],
    /// Session of which all turns after a point are found. The default is the session of the found call, or else the session of the found
    /// key.
    pub session: Option<&'a SessionId>,
}

/// Result of [`SessionStore::find`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundEntries {
    /// Session of the first known key.
    pub session: Option<SessionId>,
    /// Turn of the first known call.
    pub call: Option<FoundCall>,
    /// Turns after each point, oldest first: two branches with one visible history are two turns after one point. A point may be common to
    /// many conversations, such as "Hi" and "Hello": the latest [`MAX_TURNS_OF_POINT`] turns, and all turns of the requested session.
    pub points: Vec<Vec<FoundTurn>>,
}

/// The turn of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundCall {
    /// Index of the call in [`Lookup::calls`].
    pub at: usize,
    /// Turn of the call.
    pub turn: FoundTurn,
}

/// A found turn. A store that has the record at hand returns the record, which saves the gateway an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundTurn {
    /// Reference to the turn, for [`SessionStore::load`].
    Ref(TurnRef),
    /// The turn.
    Turn(StoredTurn),
}

/// Reference to a turn. The gateway keeps up to 64 MiB of records of a [shared](Reach::Shared) store in memory, and loads a turn only if
/// it does not have the record of this revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRef {
    /// Id of the turn.
    pub id: String,
    /// Current revision of the turn.
    pub revision: u64,
}

/// A turn that a store returns.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTurn {
    /// Revision of the turn.
    pub revision: u64,
    /// Record of the turn.
    pub record: TurnRecord,
}

/// A turn with the digests by which it is found.
#[derive(Debug, Clone)]
pub struct SavedTurn {
    /// Record of the turn.
    pub record: TurnRecord,
    /// Revision that is replaced; 0 for a new turn.
    pub revision: u64,
    /// Digests of the ids of the turn's calls.
    pub calls: Vec<Digest>,
    /// Digests of the client's keys for the session.
    pub keys: Vec<Digest>,
    /// Progress of the request that produced the turn.
    pub progress: Option<Progress>,
    /// Whether a call that must not be repeated begins after this operation, as [`Progress::precedes_effects`].
    pub precedes_effects: bool,
}

/// Result of [`SessionStore::save`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    /// The turn was stored.
    Saved {
        /// The new revision, which is never 0.
        revision: u64,
    },
    /// The stored turn has another revision, so nothing was changed.
    Conflict {
        /// Revision of the stored turn; 0 if there is none.
        revision: u64,
    },
    /// Another gateway has the lease of the turn's request, so nothing was changed.
    Fenced,
    /// Segments before the segment of `progress` are missing, so nothing was changed.
    Gap {
        /// Number of segments in the log.
        have: u64,
    },
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
