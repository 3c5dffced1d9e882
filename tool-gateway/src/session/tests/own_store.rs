//! A store of sessions in a program that has no other part of this crate than the public items.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::SystemTime;

use tool_gateway::session::Digest;
use tool_gateway::session::record::{Session, SessionId};
use tool_gateway::session::store::{
    FoundCall, FoundEntries, FoundTurn, Lookup, MAX_TURNS_OF_POINT, Reach, SaveOutcome, SavedTurn,
    SessionStore, StoreError, StoreFuture, StoredTurn, TurnRef,
};
use tool_gateway::session::turn_record::TurnRecord;

/// Keeps the turns of all clients without a limit, until the end of the process.
#[derive(Default)]
pub(crate) struct OwnStore(Mutex<Tables>);

#[derive(Default)]
struct Tables {
    clients: HashMap<Digest, ClientTables>,
    /// Number of all turns that were ever stored.
    saved: u64,
}

#[derive(Default)]
struct ClientTables {
    /// Encoded turns by id.
    turns: HashMap<String, EncodedTurn>,
    /// Ids of turns by point and revision, which is the order in which they were stored.
    points: BTreeMap<(Digest, u64), String>,
    calls: HashMap<Digest, String>,
    keys: HashMap<Digest, SessionId>,
    sessions: HashMap<SessionId, Session>,
}

struct EncodedTurn {
    revision: u64,
    session: SessionId,
    bytes: Vec<u8>,
}

impl ClientTables {
    fn find(&self, lookup: &Lookup<'_>) -> FoundEntries {
        let session = lookup.keys.iter().find_map(|key| self.keys.get(key));
        let mut calls = lookup.calls.iter().enumerate();
        let call = calls.find_map(|(at, call)| Some((at, self.calls.get(call)?)));
        let of_call = call.and_then(|(_, id)| Some(&self.turns.get(id)?.session));
        let own = lookup.session.or(of_call).or(session);
        let found_turn = |id: &String| {
            let revision = self.turns.get(id).map_or(0, |turn| turn.revision);
            let id = id.clone();
            FoundTurn::Ref(TurnRef { id, revision })
        };
        let turns_of = |point: &Digest| {
            let turns = self
                .points
                .range((*point, 0)..=(*point, u64::MAX))
                .rev()
                .enumerate();
            let turns = turns.filter(|(number, (_, id))| {
                let is_own = || own.is_some() && self.turns.get(*id).map(|turn| &turn.session) == own;
                *number < MAX_TURNS_OF_POINT || is_own()
            });
            let mut turns: Vec<_> = turns.map(|(_, (_, id))| found_turn(id)).collect();
            turns.reverse();
            turns
        };
        FoundEntries {
            session: session.cloned(),
            call: call.map(|(at, id)| FoundCall {
                at,
                turn: found_turn(id),
            }),
            points: lookup.points.iter().map(turns_of).collect(),
        }
    }

    fn load(&self, id: &String) -> Result<Option<StoredTurn>, StoreError> {
        let load = |turn: &EncodedTurn| {
            let record = TurnRecord::decode(&turn.bytes)?;
            Ok(StoredTurn {
                revision: turn.revision,
                record,
            })
        };
        self.turns.get(id).map(load).transpose()
    }

    /// Stores a turn, or returns the revision of the stored turn if it is another one than expected.
    fn save(&mut self, saved: SavedTurn, revision: u64) -> Result<SaveOutcome, StoreError> {
        let record = saved.record;
        let (id, session) = (record.id().to_owned(), record.session().clone());
        let before = self.turns.get(&id).map_or(0, |turn| turn.revision);
        if before != saved.revision {
            return Ok(SaveOutcome::Conflict { revision: before });
        }
        let bytes = record.encode()?;
        self.points.remove(&(record.point(), before));
        self.points.insert((record.point(), revision), id.clone());
        self.calls
            .extend(saved.calls.into_iter().map(|call| (call, id.clone())));
        self.keys
            .extend(saved.keys.into_iter().map(|key| (key, session.clone())));
        self.turns.insert(
            id,
            EncodedTurn {
                revision,
                session: session.clone(),
                bytes,
            },
        );
        let now = SystemTime::now();
        let new = || Session {
            id: session.clone(),
            created_at: now,
            last_active: now,
            state: Default::default(),
        };
        let stored = self.sessions.entry(session.clone()).or_insert_with(new);
        stored.last_active = now;
        stored.state = record.state().clone();
        Ok(SaveOutcome::Saved { revision })
    }
}

impl OwnStore {
    /// Runs `work` with the tables of a client.
    fn with<'a, T: Send + 'a>(
        &self,
        client: Digest,
        work: impl FnOnce(&mut ClientTables, u64) -> Result<T, StoreError>,
    ) -> StoreFuture<'a, T> {
        let mut tables = self.0.lock().unwrap();
        tables.saved += 1;
        let next = tables.saved;
        let done = work(tables.clients.entry(client).or_default(), next);
        Box::pin(async { done })
    }
}

impl SessionStore for OwnStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        self.with(client, |tables, _| Ok(tables.find(lookup)))
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        self.with(client, |tables, _| ids.iter().map(|id| tables.load(id)).collect())
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.with(client, |tables, _| Ok(tables.sessions.get(id).cloned()))
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        self.with(client, |tables, next| tables.save(saved, next))
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn name(&self) -> String {
        "own".to_owned()
    }
}
