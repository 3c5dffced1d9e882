//! Cost of look-ups and saves as a file grows, files of other versions, and writes of abandoned requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use redb::backends::FileBackend;
use redb::{StorageBackend, TableDefinition, WriteTransaction};
use serde_json::{Map, json};

use super::FileStore;
use super::counters::{count_bytes, size_of};
use super::create;
use super::lookup::TurnReader;
use super::save::save_turn;
use super::tables::{self, FILE_VERSION};
use crate::session::chain::ChainKey;
use crate::session::database::FileDatabase;
use crate::session::encoding::{OLDEST_VERSION, VERSION};
use crate::session::finder::Finder;
use crate::session::record::{SessionId, Turn};
use crate::session::store::{Lookup, MAX_TURNS_OF_POINT, SavedTurn, SessionStore as _, StoreError};
use crate::session::tests::{Folder, digest, save, segment, turn, work};
use crate::session::turn_record::TurnRecord;

/// A store, for measurements of its look-ups and saves.
struct Look {
    folder: std::path::PathBuf,
    store: FileStore,
}

impl Look {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let store = FileStore::open(folder.join("sessions.redb")).unwrap();
        Self { folder, store }
    }

    /// Stores turns of a session after points of these names, in one transaction.
    fn save(&self, session: &str, points: impl Iterator<Item = String>) {
        let client = digest("client");
        let save = |transaction: &WriteTransaction| {
            for point in points {
                let turn = Turn {
                    truth: Vec::new(),
                    state: Map::new(),
                    ..turn(&format!("{session} {point}"), session, &point)
                };
                let saved = SavedTurn {
                    record: TurnRecord::new(turn),
                    revision: 0,
                    calls: Vec::new(),
                    keys: Vec::new(),
                    progress: None,
                    precedes_effects: false,
                };
                save_turn(
                    transaction,
                    &self.store.limits,
                    self.store.moment(),
                    client,
                    &saved,
                )?;
            }
            Ok(())
        };
        self.store.write_now(save).unwrap();
    }

    /// Returns the duration of this many look-ups of these points, and the number of turns that each one finds.
    fn at(&self, runs: usize, points: &[String], session: &str) -> (Duration, usize) {
        let session = SessionId::new(session.to_owned());
        let mut found = 0;
        let time = work::time_of(runs, || {
            let read = self.store.read_now(|transaction| {
                let mut reader = TurnReader::new(transaction, digest("client"), self.store.clock.seconds())?;
                let mut found = 0;
                for point in points {
                    found += reader.turns_of_point(digest(point), Some(&session))?.len();
                }
                Ok(found)
            });
            found = read.unwrap();
        });
        (time, found)
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn history_is_read_in_time_linear_in_its_turns() {
    let points = |turns: usize| (0..turns).map(|number| number.to_string()).collect::<Vec<_>>();
    let time = |name: &str, turns: usize| {
        let look = Look::new(name);
        look.save(name, points(turns).into_iter());
        let (time, found) = look.at(800 / turns, &points(turns), name);
        assert_eq!(found, turns);
        time
    };
    let (short, long) = (time("short", 100), time("long", 800));
    // Quadratic time would be eight times as much.
    assert!(
        long < 3 * short,
        "{short:?} for 8 times 100 turns, {long:?} for 800"
    );
}

#[test]
fn point_of_many_conversations_is_read_in_time_independent_of_their_length() {
    let look = Look::new("common");
    let common = ["common".to_owned()];
    look.save("own", common.clone().into_iter());
    look.save("own", (0..1000).map(|number| number.to_string()));
    look.save("short", common.clone().into_iter());
    for other in 0..2 * MAX_TURNS_OF_POINT {
        look.save(&format!("other {other}"), common.clone().into_iter());
    }
    let (short, found) = look.at(20, &common, "short");
    assert_eq!(found, MAX_TURNS_OF_POINT + 1);
    let (long, found) = look.at(20, &common, "own");
    assert_eq!(found, MAX_TURNS_OF_POINT + 1);
    assert!(long < 3 * short, "{short:?}, and {long:?} beside a long session");
}

#[test]
fn turn_is_saved_in_time_independent_of_the_length_of_its_session() {
    let look = Look::new("growth");
    let mut saved = 0;
    let mut time_after = |turns: usize| {
        look.save("long", (saved..turns).map(|number| format!("{number:05}")));
        saved = turns;
        work::time_of(10, || {
            saved += 1;
            look.save("long", std::iter::once(format!("{saved:05}")));
        })
    };
    let (first, last) = (time_after(10), time_after(5_000));
    // The trees of a larger file are deeper.
    assert!(last < 5 * first, "{first:?} after 10 turns, {last:?} after 5,000");
}

#[test]
fn rejects_a_file_of_another_version() {
    let look = Look::new("versions");
    look.save("a", std::iter::once("point".to_owned()));
    let write = |version: Option<u32>| {
        let write = |transaction: &WriteTransaction| {
            let mut versions = transaction.open_table(FILE_VERSION)?;
            match version {
                Some(version) => versions.insert((), version)?,
                None => versions.remove(())?,
            };
            Ok(())
        };
        look.store.write_now(write).unwrap();
    };
    let create = || look.store.write_now(create::create);
    assert!(create().is_ok());
    // Files of the first versions had no version.
    for other in [None, Some(OLDEST_VERSION - 1), Some(VERSION + 1)] {
        write(other);
        let StoreError(error) = create().unwrap_err();
        assert!(
            error.ends_with("use the version of the program that wrote the file, or specify another file"),
            "{error}"
        );
    }
    write(Some(VERSION));
    assert!(create().is_ok());
}

/// The request has failed, and its retry has stored a newer turn since.
#[tokio::test]
async fn abandoned_write_is_not_executed_later() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-late-{}", std::process::id()));
    let store = FileStore::open(folder.join("sessions.redb")).unwrap();
    let request = ChainKey::new([1; 32]).digest(&[b"request"]);
    let progress = |record: &[u8]| segment(request, 0, record);
    store.append(request, progress(b"first")).await.unwrap();
    // Another write blocks the file.
    let ((writes, is_writing), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
    let other = store.clone();
    let writing = std::thread::spawn(move || {
        other.write_now(|_| {
            writes.send(()).unwrap();
            ended.recv().unwrap();
            Ok(())
        })
    });
    is_writing.recv().unwrap();
    let late = store.append(request, progress(b"late"));
    let late = tokio::time::timeout(Duration::from_millis(100), late).await;
    assert!(late.is_err(), "the write waits for the other write");
    end.send(()).unwrap();
    writing.join().unwrap().unwrap();
    // In this time, the abandoned write would be executed.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let found = store.progress(request, request).await.unwrap();
    assert_eq!(found, [b"first"]);
    store.append(request, progress(b"second")).await.unwrap();
    assert_eq!(store.progress(request, request).await.unwrap(), [b"second"]);
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A file whose syncs are slow, and are counted.
#[derive(Debug)]
struct SlowFile(FileBackend);

static SYNCS: AtomicUsize = AtomicUsize::new(0);

impl StorageBackend for SlowFile {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        SYNCS.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, data)
    }
}

/// With a transaction for each save, 50 clients would wait for 50 syncs.
#[tokio::test]
async fn concurrent_saves_share_the_syncs_of_a_transaction() {
    let folder = Folder::new("syncs");
    std::fs::create_dir(&folder.0).unwrap();
    let open = |builder: &redb::Builder, file| {
        FileBackend::new(file).and_then(|file| builder.create_with_backend(SlowFile(file)))
    };
    let database = FileDatabase::open_with(&folder.file(), open).unwrap();
    let store = FileStore::with_database(database).unwrap();
    let syncs_of = async |saves: usize| {
        let before = SYNCS.load(Ordering::SeqCst);
        let saves = (0..saves).map(|number| {
            let id = number.to_string();
            save(&store, turn(&id, &id, &id))
        });
        futures_util::future::join_all(saves).await;
        SYNCS.load(Ordering::SeqCst) - before
    };
    let of_one = syncs_of(1).await;
    assert!((1..=2).contains(&of_one), "{of_one} syncs of a transaction");
    // The first transaction may begin before the others wait, and the file grows.
    let of_many = syncs_of(50).await;
    assert!(
        of_many <= 5 * of_one,
        "{of_many} syncs of 50 saves, {of_one} of one"
    );
    assert_eq!(store.size().await.unwrap().unwrap().turns, 50);
}

/// Runs turns with one call each, a number of them at once, on a disk whose syncs take 100 ms longer or not. Prints the median
/// duration of a turn, and the number of turns in a second.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement for optimized builds, with --nocapture"]
async fn measure_turns() {
    let registry = || {
        let mut registry = tool_runtime::ToolRegistry::new();
        let definition = tool_runtime::ToolDefinition::new("write", "Writes.", json!({ "type": "object" }));
        let write = async |_: serde_json::Value, _: tool_runtime::Context| "done".to_owned();
        registry.register_dynamic(definition, write).unwrap();
        registry
    };
    let script = json!({ "turns": [
        { "content": [{ "type": "tool_use", "id": "a", "name": "write", "input": {} }] },
        { "content": [{ "type": "text", "text": "Done." }] },
    ] });
    for (is_slow, at_once, count) in [(true, 50, 500), (false, 50, 10_000), (false, 1, 1_000)] {
        let folder = Folder::new("measured");
        std::fs::create_dir(&folder.0).unwrap();
        let open = |builder: &redb::Builder, file| {
            FileBackend::new(file).and_then(|file| builder.create_with_backend(SlowFile(file)))
        };
        let store = if is_slow {
            FileStore::with_database(FileDatabase::open_with(&folder.file(), open).unwrap())
        } else {
            FileStore::open(folder.file())
        };
        let script = crate::upstream::script::ScriptUpstream::from_json(&script.to_string()).unwrap();
        let router = crate::Gateway::new(registry(), script)
            .with_store(store.unwrap())
            .router();
        let began = std::time::Instant::now();
        let clients = (0..at_once).map(|client| {
            let router = router.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                for number in 0..count / at_once {
                    let body = json!({
                        "model": "m", "max_tokens": 100, "stream": true, "tools": [{ "name": "write" }],
                        "messages": [{ "role": "user", "content": format!("{client} {number}") }],
                    });
                    let request = axum::http::Request::post("/v1/messages")
                        .header("content-type", "application/json")
                        .body(axum::body::Body::from(body.to_string()))
                        .unwrap();
                    let began = std::time::Instant::now();
                    let answer = tower::ServiceExt::oneshot(router.clone(), request).await.unwrap();
                    let answer = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
                    assert!(String::from_utf8_lossy(&answer).contains("message_stop"));
                    times.push(began.elapsed());
                }
                times
            })
        });
        let times = futures_util::future::join_all(clients).await;
        let took = began.elapsed();
        let mut times: Vec<_> = times.into_iter().flat_map(Result::unwrap).collect();
        times.sort();
        let (median, rate) = (times[times.len() / 2], f64::from(count) / took.as_secs_f64());
        eprintln!("slow {is_slow}, {at_once} at once: median {median:?}, {rate:.0} turns/s");
    }
}

/// The failure of a write does not fail other writes in the transaction.
#[tokio::test]
async fn rejected_write_keeps_the_other_writes_of_its_transaction() {
    let folder = Folder::new("rejected");
    let store = FileStore::open(folder.file()).unwrap();
    let client = digest("client");
    let progress = |request: &str, at: u64| segment(digest(request), at, request.as_bytes());
    let (before, rejected, after) = tokio::join!(
        store.append(client, progress("before", 0)),
        store.append(client, progress("rejected", 7)),
        store.append(client, progress("after", 0)),
    );
    assert!(before.is_ok() && after.is_ok());
    let StoreError(error) = rejected.unwrap_err();
    assert!(
        error.ends_with("expected segment 0 of a request's progress, got 7"),
        "{error}"
    );
    for request in ["before", "after"] {
        let found = store.progress(digest("client"), digest(request)).await.unwrap();
        assert_eq!(found, [request.as_bytes()]);
    }
}

/// Writes records and tables in the form of version 5.
fn write_version_5(path: &std::path::Path) {
    const TURNS_OF_CLIENT: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("turns of a client");
    const PROGRESS: TableDefinition<'_, &[u8; 32], (u64, &[u8])> = TableDefinition::new("progress");
    let (point, client, call) = (digest("point"), digest("client"), digest("call"));
    let expires_at = u64::MAX / 2;
    let turn = format!(
        r#"{{"version":5,"record":{{"turn":{{"id":"t1","session":"ses_a","point":"{point}","context":"{client}","answer":"{client}","outline":"{client}","truth":[{{"role":"assistant","blocks":[{{"json":{{"type":"text","text":"hidden"}}}}]}}],"is_unchanged":false,"drops_thinking":false,"visible":[{{"message":0,"block":0}}],"calls":[{{"id":"up_1","visible_id":"toolu_1","name":"get_weather","input":"{{}}","owner":"client","result":null,"is_begun":false}}],"systems":[],"state":{{"turn":1}}}},"calls":["{call}"],"number":1}}}}"#,
        point = point.to_hex(),
        client = client.to_hex(),
        call = call.to_hex(),
    );
    let session = format!(
        r#"{{"version":5,"record":{{"session":{{"id":"ses_a","created_at":{time},"last_active":{time},"state":{{"turn":1}}}},"client":"{client}","keys":["{key}"],"expires_at":{expires_at}}}}}"#,
        time = r#"{"secs_since_epoch":1700000000,"nanos_since_epoch":0}"#,
        client = client.to_hex(),
        key = digest("key").to_hex(),
    );
    let database = redb::Database::create(path).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let insert = |name: &'static str, key: &str, value: &[u8]| {
            let table: TableDefinition<'_, &str, &[u8]> = TableDefinition::new(name);
            transaction.open_table(table).unwrap().insert(key, value).unwrap();
        };
        insert("turns", "t1", turn.as_bytes());
        insert("sessions", "ses_a", session.as_bytes());
        let mut points = transaction.open_multimap_table(tables::POINTS).unwrap();
        points.insert(point.as_bytes(), (1, "t1")).unwrap();
        let mut of_session = transaction.open_table(tables::TURNS_OF_SESSION).unwrap();
        of_session.insert(("ses_a", 1), "t1").unwrap();
        let mut points = transaction.open_table(tables::POINTS_OF_SESSION).unwrap();
        points.insert(("ses_a", point.as_bytes(), 1), "t1").unwrap();
        let mut calls = transaction.open_table(tables::CALLS).unwrap();
        calls.insert(call.as_bytes(), "t1").unwrap();
        let mut keys = transaction.open_table(tables::KEYS).unwrap();
        keys.insert(digest("key").as_bytes(), "ses_a").unwrap();
        let mut expiry = transaction.open_table(tables::EXPIRY).unwrap();
        expiry.insert((expires_at, "ses_a"), ()).unwrap();
        let mut of_client = transaction.open_table(tables::SESSIONS_OF_CLIENT).unwrap();
        of_client
            .insert((client.as_bytes(), expires_at, "ses_a"), ())
            .unwrap();
        let mut counts = transaction.open_table(TURNS_OF_CLIENT).unwrap();
        counts.insert(client.as_bytes(), 1).unwrap();
        let mut counters = transaction.open_table(tables::COUNTERS).unwrap();
        counters.insert("turns", 1).unwrap();
        counters.insert("bytes", turn.len() as u64 + 3).unwrap();
        let mut progress = transaction.open_table(PROGRESS).unwrap();
        let request = digest("request");
        progress
            .insert(request.as_bytes(), (expires_at, &b"old"[..]))
            .unwrap();
        let mut expiry = transaction.open_table(tables::PROGRESS_EXPIRY).unwrap();
        expiry.insert((expires_at, request.as_bytes()), ()).unwrap();
        let mut secret = transaction.open_table(tables::SECRET).unwrap();
        secret.insert((), &[7; 32]).unwrap();
        let mut version = transaction.open_table(FILE_VERSION).unwrap();
        version.insert((), 5).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Sessions survive an update of the program.
#[tokio::test]
async fn sessions_of_version_5_are_found_and_continue() {
    let folder = Folder::new("version-5");
    std::fs::create_dir(&folder.0).unwrap();
    write_version_5(&folder.file());
    // The file is opened twice. The tables are converted only once.
    drop(FileStore::open(folder.file()).unwrap());
    let store = FileStore::open(folder.file()).unwrap();
    assert_eq!(store.secret(), Some([7; 32]));
    let finder = Finder::new(&store, digest("client"));
    let found = finder.turns(&[digest("point")], None).await.unwrap();
    let [turn] = found[0].as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((turn.id.as_str(), turn.is_suspended()), ("t1", true));
    assert_eq!(
        turn.truth[0].blocks[0].as_str(),
        r#"{"type":"text","text":"hidden"}"#
    );
    assert!(finder.turn_of_call(digest("call")).await.unwrap().is_some());
    let lookup = Lookup {
        keys: &[digest("key")],
        ..Lookup::default()
    };
    let named = store.find(digest("client"), &lookup).await.unwrap().session;
    assert_eq!(named, Some(SessionId::new("ses_a".to_owned())));
    let progress = store.progress(digest("client"), digest("request")).await.unwrap();
    assert_eq!(progress, [b"old"]);

    // The old turn is counted, so it is removed first above the limit of the client.
    let store = store.with_max_turns_per_client(1);
    let mut next = Turn::clone(turn);
    (next.id, next.session) = ("t2".to_owned(), SessionId::new("ses_b".to_owned()));
    let saved = SavedTurn {
        record: TurnRecord::new(next),
        revision: 0,
        calls: Vec::new(),
        keys: Vec::new(),
        progress: None,
        precedes_effects: false,
    };
    store.save(digest("client"), saved).await.unwrap();
    let finder = Finder::new(&store, digest("client"));
    let found = finder.turns(&[digest("point")], None).await.unwrap();
    let ids: Vec<_> = found[0].iter().map(|turn| turn.id.as_str()).collect();
    assert_eq!(ids, ["t2"]);
    let size = |transaction: &WriteTransaction| size_of(transaction, digest("client").as_bytes());
    let size = store.write_now(size).unwrap();
    let all = store.write_now(count_bytes).unwrap();
    assert_eq!((size.turns, all), (1, size.bytes + 3));
}
