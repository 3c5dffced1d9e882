//! [`Lease`]: the right of one gateway to run a request, among the gateways of one store.

use std::time::Duration;

use super::chain::Digest;

/// Time for which a lease is valid without a renewal.
pub const LEASE_TIME: Duration = Duration::from_secs(15);

/// Time after which the owner of a lease counts as one without a connected client, unless a renewal has stated a client. Renewals are sent
/// every 5 seconds, and may take 2 seconds.
pub const CLIENT_MARK: Duration = Duration::from_secs(7);

/// Time for which a complete answer that no client has received is also for equal requests without a sign of a retry. A gateway keeps the
/// answer in memory as long.
pub const UNSEEN_TIME: Duration = Duration::from_secs(600);

/// Time for which an answer is kept for retries after a client has received it.
pub const SEEN_TIME: Duration = Duration::from_secs(600);

/// Maximum number of samples of a request that a store keeps, unless more of them run. A further sample replaces the oldest answer.
pub const MAX_SAMPLES: u64 = 64;

/// A gateway's right to run a sample of the answer to a request, until the lease expires. A later owner has a greater fence, and the writes
/// of an earlier owner are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The request. Equal requests have equal digests.
    pub request: Digest,
    /// Number of the sample: an equal request that is not a retry asks for another sample of the answer.
    pub sample: u64,
    /// Number that grows with each owner of the sample. 0 in a store that one gateway uses at a time.
    pub fence: u64,
}

impl Lease {
    /// Returns the digest by which the progress of the sample is found.
    pub fn log(&self) -> Digest {
        self.request.numbered(self.sample)
    }
}

/// A request that a gateway wants to run.
#[derive(Debug, Clone, Copy)]
pub struct LeaseRequest<'a> {
    /// The request. Equal requests have equal digests.
    pub request: Digest,
    /// Random number of the gateway.
    pub instance: u128,
    /// Samples of the request that the gateway does not ask for: they run in this gateway, or their progress is not readable.
    pub running: &'a [u64],
    /// Whether the client marks the request as a retry.
    pub is_retry: bool,
    /// Digest of the client's key for all attempts of a request. The request gets the sample with this key, and a retry gets no sample with
    /// another key.
    pub idempotency_key: Option<Digest>,
}

/// Result of [`SessionStore::claim`](super::store::SessionStore::claim).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// The gateway runs the request, and continues from the progress of an earlier owner, if there is any.
    Taken {
        /// The lease.
        lease: Lease,
        /// Segments of the progress.
        log: Vec<Vec<u8>>,
        /// Fence of the lease under which the log was written; 0 without a log. A gateway whose own lease of the sample has this fence or a
        /// later one has all of the log in its memory.
        log_fence: u64,
    },
    /// Another gateway runs the sample that the request joins.
    Held {
        /// Time until the lease expires, unless its owner renews it.
        left: Duration,
    },
    /// The sample is complete.
    Done {
        /// Last lease of the sample, with which the gateway [releases](super::store::SessionStore::release) the sample again when a client has
        /// received the answer.
        lease: Lease,
        /// Segments of the progress, which contain the answer.
        log: Vec<Vec<u8>>,
    },
    /// The progress of the sample is damaged, or was written with another encryption key. The gateway releases the lease, and claims another
    /// sample.
    Unreadable {
        /// The lease, or the last lease of a complete sample.
        lease: Lease,
    },
}

/// A segment of the progress of a request. After a crash, the request continues from all of its segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Lease of the request.
    pub lease: Lease,
    /// Number of logs that the owner of the lease began before this one. Segment 0 of a later log replaces the earlier log.
    pub restart: u32,
    /// Number of segments before this segment. With fence 0, segment 0 replaces earlier progress of the request.
    pub at: u64,
    /// Changes since the previous segment, as a record of the gateway in JSON.
    pub segment: Vec<u8>,
    /// Whether the request is complete, which ends the lease.
    pub is_last: bool,
    /// Whether a call that must not be repeated begins after this operation. The operation is the only one of its request at that time, so
    /// that a store may wait for its replicas on another connection.
    pub precedes_effects: bool,
}

/// Result of [`SessionStore::append`](super::store::SessionStore::append).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The segment is in the log, from this operation or an earlier one.
    Kept,
    /// Another gateway has the lease, so nothing was changed.
    Fenced,
    /// Segments before this one are missing, so nothing was changed.
    Gap {
        /// Number of segments in the log.
        have: u64,
    },
}
