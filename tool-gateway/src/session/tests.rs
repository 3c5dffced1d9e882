//! What every session store must do, and what the one in memory does beside that.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Map, Value};

use super::chain::{ChainKey, Digest, groups};
use super::file::FileStore;
use super::memory::MemoryStore;
use super::recognize::{Client, Found, recognize};
use super::record::{Call, Owner, Role, Session, SessionId, TrueMessage, Turn};
use super::store::{MAX_TURNS_OF_POINT, Progress, SavedTurn, SessionStore, StoreError};
use crate::wire::block::Block;
use crate::wire::request::MessagesRequest;

fn digest(name: &str) -> Digest {
    ChainKey::new([1; 32]).digest(&[name.as_bytes()])
}

/// A turn of a session; with a name that begins with `suspended`, one that waits for the client.
fn turn(id: &str, session: &str, point: &str) -> Turn {
    let call = Call {
        id: format!("up_{id}"),
        visible_id: format!("toolu_{id}"),
        name: "get_weather".to_owned(),
        input: r#"{"city":"Paris"}"#.to_owned(),
        owner: Owner::Client,
        result: None,
        is_begun: false,
    };
    Turn {
        id: id.to_owned(),
        session: SessionId(session.to_owned()),
        point: digest(point),
        context: digest("context"),
        answer: digest("answer"),
        outline: digest("outline"),
        truth: vec![TrueMessage {
            role: Role::Assistant,
            blocks: vec![Block::text(&"x".repeat(1000))],
        }],
        is_unchanged: false,
        drops_thinking: false,
        visible: Vec::new(),
        calls: id.starts_with("suspended").then_some(call).into_iter().collect(),
        systems: Vec::new(),
        state: state(id),
    }
}

fn state(turn: &str) -> Map<String, Value> {
    Map::from_iter([("turn".to_owned(), turn.into())])
}

async fn save(store: &dyn SessionStore, turn: Turn) {
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

/// Which of the sessions `a` and `b` the store knows; to ask is not to use them.
async fn known(store: &dyn SessionStore) -> Vec<String> {
    let mut known = Vec::new();
    for id in ["a", "b"] {
        let session = store.session(&SessionId(id.to_owned())).await.unwrap();
        known.extend(session.map(|session| session.id.to_string()));
    }
    known
}

/// The suite for any store.
async fn conforms(store: &dyn SessionStore) {
    assert_eq!(ids(store, "nowhere").await, [""; 0]);
    assert_eq!(store.turn_of_call(digest("nothing")).await.unwrap(), None);
    assert_eq!(store.session_of_key(digest("nothing")).await.unwrap(), None);
    assert_eq!(store.session(&SessionId("none".to_owned())).await.unwrap(), None);
    assert_eq!(known(store).await, [""; 0]);
    assert!(!store.ttl().is_zero());

    // A turn comes back whole, by its point, its call and its session's key.
    let first = turn("suspended-1", "a", "one");
    save_with(store, first.clone(), &["call 1"], &["key a"]).await;
    assert_eq!(
        store.turns(&[digest("one")], None).await.unwrap(),
        [[Arc::new(first.clone())]]
    );
    assert_eq!(
        store.turn_of_call(digest("call 1")).await.unwrap(),
        Some(Arc::new(first.clone()))
    );
    assert_eq!(
        store.session_of_key(digest("key a")).await.unwrap(),
        Some(first.session.clone())
    );
    let session = store.session(&first.session).await.unwrap().unwrap();
    assert_eq!((&session.id, &session.state), (&first.session, &first.state));

    // Branches with one visible history are two turns, the oldest first; other points are others.
    save(store, turn("2", "b", "one")).await;
    save(store, turn("3", "a", "two")).await;
    assert_eq!(ids(store, "one").await, ["suspended-1", "2"]);
    let several = store
        .turns(&[digest("two"), digest("nowhere"), digest("one")], None)
        .await
        .unwrap();
    assert_eq!(several.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 2]);

    // Three turns, and what they take.
    let size = store.size().await.unwrap().unwrap();
    assert!(size.turns == 3 && size.bytes > 3000, "{size:?}");

    // The session has the state of its latest turn, and keeps its beginning.
    let later = store.session(&first.session).await.unwrap().unwrap();
    assert_eq!(later.state, state("3"));
    assert_eq!(later.created_at, session.created_at);
    assert!(later.last_active >= session.last_active);

    assert_eq!(known(store).await, ["a", "b"]);

    // How far a request has come, if it matters.
    if store.is_durable() {
        let progress = |record: &str| Progress {
            request: digest("request"),
            record: record.as_bytes().to_vec(),
        };
        assert_eq!(store.progress(digest("request")).await.unwrap(), None);
        for record in ["{}", r#"{"later":1}"#] {
            store.save_progress(progress(record)).await.unwrap();
            assert_eq!(
                store.progress(digest("request")).await.unwrap(),
                Some(progress(record))
            );
        }
    }

    // A turn that is saved again, with the results of its deferred calls, takes its own place.
    let mut again = first.clone();
    again.calls[0].result = Some(Block::text("done"));
    save_with(store, again.clone(), &["call 1"], &["key a"]).await;
    let mut found = ids(store, "one").await;
    found.sort();
    assert_eq!(found, ["2", "suspended-1"]);
    assert_eq!(
        store.turn_of_call(digest("call 1")).await.unwrap(),
        Some(Arc::new(again))
    );
}

/// Of the turns after one point come the latest, and those of a session that is asked for, however many others there are.
async fn bounds_equal_histories(store: &dyn SessionStore, sessions: usize) {
    let id = |number: usize| format!("{number:05}");
    for number in 0..sessions {
        save(store, turn(&id(number), &id(number), "hi")).await;
    }
    save(store, turn("again", &id(0), "elsewhere")).await;
    let found = async |session: Option<&SessionId>| {
        let points = [digest("elsewhere"), digest("hi")];
        let turns = store.turns(&points, session).await.unwrap();
        assert_eq!(turns[0].len(), 1);
        turns[1].iter().map(|turn| turn.id.clone()).collect::<Vec<_>>()
    };
    let latest: Vec<_> = (sessions - MAX_TURNS_OF_POINT..sessions).map(id).collect();
    assert_eq!(found(None).await, latest);
    assert_eq!(found(Some(&SessionId(id(sessions - 1)))).await, latest);
    assert_eq!(found(Some(&SessionId("unknown".to_owned()))).await, latest);
    let with_own = [vec![id(0)], latest].concat();
    assert_eq!(found(Some(&SessionId(id(0)))).await, with_own);
}

/// How often the calls of a turn are looked at in a history with so many answers, none of which has any.
async fn looks_at_calls(answers: usize) -> usize {
    let messages: Vec<_> = (0..answers)
        .map(|at| format!(r#"{{"role":"user","content":"{at}"}},{{"role":"assistant","content":"{at}"}},"#))
        .collect();
    let messages = messages.concat();
    let body = format!(r#"{{"messages":[{messages}{{"role":"user","content":"on"}}]}}"#);
    let request = MessagesRequest::parse(body).unwrap();
    let key = ChainKey::new([1; 32]);
    let client = Client {
        principal: "ada".to_owned(),
        keys: Vec::new(),
    };
    let store = MemoryStore::new();
    for group in groups(&key, key.beginning("ada"), &request) {
        let turn = Turn {
            point: group.digest,
            context: key.context(&request),
            ..turn(&group.digest.to_hex(), "a", "")
        };
        save(&store, turn).await;
    }
    let recognize = || recognize(&key, &store, &client, &request).now_or_never();
    let (looks, recognized) = work::steps(recognize);
    let recognized = recognized.unwrap().unwrap();
    assert_eq!(
        (recognized.found, recognized.turns.len()),
        (Found::Chain, answers)
    );
    looks
}

#[tokio::test]
async fn minted_ids_are_looked_up_in_time_linear_in_the_history() {
    let (short, long) = (looks_at_calls(100).await, looks_at_calls(400).await);
    assert!(
        short > 0 && long <= 5 * short,
        "{short} for 100 answers, {long} for 400"
    );
}

/// R-GW-11
#[tokio::test]
async fn the_store_in_memory_conforms() {
    conforms(&MemoryStore::new()).await;
    bounds_equal_histories(&MemoryStore::new(), 10_000).await;
}

/// A folder that is removed in the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.join("sessions.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn the_store_in_a_file_conforms_and_outlives_the_process() {
    let folder = Folder::new("conforms");
    let store = FileStore::open(folder.file()).unwrap();
    conforms(&store).await;
    bounds_equal_histories(&store, 200).await;
    let secret = store.secret().unwrap();
    drop(store);
    let store = FileStore::open(folder.file()).unwrap();
    assert_eq!(store.secret().unwrap(), secret);
    assert_eq!(ids(&store, "one").await, ["2", "suspended-1"]);
    let again = store.turn_of_call(digest("call 1")).await.unwrap().unwrap();
    assert_eq!(again.calls[0].result, Some(Block::text("done")));
    let named = store.session_of_key(digest("key a")).await.unwrap();
    assert_eq!(named, Some(SessionId("a".to_owned())));
}

/// Numbers that look random, and are the same in every run: `SplitMix64`.
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

/// Whether to take the time for many more.
fn is_long() -> bool {
    std::env::var_os("GATEWAY_LONG").is_some()
}

/// What a store should have.
#[derive(Clone, Default)]
struct Model {
    /// In the order in which they were saved.
    turns: Vec<Turn>,
    calls: HashMap<String, String>,
    keys: HashMap<String, SessionId>,
}

/// What of it is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expect {
    All,
    /// Some may be missing; what is there is right.
    Gone,
}

impl Model {
    /// Saves a turn in both: a new one that goes on from any point of any session, or one of before with a result.
    async fn save_one(&mut self, store: &dyn SessionStore, random: &mut Random, prefix: &str) {
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
            let session = format!("{prefix}s{}", random.below(5));
            // Few points: branches, and sessions with one visible history.
            turn(&id, &session, &format!("{prefix}p{}", random.below(8)))
        };
        saved.truth[0].blocks = vec![Block::text(&"x".repeat(random.below(9000)))];
        let call = format!("call {}", saved.id);
        let key = format!("{prefix}key {}", random.below(4));
        let keys = if random.below(2) == 0 {
            vec![key.as_str()]
        } else {
            Vec::new()
        };
        save_with(store, saved.clone(), &[&call], &keys).await;
        for key in keys {
            self.keys.insert(key.to_owned(), saved.session.clone());
        }
        self.calls.insert(call, saved.id.clone());
        self.turns.push(saved);
    }

    /// Looks for all that there is; says what is wrong.
    async fn differs(&self, store: &dyn SessionStore, expect: Expect) -> Result<Option<String>, StoreError> {
        let is_missing = |is_there: bool| !is_there && expect == Expect::All;
        let mut points: Vec<Digest> = self.turns.iter().map(|turn| turn.point).collect();
        points.dedup();
        for (point, found) in points.iter().zip(store.turns(&points, None).await?) {
            let found: Vec<_> = found.iter().map(AsRef::as_ref).collect();
            let expected = self.turns.iter().filter(|turn| turn.point == *point);
            let expected = expected.filter(|turn| expect == Expect::All || found.contains(turn));
            if found != expected.collect::<Vec<_>>() {
                return Ok(Some(format!("the turns of {point:?}: {found:?}")));
            }
        }
        for (call, id) in &self.calls {
            let found = store.turn_of_call(digest(call)).await?;
            let expected = self.turns.iter().find(|turn| turn.id == *id);
            if is_missing(found.is_some()) || found.is_some() && found.as_deref() != expected {
                return Ok(Some(format!("the turn of {call}: {found:?}")));
            }
        }
        for (key, session) in &self.keys {
            let found = store.session_of_key(digest(key)).await?;
            if is_missing(found.is_some()) || found.as_ref().is_some_and(|found| found != session) {
                return Ok(Some(format!("the session of {key}: {found:?}")));
            }
        }
        for turn in &self.turns {
            let found = store.session(&turn.session).await?;
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

/// Random histories with branches, turns that are saved again, and keys that move.
async fn follows_a_model(store: &dyn SessionStore, seed: u64, turns: usize) -> Model {
    let (mut random, mut model) = (Random(seed), Model::default());
    for saved in 1..=turns {
        model.save_one(store, &mut random, "").await;
        if saved % 10 == 0 {
            model.check(store, Expect::All).await;
        }
    }
    model
}

#[tokio::test]
async fn stores_follow_a_model() {
    let seeds = if is_long() { 100 } else { 3 };
    for seed in 0..seeds {
        follows_a_model(&MemoryStore::new(), seed, 100).await;
        let folder = Folder::new(&format!("model-{seed}"));
        let store = FileStore::open(folder.file()).unwrap();
        let model = follows_a_model(&store, seed, 60).await;
        drop(store);
        let store = FileStore::open(folder.file()).unwrap();
        model.check(&store, Expect::All).await;
    }
}

/// What expires within this time is gone, what is saved since with `later` is not.
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
        assert_eq!(later.turns(&[point], None).await.unwrap(), [[]; 1]);
    }
}

#[tokio::test]
async fn stores_that_expire_follow_a_model() {
    let folder = Folder::new("model-expiry");
    let second = Duration::from_secs(1);
    let file = FileStore::open(folder.file()).unwrap().with_ttl(second);
    let later = file.clone().with_ttl(second * 3600);
    let memory = MemoryStore::new().with_ttl(second);
    // Suspended turns wait four times as long.
    tokio::join!(
        expires(&file, &later, second * 5),
        expires(&memory, &memory, second * 5)
    );
}

#[tokio::test]
async fn ten_thousand_suspended_turns_are_in_a_file() {
    let turns = if is_long() { 10_000 } else { 300 };
    let folder = Folder::new("suspended");
    let store = FileStore::open(folder.file()).unwrap();
    for id in 0..turns {
        let id = format!("suspended-{id}");
        save_with(&store, turn(&id, &id, &id), &[&id], &[]).await;
    }
    drop(store);
    let store = FileStore::open(folder.file()).unwrap();
    for id in 0..turns {
        let id = format!("suspended-{id}");
        let found = store.turn_of_call(digest(&id)).await.unwrap();
        assert_eq!(found.as_deref(), Some(&turn(&id, &id, &id)));
    }
    assert_eq!(store.size().await.unwrap().unwrap().turns, turns);
}

/// With `GATEWAY_LONG`, since it takes minutes.
#[tokio::test]
async fn a_look_up_among_a_hundred_thousand_sessions_takes_as_long_as_among_a_thousand() {
    if !is_long() {
        return;
    }
    let folder = Folder::new("many");
    let file = FileStore::open(folder.file()).unwrap();
    let memory = MemoryStore::new().with_max_turns_per_client(100_000);
    let stores: [(&dyn SessionStore, &str); 2] = [(&memory, "memory"), (&file, "file")];
    for (store, name) in stores {
        let mut medians = Vec::new();
        let mut saved = 0;
        for sessions in [1_000, 100_000] {
            for id in saved..sessions {
                let id = id.to_string();
                save_with(store, turn(&id, &id, &id), &[&id], &[&id]).await;
            }
            saved = sessions;
            let mut random = Random(7);
            let mut times = Vec::new();
            for _ in 0..2_000 {
                let id = random.below(sessions).to_string();
                let began = std::time::Instant::now();
                assert_eq!(store.turns(&[digest(&id)], None).await.unwrap()[0].len(), 1);
                assert!(store.session_of_key(digest(&id)).await.unwrap().is_some());
                times.push(began.elapsed());
            }
            times.sort();
            medians.push(times[times.len() / 2]);
        }
        assert!(medians[1] < medians[0] * 3, "{name}: {medians:?}");
    }
    drop(file);
    let began = std::time::Instant::now();
    let file = FileStore::open(folder.file()).unwrap();
    assert_eq!(file.size().await.unwrap().unwrap().turns, 100_000);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

/// A file with changed bytes, or a part of one, gives an error or what was stored.
#[tokio::test]
async fn a_corrupted_file_gives_an_error_and_never_wrong_data() {
    let folder = Folder::new("bytes");
    let store = FileStore::open(folder.file()).unwrap();
    let before = follows_a_model(&store, 11, 40).await;
    let mut model = before.clone();
    model.save_one(&store, &mut Random(12), "").await;
    // As a crash leaves it.
    let killed = std::fs::read(folder.file()).unwrap();
    drop(store);
    let closed = std::fs::read(folder.file()).unwrap();
    let mut random = Random(5);
    let mut errors = 0;
    let samples = if is_long() { 1_000 } else { 80 };
    for sample in 0..samples {
        let is_killed = sample % 2 == 0;
        let mut bytes = if is_killed { killed.clone() } else { closed.clone() };
        match sample / 2 % 4 {
            // The header has much in few bytes.
            0 => bytes[random.below(512)] ^= 1 << random.below(8),
            1 => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            2 => {
                let at = random.below(bytes.len());
                let end = bytes.len().min(at + 1 + random.below(4096));
                bytes[at..end].fill(u8::try_from(random.below(256)).unwrap());
            }
            _ => bytes.truncate(random.below(bytes.len())),
        }
        std::fs::write(folder.file(), &bytes).unwrap();
        let error = match FileStore::open(folder.file()) {
            Ok(store) => match model.differs(&store, Expect::All).await {
                // After a crash, a last write that is not whole was interrupted.
                Ok(Some(_)) if is_killed => before.differs(&store, Expect::All).await,
                compared => compared,
            }
            .map(|difference| assert_eq!(difference, None, "{sample}"))
            .err(),
            Err(error) => Some(error),
        };
        if let Some(StoreError(error)) = error {
            assert!(error.contains("sessions.redb: "), "{error}");
            errors += 1;
        }
    }
    assert!(errors > samples / 4, "{errors}");
}

#[cfg(unix)]
#[tokio::test]
async fn file_is_private_and_opened_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("once");
    let store = FileStore::open(folder.file()).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.file()), mode(&folder.0)), (0o600, 0o700));
    let error = FileStore::open(folder.file()).unwrap_err().to_string();
    assert!(
        error.ends_with("sessions.redb: another process has it open; stop that one, or name another file"),
        "{error}"
    );
    drop(store);
    FileStore::open(folder.file()).unwrap();
}

#[tokio::test]
async fn rejects_other_files_by_their_name() {
    let folder = Folder::new("corrupted");
    let store = FileStore::open(folder.file()).unwrap();
    save(&store, turn("1", "a", "one")).await;
    drop(store);
    let bytes = std::fs::read(folder.file()).unwrap();
    for wrong in [
        &b"no database, but long enough to be looked at"[..],
        &bytes[..bytes.len() / 2],
    ] {
        std::fs::write(folder.file(), wrong).unwrap();
        let error = FileStore::open(folder.file()).unwrap_err().to_string();
        assert!(
            error.contains("sessions.redb") && error.contains("name another file"),
            "{error}"
        );
        assert_eq!(std::fs::read(folder.file()).unwrap(), wrong, "it stays as it is");
    }
    let error = FileStore::open(&folder.0).unwrap_err().to_string();
    assert!(error.contains("directory"), "{error}");
}

#[tokio::test]
async fn sessions_in_a_file_expire_whole_and_make_room() {
    let folder = Folder::new("expiry");
    let store = FileStore::open(folder.file())
        .unwrap()
        .with_ttl(Duration::from_secs(1));
    save(&store, turn("suspended-1", "a", "1")).await;
    save_with(&store, turn("2", "b", "2"), &["call 2"], &["key b"]).await;
    save(&store, turn("3", "b", "3")).await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(known(&store).await, ["a"]);
    assert_eq!(
        (ids(&store, "2").await, ids(&store, "3").await),
        (Vec::new(), Vec::new())
    );
    assert_eq!(ids(&store, "1").await, ["suspended-1"], "it waits for the client");
    let store = store.with_ttl(Duration::from_secs(3600));
    save(&store, turn("4", "c", "4")).await;
    assert_eq!(store.session_of_key(digest("key b")).await.unwrap(), None);
    assert_eq!(store.turn_of_call(digest("call 2")).await.unwrap(), None);
    assert_eq!(ids(&store, "4").await, ["4"]);
    drop(store);

    // About 1.3 KB each.
    let store = FileStore::open(folder.file()).unwrap().with_max_bytes(20_000);
    for id in 0..100 {
        let id = id.to_string();
        save(&store, turn(&id, &format!("s{id}"), &id)).await;
    }
    let mut kept = 0;
    for id in 0..100 {
        kept += ids(&store, &id.to_string()).await.len();
    }
    assert!((5..20).contains(&kept), "{kept}");
    assert_eq!(ids(&store, "99").await, ["99"]);
    let size = std::fs::metadata(folder.file()).unwrap().len();
    for id in 100..1000 {
        let id = id.to_string();
        save(&store, turn(&id, &format!("s{id}"), &id)).await;
    }
    let later = std::fs::metadata(folder.file()).unwrap().len();
    assert!(later <= size * 2, "{size} → {later}");
}

/// How far requests have come makes room as their sessions do.
#[tokio::test]
async fn progress_in_a_file_makes_room() {
    let folder = Folder::new("progress");
    let store = FileStore::open(folder.file()).unwrap().with_max_bytes(20_000);
    let progress = |number: usize| Progress {
        request: digest(&number.to_string()),
        record: "x".repeat(1000).into_bytes(),
    };
    let mut size = 0;
    for number in 0..1000 {
        store.save_progress(progress(number)).await.unwrap();
        // The same request again takes no more.
        store.save_progress(progress(number)).await.unwrap();
        let found = store.progress(digest(&number.to_string())).await.unwrap();
        assert_eq!(found, Some(progress(number)));
        if number == 100 {
            size = std::fs::metadata(folder.file()).unwrap().len();
        }
    }
    let mut kept = Vec::new();
    for number in 0..1000 {
        let found = store.progress(digest(&number.to_string())).await.unwrap();
        kept.extend(found.map(|_| number));
    }
    assert!((15..=20).contains(&kept.len()), "{kept:?}");
    let later = std::fs::metadata(folder.file()).unwrap().len();
    assert!(later <= size * 2, "{size} → {later}");
}

/// Nobody's suspended turns keep those of others out.
#[tokio::test]
async fn what_is_saved_has_space_beside_suspended_turns() {
    let folder = Folder::new("suspended-space");
    let file = FileStore::open(folder.file()).unwrap().with_max_bytes(6_000);
    let memory = MemoryStore::new().with_max_turns(4);
    for store in [&file as &dyn SessionStore, &memory] {
        for id in [
            "suspended-1",
            "suspended-2",
            "suspended-3",
            "suspended-4",
            "suspended-5",
        ] {
            save(store, turn(id, &format!("bo/{id}"), id)).await;
        }
        save(store, turn("1", "ada/1", "1")).await;
        assert_eq!(ids(store, "1").await, ["1"], "{}", store.name());
        assert_eq!(
            ids(store, "suspended-5").await,
            ["suspended-5"],
            "{}",
            store.name()
        );
    }
}

#[tokio::test]
async fn in_a_file_a_client_over_its_cap_displaces_its_own_sessions_only() {
    let folder = Folder::new("client-cap");
    let store = FileStore::open(folder.file())
        .unwrap()
        .with_max_turns_per_client(3);
    save(&store, turn("a0", "ada/1", "a0")).await;
    for id in ["suspended-1", "b1", "b2", "b3"] {
        save(&store, turn(id, &format!("bo/{id}"), id)).await;
        // Sessions expire by the second.
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    let kept = async || {
        let mut kept = Vec::new();
        for id in ["a0", "suspended-1", "b1", "b2", "b3"] {
            kept.extend(ids(&store, id).await);
        }
        kept
    };
    assert_eq!(kept().await, ["a0", "suspended-1", "b2", "b3"]);
    // A session that is longer than the cap displaces the others, and then its own beginning.
    for id in 0..5 {
        save(&store, turn(&format!("c{id}"), "bo/long", "c")).await;
    }
    assert_eq!(kept().await, ["a0"]);
    assert_eq!(ids(&store, "c").await, ["c2", "c3", "c4"]);
}

/// With two turns per client: whatever is over it goes, the oldest first, and never what is saved.
async fn caps_the_turns_of_a_client(store: &dyn SessionStore) {
    let kept = async || {
        let mut kept = Vec::new();
        for point in ["a1", "a2", "a3", "b1", "b2", "b3", "b4"] {
            kept.extend(ids(store, point).await);
        }
        kept
    };
    let save = async |session, turns: &[&str]| {
        for id in turns {
            save_with(store, turn(id, session, id), &[], &[session]).await;
        }
    };
    // A session alone.
    save("ada/1", &["a1", "a2", "a3"]).await;
    assert_eq!(kept().await, ["a2", "a3"]);
    // One of two: also of a session that goes, the latest turns are there for longer.
    save("ada/2", &["b1"]).await;
    assert_eq!(kept().await, ["a3", "b1"]);
    let named = async |name| store.session_of_key(digest(name)).await.unwrap();
    assert!(named("ada/1").await.is_some());
    save("ada/2", &["b2"]).await;
    assert_eq!(kept().await, ["b1", "b2"]);
    assert_eq!(named("ada/1").await, None, "it goes with the last of its turns");
    save("ada/2", &["b3", "b4"]).await;
    assert_eq!(kept().await, ["b3", "b4"]);
    assert!(named("ada/2").await.is_some());
}

/// With 20,000 bytes, which are about 13 turns: a session alone stays within them.
async fn caps_the_bytes_of_a_session(store: &dyn SessionStore) {
    let kept = async || {
        let mut kept = Vec::new();
        for id in 0..=50 {
            kept.extend(ids(store, &id.to_string()).await);
        }
        kept
    };
    for id in 0..50 {
        save(store, turn(&id.to_string(), "a", &id.to_string())).await;
    }
    let before = kept().await;
    assert!((10..15).contains(&before.len()), "{before:?}");
    let latest = (50 - before.len()..50).map(|id| id.to_string());
    assert_eq!(before, latest.collect::<Vec<_>>());
    // A large turn displaces as many as it needs, and is kept, also if that is not enough.
    for bytes in [19_000, 100_000] {
        let mut large = turn("50", "a", "50");
        large.truth[0].blocks = vec![Block::text(&"x".repeat(bytes))];
        save(store, large).await;
        assert_eq!(kept().await, ["50"]);
    }
}

#[tokio::test]
async fn stores_stay_within_their_caps() {
    let folder = Folder::new("caps");
    let file = FileStore::open(folder.file()).unwrap();
    caps_the_turns_of_a_client(&MemoryStore::new().with_max_turns_per_client(2)).await;
    caps_the_turns_of_a_client(&file.clone().with_max_turns_per_client(2)).await;
    caps_the_bytes_of_a_session(&MemoryStore::new().with_max_bytes(20_000)).await;
    caps_the_bytes_of_a_session(&file.with_max_bytes(20_000)).await;
}

#[tokio::test]
async fn over_the_cap_the_least_recently_used_goes_first_and_suspended_turns_last() {
    let store = MemoryStore::new().with_max_turns(3);
    save_with(&store, turn("suspended-1", "a", "1"), &["call"], &[]).await;
    save_with(&store, turn("2", "b", "2"), &[], &["key b"]).await;
    save(&store, turn("3", "c", "3")).await;
    assert_eq!(ids(&store, "2").await, ["2"]); // used
    save(&store, turn("4", "d", "4")).await;
    assert_eq!(ids(&store, "3").await, [""; 0]);
    save(&store, turn("5", "e", "5")).await;
    assert_eq!(
        (ids(&store, "1").await, ids(&store, "2").await),
        (vec!["suspended-1".to_owned()], Vec::new())
    );
    assert_eq!(
        store.session_of_key(digest("key b")).await.unwrap(),
        None,
        "the key goes with its session"
    );
    assert!(store.turn_of_call(digest("call")).await.unwrap().is_some());
    assert_eq!(store.len(), 3);
}

#[tokio::test]
async fn a_client_over_its_cap_displaces_its_own_turns_only() {
    let store = MemoryStore::new().with_max_turns_per_client(3);
    save(&store, turn("a0", "ada/1", "a0")).await;
    for id in ["suspended-1", "b1", "b2"] {
        save(&store, turn(id, &format!("bo/{id}"), id)).await;
    }
    assert_eq!(ids(&store, "b1").await, ["b1"]); // used
    save(&store, turn("b3", "bo/b3", "b3")).await;
    let kept = async || {
        let mut kept = Vec::new();
        for id in ["a0", "suspended-1", "b1", "b2", "b3"] {
            kept.extend(ids(&store, id).await);
        }
        kept
    };
    assert_eq!(kept().await, ["a0", "suspended-1", "b1", "b3"]);
    assert_eq!(store.len(), 4);
}

#[tokio::test]
async fn continued_suspended_turns_are_evicted_like_others() {
    let store = MemoryStore::new().with_max_turns(2);
    save(&store, turn("suspended-1", "a", "1")).await;
    save_with(&store, turn("2", "a", "2"), &[], &["key"]).await;
    save_with(&store, turn("3", "b", "3"), &[], &["key"]).await;
    assert_eq!(ids(&store, "1").await, [""; 0]);
    assert_eq!(
        (ids(&store, "2").await, ids(&store, "3").await),
        (vec!["2".to_owned()], vec!["3".to_owned()])
    );
    // The key is the other session's now, and stays when the first goes.
    save(&store, turn("4", "b", "4")).await;
    save(&store, turn("5", "b", "5")).await;
    let named = store.session_of_key(digest("key")).await.unwrap();
    assert_eq!(named, Some(SessionId("b".to_owned())));
}

#[tokio::test]
async fn bytes_are_capped_and_ten_thousand_suspended_turns_have_space() {
    let store = MemoryStore::new().with_max_bytes(10_000);
    for id in 0..100 {
        save(&store, turn(&id.to_string(), "a", &id.to_string())).await;
    }
    assert!((1..10).contains(&store.len()), "{}", store.len());
    let store = MemoryStore::new();
    for id in 0..10_000 {
        let id = format!("suspended-{id}");
        save_with(&store, turn(&id, "a", &id), &[&id], &[]).await;
    }
    assert_eq!(store.len(), 10_000);
    assert!(store.turn_of_call(digest("suspended-0")).await.unwrap().is_some());
}

/// R-GW-12
#[tokio::test]
async fn turns_expire_with_their_session_and_suspended_ones_later() {
    let store = MemoryStore::new().with_ttl(Duration::from_millis(200));
    save(&store, turn("suspended-1", "a", "1")).await;
    save_with(&store, turn("2", "b", "2"), &[], &["key b"]).await;
    assert_eq!(known(&store).await, ["a", "b"]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    // Also before anything removes it.
    assert_eq!(known(&store).await, ["a"]);
    assert_eq!(
        (ids(&store, "1").await, ids(&store, "2").await),
        (vec!["suspended-1".to_owned()], Vec::new())
    );
    assert_eq!(known(&store).await, ["a"]);
    assert_eq!(store.session_of_key(digest("key b")).await.unwrap(), None);
}

/// Counts what look-ups do, for tests of how it grows: clocks are not to be trusted.
pub(super) mod work {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// How many steps were counted on this thread meanwhile.
    pub(in crate::session) fn steps<T>(work: impl FnOnce() -> T) -> (usize, T) {
        STEPS.set(0);
        let done = work();
        (STEPS.get(), done)
    }

    pub(in crate::session) fn count(steps: usize) {
        STEPS.set(STEPS.get() + steps);
    }
}
