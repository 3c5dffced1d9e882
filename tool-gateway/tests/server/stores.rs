//! Stores that fail for a while: no call runs twice, and no conversation is broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tool_gateway::session::Digest;
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::session::record::{Session, SessionId, Turn};
use tool_gateway::session::store::{SavedTurn, SessionStore, StoreError, StoreFuture};

use crate::lab::{Chat, Lab, call, result, says, text, user};

/// A store in memory that fails to save as often as it is told.
#[derive(Clone, Default)]
struct Failing {
    inner: Arc<MemoryStore>,
    failures: Arc<AtomicUsize>,
}

impl SessionStore for Failing {
    fn turns<'a>(&'a self, points: &'a [Digest]) -> StoreFuture<'a, Vec<Vec<Arc<Turn>>>> {
        self.inner.turns(points)
    }

    fn turn_of_call(&self, call: Digest) -> StoreFuture<'_, Option<Arc<Turn>>> {
        self.inner.turn_of_call(call)
    }

    fn session_of_key(&self, key: Digest) -> StoreFuture<'_, Option<SessionId>> {
        self.inner.session_of_key(key)
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.inner.session(id)
    }

    fn save(&self, saved: SavedTurn) -> StoreFuture<'_, ()> {
        let left = self
            .failures
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() {
            return Box::pin(async { Err(StoreError("the disk is full".to_owned())) });
        }
        self.inner.save(saved)
    }

    fn name(&self) -> String {
        "failing".to_owned()
    }
}

fn lab(turns: &Value) -> (Lab, Failing) {
    let store = Failing::default();
    let script = json!({ "order": "requests", "turns": turns });
    (
        Lab::with(script, |gateway| gateway.with_store(store.clone())),
        store,
    )
}

#[tokio::test]
async fn a_deferred_call_whose_result_was_not_stored_does_not_run_again() {
    let busy = json!({ "error": { "status": 529, "body": { "type": "error", "error": { "type": "overloaded_error", "message": "busy" } } } });
    let (lab, store) = lab(&json!([
        says(&[call("later", "a"), call("weather", "b")]),
        busy,
        says(&[text("One.")]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "go").await;
    store.failures.store(1, Ordering::SeqCst);
    chat.messages()
        .push(user(json!([result(&reply.ids()[0], "rain")])));
    assert_eq!(chat.ask(&lab).await.status.as_u16(), 529);
    chat.headers.push(("x-stainless-retry-count", "1".to_owned()));
    assert_eq!(chat.ask(&lab).await.text(), "One.");
    assert_eq!(lab.runs.begun(), ["later a"]);
    assert!(lab.last_seen().to_string().contains("later of a"));
    lab.assert_well_formed();
}

#[tokio::test]
async fn a_turn_that_was_not_stored_is_resumed_with_what_ran() {
    for failures in 1..=2 {
        let (lab, store) = lab(&json!([
            says(&[call("later", "a"), call("weather", "b")]),
            says(&[text("One.")]),
            says(&[text("Two.")]),
        ]));
        let mut chat = Chat::new(true);
        let reply = chat.say(&lab, "go").await;
        store.failures.store(failures, Ordering::SeqCst);
        assert_eq!(chat.answer(&lab, &reply).await.text(), "One.");
        assert_eq!(chat.say(&lab, "and?").await.text(), "Two.");
        assert_eq!(lab.runs.begun(), ["later a"], "{failures}");
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn state_of_deferred_calls_that_is_not_stored_is_that_of_the_next_branch() {
    let todos = json!([{ "content": "first", "status": "pending", "activeForm": "first" }]);
    let write = json!({ "type": "tool_use", "id": "up_w", "name": "TodoWrite", "input": { "todos": todos } });
    let read = |id: &str| json!({ "type": "tool_use", "id": id, "name": "TodoRead", "input": {} });
    let turns = json!([
        says(&[write, call("weather", "a")]),
        says(&[read("up_1")]),
        says(&[text("One.")]),
        says(&[read("up_2")]),
        says(&[text("Two.")]),
    ]);
    let store = Failing::default();
    let script = json!({ "order": "requests", "turns": turns });
    let lab = Lab::with(script, |gateway| {
        gateway
            .with_store(store.clone())
            .with_deferred(["TodoWrite"])
            .unwrap()
    });
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    // The results of the deferred call, and the turn.
    store.failures.store(2, Ordering::SeqCst);
    for answer in ["one", "two"] {
        let mut branch = chat.clone();
        branch.say(&lab, json!([result(&reply.ids()[0], answer)])).await;
        let sent = lab.last_seen();
        let list = sent["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(list.contains("first"), "{answer}: {list}");
    }
}
