//! The size that the store in memory reports, compared with the allocated bytes.
//!
//! A separate suite, since it counts the bytes of the whole process.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};
use tool_builtins::todo::todo_write;
use tool_gateway::session::Digest;
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::session::record::{Session, SessionId};
use tool_gateway::session::store::{
    FoundEntries, Lookup, Reach, SaveOutcome, SavedTurn, SessionStore, StoreFuture, StoreSize, StoredTurn,
};
use tool_gateway::upstream::ScriptUpstream;
use tool_gateway::{Gateway, Offer};
use tool_runtime::{ToolRegistry, tool};
use tower::ServiceExt as _;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Repeat a letter.
#[tool(read_only)]
async fn letters(
    /// Number of letters.
    count: usize,
) -> String {
    "x".repeat(count)
}

/// A store that outlives its gateway.
#[derive(Clone)]
struct Kept(Arc<MemoryStore>);

impl SessionStore for Kept {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        self.0.find(client, lookup)
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        self.0.load(client, ids)
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.0.session(client, id)
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        self.0.save(client, saved)
    }

    fn reach(&self) -> Reach {
        self.0.reach()
    }

    fn size(&self) -> StoreFuture<'_, Option<StoreSize>> {
        self.0.size()
    }

    fn name(&self) -> String {
        self.0.name()
    }
}

/// Number of conversations.
const TURNS: usize = 300;

/// Begins conversations with a script. Returns the size that their store reports, and the bytes that are allocated for it.
async fn sizes(turns: Value) -> (u64, u64) {
    let store = Kept(Arc::new(MemoryStore::new()));
    let mut registry = ToolRegistry::new();
    registry.register::<letters>().unwrap();
    registry.register::<todo_write>().unwrap();
    let upstream = ScriptUpstream::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let gateway = Gateway::new(registry, upstream).with_offer(Offer::Always);
    let app = gateway.with_store(store.clone()).router();
    for number in 0..TURNS {
        begin(&app, number).await;
    }
    drop(app);
    let stated = store.size().await.unwrap().unwrap();
    assert_eq!(stated.turns, TURNS);
    let with_store = HEAP.current_usage();
    drop(store);
    (stated.bytes, (with_store - HEAP.current_usage()) as u64)
}

async fn begin(app: &Router, number: usize) {
    let body = json!({
        "model": "demo",
        "max_tokens": 9,
        "messages": [{ "role": "user", "content": format!("Conversation {number}") }],
        "tools": [{ "name": "get_weather", "input_schema": { "type": "object" } }],
        "metadata": { "user_id": json!({ "session_id": format!("session {number}") }).to_string() },
    });
    let request = Request::post("/v1/messages");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    to_bytes(response.into_body(), usize::MAX).await.unwrap();
}

#[tokio::test]
async fn memory_store_reports_its_memory() {
    let call = |name: &str, input: Value| json!({ "type": "tool_use", "id": format!("toolu_{name}"), "name": name, "input": input });
    let text = |letters: usize| json!({ "content": [{ "type": "text", "text": "y".repeat(letters) }] });
    let todos: Vec<_> = (0..20)
        .map(|number| json!({ "content": format!("Task {number}"), "status": "pending", "activeForm": format!("Doing task {number}") }))
        .collect();
    let scripts = [
        ("texts", json!([text(10)])),
        (
            "short hidden rounds",
            json!([{ "content": [call("letters", json!({ "count": 10 }))] }, text(10)]),
        ),
        (
            "long hidden rounds",
            json!([{ "content": [call("letters", json!({ "count": 20_000 }))] }, text(1_000)]),
        ),
        (
            "suspended turns",
            json!([{ "content": [call("get_weather", json!({ "city": "Paris" })), call("letters", json!({ "count": 100 }))] }]),
        ),
        (
            "states",
            json!([{ "content": [call("TodoWrite", json!({ "todos": todos }))] }, text(10)]),
        ),
    ];
    for (name, script) in scripts {
        let (stated, allocated) = sizes(script).await;
        assert!(
            stated * 10 > allocated * 7 && stated * 10 < allocated * 13,
            "{name}: {stated} bytes stated, {allocated} allocated"
        );
    }
}
