//! Look-ups among many turns.

use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use super::{
    Folder, Random, digest, finder, is_long, save, save_for, save_with, session_of_key, turn, turn_of_call,
    turns, work,
};
use crate::session::chain::ChainKey;
use crate::session::client::Client;
use crate::session::file::FileStore;
use crate::session::known_history::Found;
use crate::session::memory::MemoryStore;
use crate::session::message_groups::groups;
use crate::session::principal::Principal;
use crate::session::recognize::recognize;
use crate::session::record::{SessionId, Turn};
use crate::session::store::{MAX_TURNS_OF_POINT, SessionStore};
use crate::wire::request::MessagesRequest;

#[tokio::test]
async fn minted_ids_are_looked_up_in_time_linear_in_the_history() {
    let (short, long) = (time_of_answers(200).await, time_of_answers(1600).await);
    // Quadratic time would be eight times as much.
    assert!(
        long <= 3 * short,
        "{short:?} for 8 times 200 answers, {long:?} for 1600"
    );
}

/// Returns the time of look-ups of 1600 assistant messages, in histories of this length without calls.
async fn time_of_answers(answers: usize) -> Duration {
    let messages: Vec<_> = (0..answers)
        .map(|at| format!(r#"{{"role":"user","content":"{at}"}},{{"role":"assistant","content":"{at}"}},"#))
        .collect();
    let messages = messages.concat();
    let body = format!(r#"{{"messages":[{messages}{{"role":"user","content":"on"}}]}}"#);
    let request = MessagesRequest::parse(body).unwrap();
    let key = ChainKey::new([1; 32]);
    let client = Client::new(&key, Principal::from_key_name("ada"), Vec::new());
    let store = MemoryStore::new();
    for &point in groups(&key, client.beginning, &request).digests.points() {
        let turn = Turn {
            point,
            context: key.context(&request),
            truth: Vec::new(),
            ..turn(&point.to_hex(), "a", "")
        };
        save_for(&store, client.digest, turn, Vec::new(), Vec::new()).await;
    }
    work::time_of(1600 / answers, || {
        let recognized = recognize(&key, &store, &client, &request, None).now_or_never();
        let (recognized, _) = recognized.unwrap().unwrap();
        assert_eq!(
            (recognized.found, recognized.turns.len()),
            (Found::Chain, answers)
        );
    })
}

#[tokio::test]
async fn lookup_time_is_independent_of_conversation_length() {
    let store = MemoryStore::new();
    for other in 0..=MAX_TURNS_OF_POINT {
        for session in ["short", "long", "other"] {
            save(&store, turn(&format!("{session} {other}"), session, "common")).await;
        }
    }
    for at in 0..1000 {
        save(&store, turn(&at.to_string(), "long", &at.to_string())).await;
    }
    let time = |session: &str| {
        let (session, points) = (SessionId::new(session.to_owned()), [digest("common")]);
        work::time_of(200, || {
            let found = finder(&store, "client")
                .turns(&points, Some(&session))
                .now_or_never();
            let found = found.unwrap().unwrap();
            assert!(
                found[0].len() > MAX_TURNS_OF_POINT / 2 && found[0].len() < 2 * MAX_TURNS_OF_POINT,
                "{}",
                found[0].len()
            );
        })
    };
    let (short, long) = (time("short"), time("long"));
    assert!(
        long < 3 * short,
        "{short:?}, and {long:?} beside a thousand turns"
    );
}

/// A turn that is saved again becomes the latest one, so that an older turn is among the latest ones again.
#[tokio::test]
async fn turns_of_a_session_are_found_beside_the_latest_turns() {
    let (store, mut random) = (MemoryStore::new(), Random(11));
    // Turns with their sessions, in the order in which they were saved.
    let mut saved: Vec<(String, String)> = Vec::new();
    for number in 0..4 * MAX_TURNS_OF_POINT {
        let is_again = number > 0 && random.below(2) == 0;
        let (id, session) = if is_again {
            saved.remove(random.below(saved.len()))
        } else {
            (number.to_string(), random.below(4).to_string())
        };
        save(&store, turn(&id, &session, "common")).await;
        saved.push((id, session));
        if number % 8 != 0 {
            continue;
        }
        for session in ["0", "1", "2", "3", "unknown"] {
            let first = saved.len().saturating_sub(MAX_TURNS_OF_POINT);
            let turns = saved.iter().enumerate();
            let expected = turns.filter(|(at, (_, of))| *at >= first || of == session);
            let expected: Vec<_> = expected.map(|(_, (id, _))| id.as_str()).collect();
            let id = SessionId::new(session.to_owned());
            let found = finder(&store, "client")
                .turns(&[digest("common")], Some(&id))
                .await;
            let found = found.unwrap();
            let found: Vec<_> = found[0].iter().map(|turn| turn.id.as_str()).collect();
            assert_eq!(found, expected, "{session}");
        }
    }
}

#[tokio::test]
async fn ten_thousand_suspended_turns_are_in_a_file() {
    let count = if is_long() { 10_000 } else { 300 };
    let folder = Folder::new("suspended");
    let store = FileStore::open(folder.file()).unwrap();
    for id in 0..count {
        let id = format!("suspended-{id}");
        save_with(&store, turn(&id, &id, &id), &[&id], &[]).await;
    }
    drop(store);
    let store = FileStore::open(folder.file()).unwrap();
    for id in 0..count {
        let id = format!("suspended-{id}");
        let found = turn_of_call(&store, &id).await;
        assert_eq!(found.as_deref(), Some(&turn(&id, &id, &id)));
    }
    assert_eq!(store.size().await.unwrap().unwrap().turns, count);
}

/// Runs only with `GATEWAY_LONG`, since this test takes minutes.
#[tokio::test]
async fn lookup_time_is_independent_of_session_count() {
    if !is_long() {
        return;
    }
    let folder = Folder::new("many");
    let file = FileStore::open(folder.file()).unwrap();
    let file = file.with_max_turns_per_client(100_000);
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
                let began = Instant::now();
                assert_eq!(turns(store, &[digest(&id)]).await[0].len(), 1);
                assert!(session_of_key(store, &id).await.is_some());
                times.push(began.elapsed());
            }
            times.sort();
            medians.push(times[times.len() / 2]);
        }
        assert!(medians[1] < medians[0] * 3, "{name}: {medians:?}");
    }
    drop(file);
    let began = Instant::now();
    let file = FileStore::open(folder.file()).unwrap();
    assert_eq!(file.size().await.unwrap().unwrap().turns, 100_000);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
