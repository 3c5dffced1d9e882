//! Tests of the requirements on session stores, and of the stores in memory and in a file.

pub(super) mod work;
mod conformance;
mod model;
mod caps;
mod expiry;
mod damaged_files;
mod growth;
mod earlier;
mod canonical_values;

use serde_json::{Map, Value};

use super::chain::{ChainKey, Digest};
use super::record::{Call, Owner, SessionId, TrueMessage, Turn};
use super::store::{SavedTurn, SessionStore};
use crate::wire::block::Block;
use crate::wire::role::Role;

fn digest(name: &str) -> Digest {
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
        session: SessionId(session.to_owned()),
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

pub(crate) async fn save(store: &dyn SessionStore, turn: Turn) {
    save_with(store, turn, &[], &[]).await;
}

/// Saves a turn with these calls and keys.
async fn save_with(store: &dyn SessionStore, turn: Turn, calls: &[&str], keys: &[&str]) {
    let digests = |names: &[&str]| names.iter().map(|name| digest(name)).collect();
    let client = digest(
        &turn
            .session
            .0
            .chars()
            .take_while(|letter| *letter != '/')
            .collect::<String>(),
    );
    let saved = SavedTurn {
        turn,
        client,
        calls: digests(calls),
        keys: digests(keys),
        progress: None,
    };
    store.save(saved).await.unwrap();
}

async fn ids(store: &dyn SessionStore, point: &str) -> Vec<String> {
    let turns = store.turns(&[digest(point)], None).await.unwrap();
    assert_eq!(turns.len(), 1, "one list for each point");
    turns.concat().iter().map(|turn| turn.id.clone()).collect()
}

/// Returns the sessions among `a` and `b` that the store has. The look-up does not renew them.
async fn known(store: &dyn SessionStore) -> Vec<String> {
    let mut known = Vec::new();
    for id in ["a", "b"] {
        let session = store.session(&SessionId(id.to_owned())).await.unwrap();
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
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }
}

/// Returns whether tests run with large numbers.
fn is_long() -> bool {
    std::env::var_os("GATEWAY_LONG").is_some()
}
