//! [`MemoryStore`]: sessions in memory, which end with the process.

mod tables;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::chain::Digest;
use super::clock::Clock;
use super::local_leases::LocalLeases;
use super::record::{Session, SessionId};
use super::store::{
    Appended, DEFAULT_BYTES_PER_CLIENT, DEFAULT_TTL, DEFAULT_TURNS_PER_CLIENT, FoundCall, FoundEntries,
    FoundTurn, Lease, LeaseOutcome, LeaseRequest, Lookup, Progress, Reach, SUSPENDED_FACTOR, SaveOutcome,
    SavedTurn, SessionStore, StoreFuture, StoreSize, StoredTurn,
};
use tables::{Cap, Expiry, Tables};

/// Keeps sessions in memory, up to a maximum number of turns and a maximum size, for each client and for all clients. The entries of a
/// client above its limits are removed in the order of their expiration: the oldest turns of a session, and the session with its last turn.
/// Above a limit of all clients, entries of the client with the most turns or bytes are removed.
///
/// ```
/// use std::time::Duration;
/// use tool_gateway::session::memory::MemoryStore;
///
/// let store = MemoryStore::new().with_max_turns(1_000).with_max_bytes(64 << 20).with_ttl(Duration::from_secs(3600));
/// assert_eq!(store.len(), 0);
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    max_turns: usize,
    max_turns_per_client: usize,
    max_bytes: usize,
    max_bytes_per_client: usize,
    ttl: Duration,
    clock: Clock,
    tables: Mutex<Tables>,
    leases: LocalLeases,
}

/// Number of points that are looked up while the lock is held. Other requests use the store between two such steps.
const POINTS_AT_ONCE: usize = 64;

/// Maximum number of expired turns that a save removes. The maximum bounds the latency of a save.
const MAX_EXPIRED: usize = 8;

/// Maximum number of expired turns that a sweep removes before other requests can use the store.
const MAX_SWEPT: usize = 256;

impl MemoryStore {
    /// Creates a store for 100,000 turns and 512 MiB, 10,000 turns and 256 MiB of each client, and a day without a new turn.
    pub fn new() -> Self {
        Self {
            max_turns: 100_000,
            max_turns_per_client: usize::try_from(DEFAULT_TURNS_PER_CLIENT).unwrap_or(usize::MAX),
            max_bytes: 512 << 20,
            max_bytes_per_client: usize::try_from(DEFAULT_BYTES_PER_CLIENT).unwrap_or(usize::MAX),
            ttl: DEFAULT_TTL,
            clock: Clock::default(),
            tables: Mutex::default(),
            leases: LocalLeases::default(),
        }
    }

    /// Sets the maximum number of turns.
    #[must_use]
    pub fn with_max_turns(mut self, turns: usize) -> Self {
        self.max_turns = turns;
        self
    }

    /// Sets the maximum number of turns of each client, so that no client displaces the turns of others. A session with more turns loses
    /// its oldest ones; the turn that is being saved is always kept.
    #[must_use]
    pub fn with_max_turns_per_client(mut self, turns: usize) -> Self {
        self.max_turns_per_client = turns;
        self
    }

    /// Sets the approximate maximum number of bytes. A larger session loses its oldest turns; the turn that is being saved is always kept.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the approximate maximum number of bytes of each client.
    #[must_use]
    pub fn with_max_bytes_per_client(mut self, bytes: usize) -> Self {
        self.max_bytes_per_client = bytes;
        self
    }

    /// Sets the time for which a session is kept without a new turn, a day by default. A session with a suspended turn is kept four times
    /// as long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Loses all leases, as a server does in a restart.
    #[cfg(test)]
    pub(super) fn lose_leases(&self) {
        self.leases.clear();
    }

    /// Sets the clocks that allow the removal of expired sessions.
    #[cfg(test)]
    pub(crate) fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the number of turns.
    pub fn len(&self) -> usize {
        self.lock().turns.len()
    }

    /// Returns whether the store has no turns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        // No panic can leave a change in some of the tables, so the value of a poisoned lock is valid.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the expiration time of a turn that is saved now.
    fn expiry(&self, is_suspended: bool) -> Expiry {
        let factor = if is_suspended { SUSPENDED_FACTOR } else { 1 };
        let end = Instant::now().checked_add(self.ttl.saturating_mul(factor));
        end.map_or(Expiry::Never, Expiry::After)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionStore for MemoryStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        Box::pin(async move {
            let (mut found, own) = {
                let tables = self.lock();
                let session = tables.session_of_keys(client, lookup.keys);
                let call = tables.turn_of_calls(client, lookup.calls);
                let own = match &call {
                    _ if lookup.session.is_some() => lookup.session.cloned(),
                    Some(FoundCall {
                        turn: FoundTurn::Turn(turn),
                        ..
                    }) => Some(turn.record.session().clone()),
                    _ => session.clone(),
                };
                let points = Vec::with_capacity(lookup.points.len());
                let found = FoundEntries {
                    session,
                    call,
                    points,
                };
                (found, own)
            };
            // Other requests have the lock between the slices.
            for points in lookup.points.chunks(POINTS_AT_ONCE) {
                let tables = self.lock();
                let turns = points
                    .iter()
                    .map(|point| tables.turns_of_point(client, *point, own.as_ref()));
                found.points.extend(turns);
            }
            Ok(found)
        })
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        let tables = self.lock();
        let turns = ids.iter().map(|id| tables.turn_with_id(client, id)).collect();
        Box::pin(async move { Ok(turns) })
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        let tables = self.lock();
        let session = tables.session(client, id).map(|entry| entry.session.clone());
        Box::pin(async move { Ok(session) })
    }

    fn has_session<'a>(&'a self, client: Option<Digest>, id: &'a SessionId) -> StoreFuture<'a, bool> {
        let tables = self.lock();
        let is_known = tables.sessions.get(id).is_some_and(|entry| {
            client.is_none_or(|client| entry.client == client) && !entry.place.expiry.is_over()
        });
        Box::pin(async move { Ok(is_known) })
    }

    fn save(&self, client: Digest, mut saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        let mut tables = self.lock();
        let stored = tables.turn_with_id(client, saved.record.id());
        let revision = stored.map_or(0, |stored| stored.revision);
        if revision != saved.revision {
            return Box::pin(async move { Ok(SaveOutcome::Conflict { revision }) });
        }
        match saved
            .progress
            .take()
            .map(|progress| self.leases.append(client, progress))
        {
            None | Some(Appended::Kept) => {}
            Some(Appended::Fenced) => return Box::pin(async { Ok(SaveOutcome::Fenced) }),
            Some(Appended::Gap { have }) => return Box::pin(async move { Ok(SaveOutcome::Gap { have }) }),
        }
        let session = saved.record.session().clone();
        let expiry = self.expiry(saved.record.is_suspended());
        let client = tables.insert(client, saved, expiry);
        let revision = tables.saved;
        let saved_bytes = tables.turns.get(&revision).map_or(0, |entry| entry.bytes);
        let is_over = |tables: &Tables| {
            let of_client = tables.clients.get(&client);
            of_client.is_some_and(|of_client| {
                of_client.turns > self.max_turns_per_client || of_client.bytes > self.max_bytes_per_client
            })
        };
        while is_over(&tables) && tables.remove_first(client, &session) {}
        while tables.turns.len() > self.max_turns {
            let is_over_without = tables.turns.len() > self.max_turns + 1;
            if !tables.remove_from_largest(Cap::Turns, is_over_without, &session) {
                break;
            }
        }
        while tables.bytes > self.max_bytes {
            let is_over_without = tables.bytes.saturating_sub(saved_bytes) > self.max_bytes;
            if !tables.remove_from_largest(Cap::Bytes, is_over_without, &session) {
                break;
            }
        }
        if self.clock.may_remove(self.ttl) {
            tables.remove_expired(MAX_EXPIRED);
        }
        Box::pin(async move { Ok(SaveOutcome::Saved { revision }) })
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        let appended = self.leases.append(client, progress);
        Box::pin(async move { Ok(appended) })
    }

    fn claim<'a>(&'a self, client: Digest, request: &'a LeaseRequest<'a>) -> StoreFuture<'a, LeaseOutcome> {
        let claimed = self.leases.claim(client, request);
        Box::pin(async move { Ok(claimed) })
    }

    fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> StoreFuture<'_, bool> {
        let is_owner = self.leases.renew(client, lease, has_client);
        Box::pin(async move { Ok(is_owner) })
    }

    fn release(&self, client: Digest, lease: Lease, is_seen: bool) -> StoreFuture<'_, ()> {
        self.leases.release(client, lease, is_seen);
        Box::pin(async { Ok(()) })
    }

    fn has_lease(&self, client: Digest) -> StoreFuture<'_, bool> {
        let has_lease = self.leases.has_lease(client);
        Box::pin(async move { Ok(has_lease) })
    }

    fn remove_expired(&self) -> StoreFuture<'_, bool> {
        self.leases.remove_expired();
        let is_full = self.clock.may_remove(self.ttl) && self.lock().remove_expired(MAX_SWEPT) == MAX_SWEPT;
        Box::pin(async move { Ok(is_full) })
    }

    fn size(&self) -> StoreFuture<'_, Option<StoreSize>> {
        let tables = self.lock();
        let size = StoreSize {
            turns: tables.turns.len(),
            bytes: tables.bytes as u64,
        };
        Box::pin(async move { Ok(Some(size)) })
    }

    fn ttl(&self) -> Duration {
        self.ttl
    }

    fn name(&self) -> String {
        "memory".to_owned()
    }
}
