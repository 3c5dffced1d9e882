//! [`MemoryStore`]: sessions in memory, gone with the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Map;

use super::chain::Digest;
use super::record::{Session, SessionId, Turn};
use super::store::{MAX_TURNS_OF_POINT, SavedTurn, SessionStore, StoreFuture, StoreSize};

/// Keeps turns in memory, up to a number and a size. What was not used for the longest time goes first, suspended turns last.
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
    ttl: Duration,
    tables: Mutex<Tables>,
}

/// How much longer a suspended turn is kept than another.
const SUSPENDED_FACTOR: u32 = 4;

#[derive(Debug, Default)]
struct Tables {
    turns: HashMap<String, Entry>,
    /// The turns after a point, in the order in which they were stored.
    points: BTreeMap<(Digest, u64), String>,
    calls: HashMap<Digest, String>,
    keys: HashMap<Digest, SessionId>,
    sessions: HashMap<SessionId, SessionEntry>,
    /// The turns in the order in which they go.
    order: BTreeMap<(bool, u64), String>,
    /// The same for each client.
    order_of_client: HashMap<Digest, BTreeSet<(bool, u64)>>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    turn: Arc<Turn>,
    client: Digest,
    calls: Vec<Digest>,
    /// Its number among all that were stored.
    number: u64,
    /// Whether it is suspended, and its session has not gone on from it.
    is_open: bool,
    used: u64,
    used_at: Instant,
}

#[derive(Debug)]
struct SessionEntry {
    session: Session,
    keys: Vec<Digest>,
    turns: Vec<String>,
    /// When any of its turns was used.
    used_at: Instant,
    /// The turns that are open.
    open: Vec<String>,
}

impl MemoryStore {
    /// A store for 100,000 turns, 10,000 of each client, 512 MiB and a day without use.
    pub fn new() -> Self {
        Self {
            max_turns: 100_000,
            max_turns_per_client: 10_000,
            max_bytes: 512 << 20,
            ttl: Duration::from_secs(24 * 3600),
            tables: Mutex::default(),
        }
    }

    /// Sets how many turns are kept.
    #[must_use]
    pub fn with_max_turns(mut self, turns: usize) -> Self {
        self.max_turns = turns;
        self
    }

    /// Sets how many turns of each client are kept, so that none displaces those of others. A session that has more of them loses its
    /// oldest ones; only what is saved now is kept in any case.
    #[must_use]
    pub fn with_max_turns_per_client(mut self, turns: usize) -> Self {
        self.max_turns_per_client = turns;
        self
    }

    /// Sets how many bytes of messages are kept, about. A session that is larger than all of it loses its oldest turns; only what is
    /// saved now is kept in any case.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how long a turn is kept without use; suspended turns four times as long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How many turns there are.
    pub fn len(&self) -> usize {
        self.lock().turns.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        // No step between two tables can panic.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_expired(&self, entry: &Entry) -> bool {
        let factor = if entry.is_open { SUSPENDED_FACTOR } else { 1 };
        entry.used_at.elapsed() > self.ttl.saturating_mul(factor)
    }

    /// The turn, unless it is expired. Counts as a use of it.
    fn find(&self, tables: &mut Tables, id: &str) -> Option<Arc<Turn>> {
        if self.is_expired(tables.turns.get(id)?) {
            tables.remove(id);
            return None;
        }
        tables.touch(id)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Tables {
    fn touch(&mut self, id: &str) -> Option<Arc<Turn>> {
        self.uses += 1;
        let uses = self.uses;
        let entry = self.turns.get_mut(id)?;
        let (before, after) = ((entry.is_open, entry.used), (entry.is_open, uses));
        move_in(
            &mut self.order,
            &mut self.order_of_client,
            entry.client,
            before,
            after,
        );
        entry.used = uses;
        entry.used_at = Instant::now();
        if let Some(session) = self.sessions.get_mut(&entry.turn.session) {
            session.session.last_active = SystemTime::now();
            session.used_at = Instant::now();
        }
        Some(Arc::clone(&entry.turn))
    }

    fn remove(&mut self, id: &str) {
        let Some(entry) = self.turns.remove(id) else {
            return;
        };
        let place = (entry.is_open, entry.used);
        self.order.remove(&place);
        if let Some(order) = self.order_of_client.get_mut(&entry.client) {
            order.remove(&place);
            if order.is_empty() {
                self.order_of_client.remove(&entry.client);
            }
        }
        self.bytes = self.bytes.saturating_sub(entry.turn.size());
        for call in entry.calls {
            self.calls.remove(&call);
        }
        self.points.remove(&(entry.turn.point, entry.number));
        if let Some(session) = self.sessions.get_mut(&entry.turn.session) {
            // The oldest is in front, and goes first.
            if let Some(at) = session.turns.iter().position(|other| other == id) {
                session.turns.remove(at);
            }
            if session.turns.is_empty()
                && let Some(session) = self.sessions.remove(&entry.turn.session)
            {
                for key in session.keys {
                    // The client may have given it to another session since.
                    if self.keys.get(&key) == Some(&entry.turn.session) {
                        self.keys.remove(&key);
                    }
                }
            }
        }
    }

    fn insert(&mut self, saved: SavedTurn) {
        let SavedTurn {
            turn,
            client,
            calls,
            keys,
            progress: _,
        } = saved;
        self.uses += 1;
        let now = SystemTime::now();
        let session = self
            .sessions
            .entry(turn.session.clone())
            .or_insert_with(|| SessionEntry {
                session: Session {
                    id: turn.session.clone(),
                    created_at: now,
                    last_active: now,
                    state: Map::new(),
                },
                keys: Vec::new(),
                turns: Vec::new(),
                used_at: Instant::now(),
                open: Vec::new(),
            });
        session.turns.push(turn.id.clone());
        session.session.last_active = now;
        session.used_at = Instant::now();
        session.session.state.clone_from(&turn.state);
        for key in keys {
            self.keys.insert(key, turn.session.clone());
            if !session.keys.contains(&key) {
                session.keys.push(key);
            }
        }
        // Behind the session, which lives on when its only turn is replaced.
        self.remove(&turn.id);
        for call in &calls {
            self.calls.insert(*call, turn.id.clone());
        }
        self.points.insert((turn.point, self.uses), turn.id.clone());
        let is_open = turn.is_suspended();
        self.count_others_as_answered(&turn);
        self.order.insert((is_open, self.uses), turn.id.clone());
        self.order_of_client
            .entry(client)
            .or_default()
            .insert((is_open, self.uses));
        self.bytes += turn.size();
        let entry = Entry {
            number: self.uses,
            used: self.uses,
            used_at: Instant::now(),
            calls,
            client,
            is_open,
            turn: Arc::new(turn),
        };
        self.turns.insert(entry.turn.id.clone(), entry);
    }
}

impl Tables {
    /// The turns after a point, the oldest first: the latest, and those of a session.
    fn turns_of_point(&self, point: Digest, session: Option<&SessionId>) -> Vec<String> {
        let all = self.points.range((point, 0)..=(point, u64::MAX)).rev();
        let mut ids: Vec<String> = all.take(MAX_TURNS_OF_POINT).map(|(_, id)| id.clone()).collect();
        if ids.len() == MAX_TURNS_OF_POINT
            && let Some(session) = session.and_then(|session| self.sessions.get(session))
        {
            let is_of_point = |id: &&String| {
                let entry = self.turns.get(*id);
                entry.is_some_and(|entry| entry.turn.point == point)
            };
            let own = session.turns.iter().rev().filter(is_of_point);
            let own: Vec<_> = own.filter(|id| !ids.contains(id)).cloned().collect();
            ids.extend(own);
        }
        ids.reverse();
        ids
    }

    /// The session has gone on with a turn: those that waited for results before it are kept as others are.
    fn count_others_as_answered(&mut self, turn: &Turn) {
        let Some(session) = self.sessions.get_mut(&turn.session) else {
            return;
        };
        let own = turn.is_suspended().then(|| turn.id.clone());
        for id in std::mem::replace(&mut session.open, own.into_iter().collect()) {
            let Some(entry) = self.turns.get_mut(&id).filter(|entry| entry.is_open) else {
                continue;
            };
            entry.is_open = false;
            let (before, after) = ((true, entry.used), (false, entry.used));
            move_in(
                &mut self.order,
                &mut self.order_of_client,
                entry.client,
                before,
                after,
            );
        }
    }
}

/// Moves a turn to another place in the order, and in that of its client.
fn move_in(
    order: &mut BTreeMap<(bool, u64), String>,
    order_of_client: &mut HashMap<Digest, BTreeSet<(bool, u64)>>,
    client: Digest,
    before: (bool, u64),
    after: (bool, u64),
) {
    if let Some(id) = order.remove(&before) {
        order.insert(after, id);
        let order = order_of_client.entry(client).or_default();
        order.remove(&before);
        order.insert(after);
    }
}

impl SessionStore for MemoryStore {
    fn turns<'a>(
        &'a self,
        points: &'a [Digest],
        session: Option<&'a SessionId>,
    ) -> StoreFuture<'a, Vec<Vec<Arc<Turn>>>> {
        let mut tables = self.lock();
        let turns = points.iter().map(|point| {
            let ids = tables.turns_of_point(*point, session);
            ids.iter().filter_map(|id| self.find(&mut tables, id)).collect()
        });
        let turns = Ok(turns.collect());
        Box::pin(async move { turns })
    }

    fn turn_of_call(&self, call: Digest) -> StoreFuture<'_, Option<Arc<Turn>>> {
        let mut tables = self.lock();
        let id = tables.calls.get(&call).cloned();
        let turn = id.and_then(|id| self.find(&mut tables, &id));
        Box::pin(async move { Ok(turn) })
    }

    fn session_of_key(&self, key: Digest) -> StoreFuture<'_, Option<SessionId>> {
        let session = self.lock().keys.get(&key).cloned();
        Box::pin(async move { Ok(session) })
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        let tables = self.lock();
        let session = tables.sessions.get(id).filter(|entry| {
            let factor = if entry.open.is_empty() {
                1
            } else {
                SUSPENDED_FACTOR
            };
            entry.used_at.elapsed() <= self.ttl.saturating_mul(factor)
        });
        let session = session.map(|entry| entry.session.clone());
        Box::pin(async move { Ok(session) })
    }

    fn save(&self, saved: SavedTurn) -> StoreFuture<'_, ()> {
        let mut tables = self.lock();
        let (client, saved_id) = (saved.client, saved.turn.id.clone());
        tables.insert(saved);
        while let Some(order) = tables.order_of_client.get(&client)
            && order.len() > self.max_turns_per_client
        {
            let mut ids = order.iter().filter_map(|place| tables.order.get(place));
            let Some(id) = ids.find(|id| **id != saved_id).cloned() else {
                break;
            };
            tables.remove(&id);
        }
        while tables.turns.len() > self.max_turns || tables.bytes > self.max_bytes {
            // What was saved now is not what has to go, though all others are suspended.
            let mut ids = tables.order.values();
            let Some(id) = ids.find(|id| **id != saved_id).cloned() else {
                break;
            };
            tables.remove(&id);
        }
        // The oldest of either kind, so that no request pays for all.
        for is_open in [false, true] {
            let oldest = tables
                .order
                .range((is_open, 0)..)
                .next()
                .map(|(_, id)| id.clone());
            let is_expired = |id: &String| tables.turns.get(id).is_some_and(|entry| self.is_expired(entry));
            if let Some(id) = oldest.filter(is_expired) {
                tables.remove(&id);
            }
        }
        Box::pin(async { Ok(()) })
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
