//! [`MemoryStore`]: sessions in memory, which end with the process.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Map;
use tokio::time::Instant;

use super::chain::Digest;
use super::clock::Clock;
use super::local_leases::LocalLeases;
use super::record::{Session, SessionId, state_size};
use super::store::{
    Appended, DEFAULT_BYTES_PER_CLIENT, DEFAULT_TTL, DEFAULT_TURNS_PER_CLIENT, FoundCall, FoundEntries,
    FoundTurn, Lease, LeaseOutcome, LeaseRequest, Lookup, MAX_TURNS_OF_POINT, Progress, Reach,
    SUSPENDED_FACTOR, SaveOutcome, SavedTurn, SessionStore, StoreFuture, StoreSize, StoredTurn, push_key,
};
use super::turn_record::TurnRecord;
use crate::fold_map::FoldMap;

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

/// Estimated sizes in bytes of the entries that a turn has in the tables, of one of its calls, of a session, and of one of its keys.
const ENTRY_BYTES: usize = 600;
const CALL_BYTES: usize = 128;
const SESSION_BYTES: usize = 560;
const KEY_BYTES: usize = 144;

/// Maximum number of expired turns that a save removes. The maximum bounds the latency of a save.
const MAX_EXPIRED: usize = 8;

/// Maximum number of expired turns that a sweep removes before other requests can use the store.
const MAX_SWEPT: usize = 256;

#[derive(Debug, Default)]
struct Tables {
    /// Turns by their sequence number.
    turns: FoldMap<u64, TurnEntry>,
    /// Sequence numbers of the turns by their id.
    numbers: FoldMap<String, u64>,
    /// Turns after a point, in the order in which they were stored.
    points: FoldMap<Digest, TurnNumbers>,
    /// Turns of a session after a point: the session's number, the point, and the turn's number. Turns are added when they are no longer
    /// among the latest [`MAX_TURNS_OF_POINT`] turns after their point, so that few conversations have such turns.
    older: BTreeSet<(u64, Digest, u64)>,
    calls: FoldMap<Digest, u64>,
    keys: FoldMap<Digest, SessionId>,
    /// Boxed, since the unused places of a table take memory, too.
    sessions: FoldMap<SessionId, Box<SessionEntry>>,
    clients: FoldMap<Digest, ClientEntry>,
    /// Clients by number of turns and by bytes.
    by_turns: BTreeSet<Rank>,
    by_bytes: BTreeSet<Rank>,
    /// Clients by the session that is removed first.
    by_first: BTreeSet<(Place, Digest)>,
    bytes: usize,
    /// Number of all turns that were ever stored.
    saved: u64,
}

/// Sequence numbers of turns in the order in which the turns were stored. Most points and sessions have one turn.
#[derive(Debug)]
struct TurnNumbers(VecDeque<u64>);

impl TurnNumbers {
    fn new(first: u64) -> Self {
        Self(VecDeque::from([first]))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn first(&self) -> Option<u64> {
        self.0.front().copied()
    }

    /// Returns the latest turns, the latest first.
    fn latest(&self) -> impl Iterator<Item = u64> {
        self.0.iter().rev().copied()
    }

    /// Adds a turn that is later than all others.
    fn push(&mut self, number: u64) {
        self.0.push_back(number);
    }

    fn remove(&mut self, number: u64) {
        if let Ok(at) = self.0.binary_search(&number) {
            self.0.remove(at);
        }
    }
}

#[derive(Debug)]
struct TurnEntry {
    record: TurnRecord,
    calls: Vec<Digest>,
    /// Estimated size in bytes, with the entries of all tables.
    bytes: usize,
}

#[derive(Debug)]
struct SessionEntry {
    session: Session,
    /// Sequence number of the session's first turn.
    number: u64,
    client: Digest,
    keys: Vec<Digest>,
    turns: TurnNumbers,
    /// Estimated size in bytes of the session without its turns.
    bytes: usize,
    place: Place,
}

#[derive(Debug, Default)]
struct ClientEntry {
    turns: usize,
    bytes: usize,
    /// Sessions of the client in the order of their removal.
    order: BTreeMap<Place, SessionId>,
}

/// Position of a client among all clients: by size, and for equal sizes by the session that is removed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    size: usize,
    first: Reverse<Option<Place>>,
    client: Digest,
}

impl ClientEntry {
    fn rank(&self, client: Digest, size: usize) -> Rank {
        Rank {
            size,
            first: Reverse(self.first()),
            client,
        }
    }

    /// Returns the position of the session that is removed first.
    fn first(&self) -> Option<Place> {
        self.order.first_key_value().map(|(place, _)| *place)
    }
}

/// Limit of all clients.
#[derive(Debug, Clone, Copy)]
enum Cap {
    Turns,
    Bytes,
}

/// Position of a session in the order of removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    expiry: Expiry,
    /// Sequence number of the session's latest turn.
    number: u64,
}

/// Expiration time of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Expiry {
    After(Instant),
    /// The expiration is beyond the range of the clock.
    Never,
}

impl Expiry {
    fn is_over(self) -> bool {
        matches!(self, Self::After(end) if end < Instant::now())
    }
}

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

    /// Sets the clocks that allow the removal of expired sessions.
    /// Loses all leases, as a server does in a restart.
    #[cfg(test)]
    pub(super) fn lose_leases(&self) {
        self.leases.clear();
    }

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

impl Tables {
    /// Returns a session of a client, unless it has expired.
    fn session(&self, client: Digest, id: &SessionId) -> Option<&SessionEntry> {
        let entry = self.sessions.get(id).map(|entry| &**entry);
        entry.filter(|entry| entry.client == client && !entry.place.expiry.is_over())
    }

    /// Returns a turn of a client, unless its session has expired. The sequence number of the turn is also its revision.
    fn turn(&self, client: Digest, number: u64) -> Option<StoredTurn> {
        let entry = self.turns.get(&number)?;
        self.session(client, entry.record.session())?;
        Some(StoredTurn {
            revision: number,
            record: entry.record.clone(),
        })
    }

    /// Returns the turn of a client with this id, unless its session has expired.
    fn turn_with_id(&self, client: Digest, id: &str) -> Option<StoredTurn> {
        self.turn(client, *self.numbers.get(id)?)
    }

    /// Returns the session of the first known key.
    fn session_of_keys(&self, client: Digest, keys: &[Digest]) -> Option<SessionId> {
        let session = |key| Some(self.session(client, self.keys.get(key)?)?.session.id.clone());
        keys.iter().find_map(session)
    }

    /// Returns the turn of the first known call, with the index of the call.
    fn turn_of_calls(&self, client: Digest, calls: &[Digest]) -> Option<FoundCall> {
        let turn = |(at, call)| {
            let turn = FoundTurn::Turn(self.turn(client, *self.calls.get(call)?)?);
            Some(FoundCall { at, turn })
        };
        calls.iter().enumerate().find_map(turn)
    }

    /// Returns the latest turns after a point, and all turns of `session` after it, oldest first.
    fn turns_of_point(&self, client: Digest, point: Digest, session: Option<&SessionId>) -> Vec<FoundTurn> {
        let Some(all) = self.points.get(&point) else {
            return Vec::new();
        };
        let mut found: Vec<u64> = all.latest().take(MAX_TURNS_OF_POINT).collect();
        if found.len() == MAX_TURNS_OF_POINT
            && let Some(oldest) = found.last()
            && let Some(session) = session.and_then(|session| self.sessions.get(session))
        {
            let number = session.number;
            let older = self
                .older
                .range((number, point, 0)..(number, point, *oldest))
                .rev();
            found.extend(older.map(|(_, _, turn)| *turn));
        }
        let found = found.into_iter().rev();
        found
            .filter_map(|number| self.turn(client, number).map(FoundTurn::Turn))
            .collect()
    }

    /// Stores a turn, in place of an earlier version with its id, and renews the turn's session. Returns the client of the session.
    fn insert(&mut self, client: Digest, saved: SavedTurn, expiry: Expiry) -> Digest {
        let SavedTurn {
            record,
            revision: _,
            calls,
            keys,
            progress: _,
            precedes_effects: _,
        } = saved;
        if let Some(earlier) = self.numbers.get(record.id()).copied() {
            self.remove_turn(earlier);
        }
        self.saved += 1;
        let number = self.saved;
        let bytes = record.size() + ENTRY_BYTES + calls.len() * CALL_BYTES;
        let client = self.renew(&record, client, Place { expiry, number }, keys, bytes);
        for call in &calls {
            self.calls.insert(*call, number);
        }
        self.insert_after_point(record.point(), number);
        self.numbers.insert(record.id().to_owned(), number);
        self.bytes += bytes;
        let entry = TurnEntry { record, calls, bytes };
        self.turns.insert(number, entry);
        client
    }

    /// Adds a turn to the turns after its point.
    fn insert_after_point(&mut self, point: Digest, number: u64) {
        let turns = match self.points.entry(point) {
            Entry::Vacant(unknown) => {
                unknown.insert(TurnNumbers::new(number));
                return;
            }
            Entry::Occupied(known) => known.into_mut(),
        };
        turns.push(number);
        // The turn that is no longer among the latest ones.
        if let Some(older) = turns.latest().nth(MAX_TURNS_OF_POINT)
            && let Some(entry) = self.turns.get(&older)
            && let Some(session) = self.sessions.get(entry.record.session())
        {
            self.older.insert((session.number, point, older));
        }
    }

    /// Creates or updates the session of a new turn with this size, and moves the session to this position. Returns the client.
    fn renew(
        &mut self,
        record: &TurnRecord,
        client: Digest,
        place: Place,
        keys: Vec<Digest>,
        turn_bytes: usize,
    ) -> Digest {
        let (now, id) = (SystemTime::now(), record.session());
        let entry = match self.sessions.entry(id.clone()) {
            Entry::Occupied(known) => {
                let known = known.into_mut();
                known.turns.push(place.number);
                known
            }
            Entry::Vacant(unknown) => unknown.insert(Box::new(SessionEntry {
                session: Session {
                    id: id.clone(),
                    created_at: now,
                    last_active: now,
                    state: Map::new(),
                },
                number: place.number,
                client,
                keys: Vec::new(),
                turns: TurnNumbers::new(place.number),
                bytes: 0,
                place,
            })),
        };
        entry.session.last_active = now;
        entry.session.state.clone_from(record.state());
        for key in keys {
            self.keys.insert(key, id.clone());
            if let Some(oldest) = push_key(&mut entry.keys, key) {
                remove_key(&mut self.keys, oldest, id);
            }
        }
        let bytes = SESSION_BYTES + state_size(record.state()) + entry.keys.len() * KEY_BYTES;
        let bytes_before = std::mem::replace(&mut entry.bytes, bytes);
        let before = std::mem::replace(&mut entry.place, place);
        let client = entry.client;
        self.bytes = (self.bytes + bytes).saturating_sub(bytes_before);
        self.change_client(client, |of_client| {
            of_client.turns += 1;
            of_client.bytes = (of_client.bytes + bytes + turn_bytes).saturating_sub(bytes_before);
            of_client.order.remove(&before);
            of_client.order.insert(place, id.clone());
        });
        client
    }

    /// Changes the entry of a client, and its ranks. An entry without sessions is removed.
    fn change_client(&mut self, client: Digest, change: impl FnOnce(&mut ClientEntry)) {
        let entry = self.clients.entry(client).or_default();
        self.by_turns.remove(&entry.rank(client, entry.turns));
        self.by_bytes.remove(&entry.rank(client, entry.bytes));
        let before = entry.first();
        change(entry);
        let first = entry.first();
        if first != before {
            before.map(|before| self.by_first.remove(&(before, client)));
            first.map(|first| self.by_first.insert((first, client)));
        }
        if first.is_none() {
            self.clients.remove(&client);
        } else {
            self.by_turns.insert(entry.rank(client, entry.turns));
            self.by_bytes.insert(entry.rank(client, entry.bytes));
        }
    }

    /// Removes a turn. The turn's session stays, even without turns.
    fn remove_turn(&mut self, number: u64) {
        let Some(turn) = self.turns.get(&number) else {
            return;
        };
        let Some(session) = self.sessions.get_mut(turn.record.session()) else {
            return;
        };
        session.turns.remove(number);
        let (session, client) = (session.number, session.client);
        let bytes = self.take_turn(session, number);
        self.change_client(client, |of_client| {
            of_client.turns = of_client.turns.saturating_sub(1);
            of_client.bytes = of_client.bytes.saturating_sub(bytes);
        });
    }

    /// Removes a turn from all tables but the entries of its session and its client. Returns the turn's size.
    fn take_turn(&mut self, session: u64, number: u64) -> usize {
        let Some(turn) = self.turns.remove(&number) else {
            return 0;
        };
        self.numbers.remove(turn.record.id());
        for call in turn.calls {
            self.calls.remove(&call);
        }
        let point = turn.record.point();
        if let Entry::Occupied(mut turns) = self.points.entry(point) {
            turns.get_mut().remove(number);
            if turns.get().is_empty() {
                turns.remove();
            }
        }
        self.older.remove(&(session, point, number));
        self.bytes = self.bytes.saturating_sub(turn.bytes);
        turn.bytes
    }

    /// Removes the oldest turn of a session, unless the session has a single turn. Returns whether a turn was removed.
    fn remove_older_turn(&mut self, id: &SessionId) -> bool {
        let session = self.sessions.get(id).filter(|session| session.turns.len() > 1);
        let oldest = session.and_then(|session| session.turns.first());
        oldest.inspect(|oldest| self.remove_turn(*oldest)).is_some()
    }

    /// Removes the oldest turn of a session. The session is removed with its last turn.
    fn remove_from_session(&mut self, id: &SessionId) {
        if self.remove_older_turn(id) {
            return;
        }
        let Some(session) = self.sessions.remove(id) else {
            return;
        };
        let last = session.turns.first();
        let turn_bytes = last.map_or(0, |last| self.take_turn(session.number, last));
        self.bytes = self.bytes.saturating_sub(session.bytes);
        self.change_client(session.client, |of_client| {
            of_client.turns = of_client.turns.saturating_sub(usize::from(last.is_some()));
            of_client.bytes = of_client.bytes.saturating_sub(session.bytes + turn_bytes);
            of_client.order.remove(&session.place);
        });
        for key in session.keys {
            remove_key(&mut self.keys, key, id);
        }
    }

    /// Removes up to `max_removed` turns of expired sessions. Returns the number of removed turns.
    fn remove_expired(&mut self, max_removed: usize) -> usize {
        for removed in 0..max_removed {
            let Some(expired) = self.expired_session() else {
                return removed;
            };
            self.remove_from_session(&expired);
        }
        max_removed
    }

    /// Returns the session that has expired first, if any has expired.
    fn expired_session(&self) -> Option<SessionId> {
        let (place, client) = self
            .by_first
            .first()
            .filter(|(place, _)| place.expiry.is_over())?;
        self.clients.get(client)?.order.get(place).cloned()
    }

    /// Removes the client's turn that expires first, except the turn that was just saved. Returns whether a turn was removed.
    fn remove_first(&mut self, client: Digest, saved: &SessionId) -> bool {
        let order = self.clients.get(&client).map(|client| &client.order);
        let first = order.and_then(|order| order.values().find(|id| *id != saved).cloned());
        if let Some(first) = first {
            self.remove_from_session(&first);
            return true;
        }
        let is_own = self
            .sessions
            .get(saved)
            .is_some_and(|session| session.client == client);
        is_own && self.remove_older_turn(saved)
    }

    /// Removes a turn of the client with the most turns or bytes, except the turn that was just saved. Returns whether a turn was removed.
    ///
    /// If the largest client has only the saved turn, a turn of the second largest client is removed, but only if the limit is exceeded
    /// even without the saved turn.
    fn remove_from_largest(&mut self, cap: Cap, is_over_without: bool, saved: &SessionId) -> bool {
        let ranks = match cap {
            Cap::Turns => &self.by_turns,
            Cap::Bytes => &self.by_bytes,
        };
        let mut largest = ranks.iter().rev().map(|rank| rank.client);
        let (Some(first), second) = (largest.next(), largest.next()) else {
            return false;
        };
        if self.remove_first(first, saved) {
            return true;
        }
        is_over_without && second.is_some_and(|second| self.remove_first(second, saved))
    }
}

/// Removes a key of a session, unless the client has since used the key for another session.
fn remove_key(keys: &mut FoldMap<Digest, SessionId>, key: Digest, session: &SessionId) {
    if keys.get(&key) == Some(session) {
        keys.remove(&key);
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
