//! [`Lease`]: the right of one gateway to run a request, among gateways that share a store.

use std::time::Duration;

use super::chain::Digest;

/// Time for which a lease is valid without a renewal.
pub const LEASE_TIME: Duration = Duration::from_secs(15);

/// Time after which the owner of a lease is assumed to have no connected client, unless a renewal has reported a client. Renewals are sent
/// every 5 seconds, and may take 2 seconds.
pub const CLIENT_MARK: Duration = Duration::from_secs(7);

/// Time for which a complete answer that no client has received is returned to any equal request. Afterwards, only retries receive it. A
/// gateway keeps the answer in memory for the same time.
pub const UNSEEN_TIME: Duration = Duration::from_secs(600);

/// Time for which an answer is kept for retries after a client has received it.
pub const SEEN_TIME: Duration = Duration::from_secs(600);

/// Maximum number of samples (answers to equal requests) that a store keeps for a request. A further sample replaces a complete sample,
/// preferably the oldest one that a client has received. Running samples are never replaced, so they may exceed the maximum.
pub const MAX_SAMPLES: u64 = 64;

/// A gateway's right to run a request and to produce a sample (one answer to the request), until the lease expires. A later owner has a
/// greater fence, and the writes of an earlier owner are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The request. Equal requests have equal digests.
    pub request: Digest,
    /// Number of the sample among the samples of the request.
    pub sample: u64,
    /// Number that grows with each owner of the sample. 0 in a store that gateways do not share.
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
    /// Numbers of samples that the store must not choose: they run in this gateway, or their progress is unreadable.
    pub running: &'a [u64],
    /// Whether the client marks the request as a retry.
    pub is_retry: bool,
    /// Digest of the idempotency key, which a client sends with all attempts of a request. The request gets the sample with this key, if
    /// there is one. A retry gets a sample with another key only if the client of that sample has left without the answer.
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
        /// Fence of the lease under which the log was last written, or was removed because the number of an answered sample is used again;
        /// 0 without either. A gateway may also have progress of the sample in memory, from an earlier lease. This progress is current if
        /// the fence of that lease is not smaller than `log_fence`.
        log_fence: u64,
    },
    /// Another gateway runs the sample that the request joins.
    Held {
        /// Time until the lease expires, unless its owner renews it.
        left: Duration,
    },
    /// The sample is complete.
    Done {
        /// Last lease of the sample. The gateway passes it to [`SessionStore::release`](super::store::SessionStore::release) when a client
        /// has received the answer.
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
    /// Number of times that the owner of the lease has restarted the log. Segment 0 after a restart replaces the earlier log.
    pub restart: u32,
    /// Number of segments before this segment. With fence 0, segment 0 replaces earlier progress of the request.
    pub at: u64,
    /// Changes since the previous segment, as a record of the gateway in JSON.
    pub segment: Vec<u8>,
    /// Whether the request is complete, which ends the lease.
    pub is_last: bool,
    /// Whether a call that must not be repeated begins after this segment is stored. With a shared store, the gateway
    /// waits for all earlier writes of the request before it appends such a segment. The store may therefore send this write over a separate
    /// connection, and wait there until the write is replicated.
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
