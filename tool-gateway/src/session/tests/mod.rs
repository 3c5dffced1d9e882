//! Tests of the requirements on session stores, and of the stores in memory and in a file.

pub(super) mod work;
#[allow(
    clippy::unwrap_used,
    clippy::default_trait_access,
    unreachable_pub,
    reason = "an example of the documentation"
)]
mod own_store;
pub(crate) mod conformance;
pub(crate) mod leases;
pub(crate) mod model;
pub(crate) mod caps;
mod expiry;
mod damaged_files;
mod growth;
mod earlier;
mod canonical_values;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::chain::{ChainKey, Digest};
use super::finder::Finder;
use super::record::{Call, Owner, Session, SessionId, TrueMessage, Turn};
use super::store::{Lease, Lookup, Progress, SaveOutcome, SavedTurn, SessionStore, StoreError};
use super::turn_record::TurnRecord;
use crate::wire::block::Block;
use crate::wire::role::Role;

pub(crate) fn digest(name: &str) -> Digest {
    ChainKey::new([1; 32]).digest(&[name.as_bytes()])
}

/// Builds a turn of a session. A turn whose name begins with `suspended` waits for the client.
pub(crate) fn turn(id: &str, session: &str, point: &str) -> Turn {
    let call = Call {
        id: format!("up_{id}"),
        visible_id: format!("toolu_{id}"),
        name: "get_weather".to_owned(),
        input: r#"{"city":"Paris"}"#.to_owned(),
        owner: Owner::External,
        result: None,
        is_begun: false,
        is_from_text: false,
    };
    Turn {
        id: id.to_owned(),
        session: SessionId::new(session.to_owned()),
        point: digest(point),
        context: digest("context"),
        answer: digest("answer"),
        outline: digest("outline"),
        is_joined: true,
        begun: None,
        truth: vec![TrueMessage {
            role: Role::Assistant,
            blocks: vec![Block::text(&"x".repeat(1000))],
        }],
        is_unchanged: false,
        drops_thinking: false,
        generation: None,
        visible: Vec::new(),
        calls: id.starts_with("suspended").then_some(call).into_iter().collect(),
        systems: Vec::new(),
        state: state(id),
    }
}

fn state(turn: &str) -> Map<String, Value> {
    Map::from_iter([("turn".to_owned(), turn.into())])
}

/// Clients of sessions: the name before `/` in the id of a session, or `client`.
const CLIENTS: [&str; 8] = ["client", "ada", "bo", "bob", "eve", "cyd", "dan", "keys"];

/// Returns the client of a session.
fn client_of(session: &SessionId) -> Digest {
    digest(
        session
            .as_str()
            .split_once('/')
            .map_or("client", |(client, _)| client),
    )
}

fn finder<'s>(store: &'s dyn SessionStore, client: &str) -> Finder<'s> {
    Finder::new(store, digest(client))
}

pub(crate) async fn save(store: &dyn SessionStore, turn: Turn) {
    save_with(store, turn, &[], &[]).await;
}

/// Saves a turn with these calls and keys.
pub(crate) async fn save_with(store: &dyn SessionStore, turn: Turn, calls: &[&str], keys: &[&str]) {
    let digests = |names: &[&str]| names.iter().map(|name| digest(name)).collect();
    let client = client_of(&turn.session);
    save_for(store, client, turn, digests(calls), digests(keys)).await;
}

/// Saves a turn of a client, in place of its stored revision.
async fn save_for(
    store: &dyn SessionStore,
    client: Digest,
    turn: Turn,
    calls: Vec<Digest>,
    keys: Vec<Digest>,
) {
    let stored = Finder::new(store, client).turn(&turn.id).await.unwrap();
    let saved = SavedTurn {
        record: TurnRecord::new(turn),
        revision: stored.map_or(0, |stored| stored.revision),
        calls,
        keys,
        progress: None,
        precedes_effects: false,
    };
    let saved = store.save(client, saved).await.unwrap();
    assert!(matches!(saved, SaveOutcome::Saved { revision: 1.. }), "{saved:?}");
}

/// Builds a segment of a request's progress, without a lease.
pub(crate) fn segment(request: Digest, at: u64, segment: &[u8]) -> Progress {
    Progress {
        lease: Lease {
            request,
            sample: 0,
            fence: 0,
        },
        restart: 0,
        at,
        segment: segment.to_vec(),
        is_last: false,
        precedes_effects: false,
    }
}

/// Returns the turns of all clients after each point.
async fn turns(store: &dyn SessionStore, points: &[Digest]) -> Vec<Vec<Arc<Turn>>> {
    let mut turns = vec![Vec::new(); points.len()];
    for client in CLIENTS {
        let found = finder(store, client).turns(points, None).await.unwrap();
        assert_eq!(found.len(), points.len(), "one list for each point");
        for (turns, found) in turns.iter_mut().zip(found) {
            turns.extend(found);
        }
    }
    turns
}

pub(crate) async fn ids(store: &dyn SessionStore, point: &str) -> Vec<String> {
    let turns = turns(store, &[digest(point)]).await;
    turns.concat().iter().map(|turn| turn.id.clone()).collect()
}

/// Returns the turn of a call of any client.
pub(crate) async fn turn_of_call(store: &dyn SessionStore, call: &str) -> Option<Arc<Turn>> {
    for client in CLIENTS {
        let found = finder(store, client).turn_of_call(digest(call)).await.unwrap();
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns the session of a key of any client.
pub(crate) async fn session_of_key(store: &dyn SessionStore, key: &str) -> Option<SessionId> {
    for client in CLIENTS {
        let found = session_of(store, client, key).await.unwrap();
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns the session of a client's key.
async fn session_of(
    store: &dyn SessionStore,
    client: &str,
    key: &str,
) -> Result<Option<SessionId>, StoreError> {
    let lookup = Lookup {
        keys: &[digest(key)],
        ..Lookup::default()
    };
    Ok(store.find(digest(client), &lookup).await?.session)
}

async fn session(store: &dyn SessionStore, id: &SessionId) -> Option<Session> {
    store.session(client_of(id), id).await.unwrap()
}

/// Returns the sessions among `a` and `b` that the store has. The look-up does not renew them.
async fn known(store: &dyn SessionStore) -> Vec<String> {
    let mut known = Vec::new();
    for id in ["a", "b"] {
        let session = session(store, &SessionId::new(id.to_owned())).await;
        known.extend(session.map(|session| session.id.to_string()));
    }
    known
}

/// A folder that is removed on drop.
pub(crate) struct Folder(pub(crate) std::path::PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.0.join("sessions.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Deterministic pseudo-random numbers: `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }
}

/// Returns whether tests run with large numbers.
pub(crate) fn is_long() -> bool {
    std::env::var_os("GATEWAY_LONG").is_some()
}
