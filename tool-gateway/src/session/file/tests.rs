//! Cost of look-ups and saves as a file grows, files of other versions, and writes of abandoned requests.

use std::sync::mpsc;
use std::time::Duration;

use redb::WriteTransaction;
use serde_json::Map;

use super::FileStore;
use super::create;
use super::lookup::TurnReader;
use super::save::save_turn;
use super::tables::FILE_VERSION;
use crate::session::chain::{ChainKey, Digest};
use crate::session::encoding::{OLDEST_VERSION, VERSION};
use crate::session::record::{SessionId, Turn};
use crate::session::store::{MAX_TURNS_OF_POINT, Progress, SavedTurn, SessionStore as _, StoreError};
use crate::session::tests::work;

fn digest(name: &str) -> Digest {
    ChainKey::new([1; 32]).digest(&[name.as_bytes()])
}

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
                    id: format!("{session} {point}"),
                    session: SessionId(session.to_owned()),
                    point: digest(&point),
                    context: client,
                    answer: client,
                    outline: client,
                    is_joined: true,
                    truth: Vec::new(),
                    is_unchanged: true,
                    drops_thinking: false,
                    visible: Vec::new(),
                    calls: Vec::new(),
                    systems: Vec::new(),
                    state: Map::new(),
                };
                let saved = SavedTurn {
                    turn,
                    client,
                    calls: Vec::new(),
                    keys: Vec::new(),
                    progress: None,
                };
                save_turn(transaction, &self.store.limits, self.store.moment(), &saved)?;
            }
            Ok(())
        };
        self.store.write_now(save).unwrap();
    }

    /// Returns the duration of this many look-ups of these points, and the number of turns that each one finds.
    fn at(&self, runs: usize, points: &[String], session: &str) -> (Duration, usize) {
        let session = SessionId(session.to_owned());
        let mut found = 0;
        let time = work::time_of(runs, || {
            let read = self.store.read_now(|transaction| {
                let mut reader = TurnReader::new(transaction, self.store.clock.seconds())?;
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
fn file_of_another_version_is_refused() {
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
    // The first versions had none.
    for other in [None, Some(OLDEST_VERSION - 1), Some(VERSION + 1)] {
        write(other);
        let StoreError(error) = create().unwrap_err();
        assert!(
            error.ends_with("use the one that wrote it, or name another file"),
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
    let progress = |record: &[u8]| Progress {
        client: request,
        request,
        at: 0,
        segment: record.to_vec(),
    };
    store.save_progress(progress(b"first")).await.unwrap();
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
    let late = store.save_progress(progress(b"late"));
    let late = tokio::time::timeout(Duration::from_millis(100), late).await;
    assert!(late.is_err(), "it waits for the other");
    end.send(()).unwrap();
    writing.join().unwrap().unwrap();
    // Time enough for the abandoned write, if it were executed.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let found = store.progress(request, request).await.unwrap();
    assert_eq!(found, [b"first"]);
    store.save_progress(progress(b"second")).await.unwrap();
    assert_eq!(store.progress(request, request).await.unwrap(), [b"second"]);
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}
