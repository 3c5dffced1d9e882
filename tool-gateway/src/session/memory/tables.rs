//! [`Tables`]: the turns, sessions and clients of a [`MemoryStore`](super::MemoryStore), and the order of their removal.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::SystemTime;

use serde_json::Map;
use tokio::time::Instant;

use crate::fold_map::FoldMap;
use crate::session::chain::Digest;
use crate::session::record::{Session, SessionId, state_size};
use crate::session::store::{FoundCall, FoundTurn, MAX_TURNS_OF_POINT, SavedTurn, StoredTurn, push_key};
use crate::session::turn_record::TurnRecord;

#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Turns by their sequence number.
    pub(super) turns: FoldMap<u64, TurnEntry>,
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
    pub(super) sessions: FoldMap<SessionId, Box<SessionEntry>>,
    pub(super) clients: FoldMap<Digest, ClientEntry>,
    /// Clients by number of turns and by bytes.
    by_turns: BTreeSet<Rank>,
    by_bytes: BTreeSet<Rank>,
    /// Clients by the session that is removed first.
    by_first: BTreeSet<(Place, Digest)>,
    pub(super) bytes: usize,
    /// Number of all turns that were ever stored.
    pub(super) saved: u64,
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
pub(super) struct TurnEntry {
    record: TurnRecord,
    calls: Vec<Digest>,
    /// Estimated size in bytes, with the entries of all tables.
    pub(super) bytes: usize,
}

#[derive(Debug)]
pub(super) struct SessionEntry {
    pub(super) session: Session,
    /// Sequence number of the session's first turn.
    number: u64,
    pub(super) client: Digest,
    keys: Vec<Digest>,
    turns: TurnNumbers,
    /// Estimated size in bytes of the session without its turns.
    bytes: usize,
    pub(super) place: Place,
}

#[derive(Debug, Default)]
pub(super) struct ClientEntry {
    pub(super) turns: usize,
    pub(super) bytes: usize,
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
pub(super) enum Cap {
    Turns,
    Bytes,
}

/// Position of a session in the order of removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) expiry: Expiry,
    /// Sequence number of the session's latest turn.
    number: u64,
}

/// Expiration time of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Expiry {
    After(Instant),
    /// The expiration is beyond the range of the clock.
    Never,
}

impl Expiry {
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::After(end) if end < Instant::now())
    }
}

impl Tables {
    /// Returns a session of a client, unless it has expired.
    pub(super) fn session(&self, client: Digest, id: &SessionId) -> Option<&SessionEntry> {
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
    pub(super) fn turn_with_id(&self, client: Digest, id: &str) -> Option<StoredTurn> {
        self.turn(client, *self.numbers.get(id)?)
    }

    /// Returns the session of the first known key.
    pub(super) fn session_of_keys(&self, client: Digest, keys: &[Digest]) -> Option<SessionId> {
        let session = |key| Some(self.session(client, self.keys.get(key)?)?.session.id.clone());
        keys.iter().find_map(session)
    }

    /// Returns the turn of the first known call, with the index of the call.
    pub(super) fn turn_of_calls(&self, client: Digest, calls: &[Digest]) -> Option<FoundCall> {
        let turn = |(at, call)| {
            let turn = FoundTurn::Turn(self.turn(client, *self.calls.get(call)?)?);
            Some(FoundCall { at, turn })
        };
        calls.iter().enumerate().find_map(turn)
    }

    /// Returns the latest turns after a point, and all turns of `session` after it, oldest first.
    pub(super) fn turns_of_point(
        &self,
        client: Digest,
        point: Digest,
        session: Option<&SessionId>,
    ) -> Vec<FoundTurn> {
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
    pub(super) fn insert(&mut self, client: Digest, saved: SavedTurn, expiry: Expiry) -> Digest {
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
    pub(super) fn remove_expired(&mut self, max_removed: usize) -> usize {
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
    pub(super) fn remove_first(&mut self, client: Digest, saved: &SessionId) -> bool {
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
    pub(super) fn remove_from_largest(&mut self, cap: Cap, is_over_without: bool, saved: &SessionId) -> bool {
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

/// Estimated sizes in bytes of the entries that a turn has in the tables, of one of its calls, of a session, and of one of its keys.
const ENTRY_BYTES: usize = 600;
const CALL_BYTES: usize = 128;
const SESSION_BYTES: usize = 560;
const KEY_BYTES: usize = 144;
