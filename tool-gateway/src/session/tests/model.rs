//! Random histories, compared between the stores and a model.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::own_store::OwnStore;
use super::{Folder, Random, client_of, digest, finder, is_long, save_with, session_of, state, turn};
use crate::session::chain::Digest;
use crate::session::clock;
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;
use crate::session::record::{Session, SessionId, Turn};
use crate::session::store::{SessionStore, StoreError};
use crate::wire::block::Block;

#[tokio::test]
async fn stores_follow_a_model() {
    let seeds = if is_long() { 100 } else { 3 };
    for seed in 0..seeds {
        follows_a_model(&MemoryStore::new(), seed, 100).await;
        follows_a_model(&OwnStore::default(), seed, 100).await;
        let folder = Folder::new(&format!("model-{seed}"));
        let store = FileStore::open(folder.file()).unwrap();
        let model = follows_a_model(&store, seed, 60).await;
        drop(store);
        let store = FileStore::open(folder.file()).unwrap();
        model.check(&store, Expect::All).await;
    }
}

/// Runs a random history with branches, turns that are saved again, and keys that move between sessions.
pub(crate) async fn follows_a_model(store: &dyn SessionStore, seed: u64, turns: usize) -> Model {
    let (mut random, mut model) = (Random(seed), Model::default());
    for saved in 1..=turns {
        model.save_one(store, &mut random, "").await;
        if saved % 10 == 0 {
            model.check(store, Expect::All).await;
        }
    }
    model
}

/// The store uses the system's clock, so later turns have another store with a longer time to live.
#[tokio::test]
async fn a_file_that_expires_follows_a_model() {
    let folder = Folder::new("model-expiry");
    let second = Duration::from_secs(1);
    let file = FileStore::open(folder.file()).unwrap().with_ttl(second);
    let later = file.clone().with_ttl(second * 3600);
    // Suspended turns wait four times as long.
    expires(&file, &later, second * 5).await;
}

/// The clock is paused between two steps, so the expired turns are known at each step.
#[tokio::test(start_paused = true)]
async fn sessions_expire_as_in_a_model() {
    let ttl = Duration::from_secs(1000);
    for seed in 0..if is_long() { 100 } else { 5 } {
        let store = MemoryStore::new()
            .with_ttl(ttl)
            .with_clock(clock::tests::paused());
        let (mut random, mut model) = (Random(seed), Model::default());
        let mut expired = 0;
        for _ in 0..200 {
            model.save_one(&store, &mut random, "").await;
            tokio::time::advance(Duration::from_secs(random.below(400) as u64)).await;
            expired += model.expire(ttl);
            model.check(&store, Expect::All).await;
        }
        assert!(
            expired > 20 && model.turns.len() > 3,
            "{expired} {}",
            model.turns.len()
        );
    }
}

/// Advances the clock by this time. Turns that were saved before have expired; turns that are saved with `later` have not.
async fn expires(store: &dyn SessionStore, later: &dyn SessionStore, within: Duration) {
    let (mut random, mut old, mut new) = (Random(3), Model::default(), Model::default());
    for _ in 0..20 {
        old.save_one(store, &mut random, "old ").await;
    }
    tokio::time::sleep(within).await;
    for _ in 0..30 {
        new.save_one(later, &mut random, "new ").await;
        new.check(later, Expect::All).await;
        old.check(later, Expect::Gone).await;
    }
    for point in old.turns.iter().map(|turn| turn.point) {
        for client in CLIENTS {
            assert_eq!(
                finder(later, client).turns(&[point], None).await.unwrap(),
                [[]; 1]
            );
        }
    }
}

/// Clients of the sessions. The histories and keys of both are equal, so that a look-up without the client would find turns of both.
const CLIENTS: [&str; 2] = ["ada", "bob"];

/// Expected content of a store.
#[derive(Clone, Default)]
pub(crate) struct Model {
    /// In the order in which they were saved.
    turns: Vec<Turn>,
    calls: HashMap<String, String>,
    /// Sessions by client and key.
    keys: HashMap<(&'static str, String), SessionId>,
    /// Time of the latest save of each session.
    saved_at: HashMap<SessionId, Instant>,
    /// Number of expired turns.
    expired: usize,
}

/// Expectation of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Expect {
    All,
    /// Some turns may be missing; all others are equal.
    Gone,
}

impl Model {
    /// Saves a turn in the store and in the model: a new turn that continues from any point of any session, or an earlier turn with a
    /// result.
    pub(super) async fn save_one(&mut self, store: &dyn SessionStore, random: &mut Random, prefix: &str) {
        let before = self.turns.len();
        let again = before > 0 && random.below(4) == 0;
        let mut saved = if again {
            let mut turn = self.turns.remove(random.below(before));
            turn.state = state(&format!("again {}", random.below(1000)));
            for call in &mut turn.calls {
                call.result = Some(Block::text(&format!("result {}", random.below(1000))));
            }
            turn
        } else {
            let kind = ["suspended", "plain"][random.below(2)];
            let id = format!("{kind}-{prefix}{before}-{}", random.below(1 << 30));
            // No turn continues from an expired one.
            let number = random.below(5);
            let client = CLIENTS[number % 2];
            let session = format!("{client}/{prefix}s{number}.{}", self.expired);
            // Few points, so that branches and sessions with one visible history occur.
            turn(&id, &session, &format!("{prefix}p{}", random.below(8)))
        };
        saved.truth[0].blocks = vec![Block::text(&"x".repeat(random.below(9000)))];
        let call = format!("call {}", saved.id);
        let client = CLIENTS[usize::from(client_of(&saved.session) == digest(CLIENTS[1]))];
        let key = format!("{client} {prefix}key {}", random.below(4));
        let keys = if random.below(2) == 0 {
            vec![key.as_str()]
        } else {
            Vec::new()
        };
        save_with(store, saved.clone(), &[&call], &keys).await;
        for key in keys {
            self.keys.insert((client, key.to_owned()), saved.session.clone());
        }
        self.calls.insert(call, saved.id.clone());
        self.saved_at.insert(saved.session.clone(), Instant::now());
        self.turns.push(saved);
    }

    /// Removes the sessions that are older than this, or four times as old if they are suspended. Returns the number of their turns.
    fn expire(&mut self, ttl: Duration) -> usize {
        let before = self.turns.len();
        let latest: HashMap<_, _> = self
            .turns
            .iter()
            .map(|turn| (turn.session.clone(), turn.is_suspended()))
            .collect();
        let is_kept = |session: &SessionId| {
            let ttl = if latest[session] { 4 * ttl } else { ttl };
            self.saved_at[session].elapsed() <= ttl
        };
        self.turns.retain(|turn| is_kept(&turn.session));
        self.calls
            .retain(|_, id| self.turns.iter().any(|turn| turn.id == *id));
        self.keys
            .retain(|_, session| latest.contains_key(session) && is_kept(session));
        let expired = before - self.turns.len();
        self.expired += expired;
        expired
    }

    /// Looks up all turns. Returns the first difference.
    pub(super) async fn differs(
        &self,
        store: &dyn SessionStore,
        expect: Expect,
    ) -> Result<Option<String>, StoreError> {
        let is_missing = |is_there: bool| !is_there && expect == Expect::All;
        let mut points: Vec<Digest> = self.turns.iter().map(|turn| turn.point).collect();
        points.dedup();
        for client in CLIENTS {
            let of_client = || {
                let turns = self.turns.iter();
                turns.filter(|turn| client_of(&turn.session) == digest(client))
            };
            for (point, found) in points
                .iter()
                .zip(finder(store, client).turns(&points, None).await?)
            {
                let found: Vec<_> = found.iter().map(AsRef::as_ref).collect();
                let expected = of_client().filter(|turn| turn.point == *point);
                let expected = expected.filter(|turn| expect == Expect::All || found.contains(turn));
                if found != expected.collect::<Vec<_>>() {
                    return Ok(Some(format!("the turns of {client} after {point:?}: {found:?}")));
                }
            }
            for (call, id) in &self.calls {
                let found = finder(store, client).turn_of_call(digest(call)).await?;
                let expected = of_client().find(|turn| turn.id == *id);
                let is_lost = is_missing(found.is_some()) && expected.is_some();
                if is_lost || found.is_some() && found.as_deref() != expected {
                    return Ok(Some(format!("the turn of {call} for {client}: {found:?}")));
                }
            }
            for ((owner, key), session) in &self.keys {
                let found = session_of(store, client, key).await?;
                let is_lost = is_missing(found.is_some()) && *owner == client;
                let is_wrong = |found: &SessionId| found != session || *owner != client;
                if is_lost || found.as_ref().is_some_and(is_wrong) {
                    return Ok(Some(format!("the session of {key} for {client}: {found:?}")));
                }
            }
        }
        for turn in &self.turns {
            let found = store.session(client_of(&turn.session), &turn.session).await?;
            let mut of_session = self.turns.iter().rev();
            let latest = of_session.find(|other| other.session == turn.session).unwrap();
            let is_right = |found: &Session| found.state == latest.state && found.id == turn.session;
            if is_missing(found.is_some()) || found.as_ref().is_some_and(|found| !is_right(found)) {
                return Ok(Some(format!("{found:?}")));
            }
        }
        Ok(None)
    }

    async fn check(&self, store: &dyn SessionStore, expect: Expect) {
        assert_eq!(self.differs(store, expect).await, Ok(None));
    }
}
