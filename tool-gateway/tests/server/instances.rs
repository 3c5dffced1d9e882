//! Two gateways over one store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use tool_builtins::files;
use tool_builtins::workspace::Workspace;
use tool_gateway::Gateway;
use tool_gateway::session::Digest;
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::session::record::{Session, SessionId};
use tool_gateway::session::store::{
    Appended, FoundEntries, Lease, LeaseOutcome, LeaseRequest, Lookup, Progress, Reach, SaveOutcome,
    SavedTurn, SessionStore, StoreError, StoreFuture, StoredTurn,
};
use tool_runtime::ToolRegistry;
use tower::ServiceExt as _;

use crate::lab::{Chat, Lab, Runs, call, registry, result, says, slow_call, text, user};
use crate::protocol::Scripted;
use crate::reply::Reply;
use crate::test_script::TestScript;

const RETRY: (&str, &str) = ("x-stainless-retry-count", "1");

/// A gateway's connection to a store of several gateways.
#[derive(Clone)]
struct SharedStore {
    store: Arc<MemoryStore>,
    /// Whether the connection is lost.
    is_cut: Arc<AtomicBool>,
}

impl SharedStore {
    fn run<'a, T: Send + 'a>(&'a self, done: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Box::pin(async { Err(StoreError("no connection".to_owned())) });
        }
        done
    }
}

impl SessionStore for SharedStore {
    fn find<'a>(&'a self, client: Digest, lookup: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        self.run(Box::pin(async move { self.store.find(client, lookup).await }))
    }

    fn load<'a>(&'a self, client: Digest, ids: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        self.run(Box::pin(async move { self.store.load(client, ids).await }))
    }

    fn session<'a>(&'a self, client: Digest, id: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        self.run(Box::pin(async move { self.store.session(client, id).await }))
    }

    fn save(&self, client: Digest, saved: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        self.run(Box::pin(async move { self.store.save(client, saved).await }))
    }

    fn reach(&self) -> Reach {
        Reach::Shared
    }

    fn append(&self, client: Digest, progress: Progress) -> StoreFuture<'_, Appended> {
        self.run(Box::pin(async move { self.store.append(client, progress).await }))
    }

    fn claim<'a>(&'a self, client: Digest, request: &'a LeaseRequest<'a>) -> StoreFuture<'a, LeaseOutcome> {
        self.run(Box::pin(async move { self.store.claim(client, request).await }))
    }

    fn renew(&self, client: Digest, lease: Lease, has_client: bool) -> StoreFuture<'_, bool> {
        self.run(Box::pin(async move {
            self.store.renew(client, lease, has_client).await
        }))
    }

    fn release(&self, client: Digest, lease: Lease, is_seen: bool) -> StoreFuture<'_, ()> {
        self.run(Box::pin(async move {
            self.store.release(client, lease, is_seen).await
        }))
    }

    fn secret(&self) -> Option<[u8; 32]> {
        Some([9; 32])
    }

    fn name(&self) -> String {
        "shared".to_owned()
    }
}

/// Two gateways with one upstream and one record of the calls.
struct Instances {
    one: Lab,
    two: Lab,
    /// Whether the first gateway has lost the store.
    is_cut: Arc<AtomicBool>,
}

impl Instances {
    fn new(turns: &[Value]) -> Self {
        crate::subscriber::keep();
        let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
        let (runs, store) = (Runs::default(), Arc::<MemoryStore>::default());
        let lab = |is_cut: &Arc<AtomicBool>| {
            let store = SharedStore {
                store: Arc::clone(&store),
                is_cut: Arc::clone(is_cut),
            };
            let gateway = Gateway::new(registry(&runs), Scripted::new(&script));
            Lab {
                app: gateway
                    .with_deferred(["later"])
                    .unwrap()
                    .with_store(store)
                    .router(),
                script: script.clone(),
                runs: runs.clone(),
            }
        };
        let is_cut = Arc::<AtomicBool>::default();
        Self {
            one: lab(&is_cut),
            two: lab(&Arc::default()),
            is_cut,
        }
    }
}

fn go() -> Chat {
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    chat
}

async fn wait(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

async fn retry(lab: &Lab, chat: &Chat) -> Reply {
    lab.ask_with(&chat.body, &[RETRY]).await
}

#[tokio::test(start_paused = true)]
async fn turn_that_was_suspended_on_one_gateway_is_resumed_on_another() {
    let turns = [
        says(&[text("One."), call("lookup", "a"), call("weather", "b")]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
    ];
    let instances = Instances::new(&turns);
    let mut chat = Chat::new(false);
    let suspended = chat.say(&instances.one, "go").await;
    let resumed = chat.answer(&instances.two, &suspended).await;
    assert_eq!(
        (resumed.text(), resumed.session().1.as_str()),
        ("Two.".to_owned(), "minted")
    );
    assert_eq!(resumed.session().0, suspended.session().0);
    let last = chat.say(&instances.one, "next").await;
    assert_eq!(
        (last.text(), last.session().0),
        ("Three.".to_owned(), suspended.session().0)
    );
    assert_eq!(instances.one.runs.begun(), ["lookup a"]);
    instances.one.assert_well_formed();
    instances.one.assert_one_prefix();
}

/// One request to the upstream, one run, and two equal answers.
#[tokio::test(start_paused = true)]
async fn retry_on_another_gateway_gets_the_answer_of_the_running_turn() {
    let instances = Instances::new(&[says(&[slow_call("write", "a", 7_000)]), says(&[text("Done.")])]);
    let chat = go();
    let later = async {
        wait(100).await;
        retry(&instances.two, &chat).await
    };
    let (first, second) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(first.text(), "Done.");
    assert_eq!(
        (&first.message, first.session().0),
        (&second.message, second.session().0)
    );
    assert_eq!(instances.one.runs.begun(), ["write a"]);
    assert_eq!(instances.one.seen().len(), 2);
    // After the answer, too.
    assert_eq!(retry(&instances.two, &chat).await.message, first.message);
    assert_eq!(instances.one.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn equal_requests_without_a_sign_of_a_retry_are_two_turns() {
    let instances = Instances::new(&[says(&[slow_call("write", "a", 7_000)]), says(&[text("Done.")])]);
    let chat = go();
    let (first, second) = tokio::join!(chat.ask(&instances.one), chat.ask(&instances.two));
    assert_eq!(
        (first.text(), second.text()),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_ne!(first.session().0, second.session().0);
    assert_eq!(instances.one.runs.begun(), ["write a", "write a"]);
}

#[tokio::test(start_paused = true)]
async fn deferred_call_runs_once_for_requests_on_two_gateways() {
    let turns = [
        says(&[slow_call("later", "a", 1_000), call("weather", "b")]),
        says(&[text("Done.")]),
    ];
    let instances = Instances::new(&turns);
    let mut chat = Chat::new(false);
    let suspended = chat.say(&instances.one, "go").await;
    chat.messages()
        .push(json!({ "role": "user", "content": [result(&suspended.ids()[0], "fine")] }));
    let (first, second) = tokio::join!(chat.ask(&instances.one), chat.ask(&instances.two));
    assert_eq!(
        (first.text(), second.text()),
        ("Done.".to_owned(), "Done.".to_owned())
    );
    assert_eq!(instances.one.runs.begun(), ["later a"]);
}

/// The owner is hung, or cut off from the store. No call that must not be repeated runs twice.
#[tokio::test(start_paused = true)]
async fn retry_continues_after_the_lease_of_a_gateway_that_was_cut_off() {
    let instances = Instances::new(&[
        says(&[slow_call("write", "a", 25_000)]),
        says(&[slow_call("write", "b", 1)]),
        says(&[text("Done.")]),
    ]);
    let chat = go();
    let later = async {
        while instances.one.runs.begun().is_empty() {
            wait(10).await;
        }
        instances.is_cut.store(true, Ordering::SeqCst);
        retry(&instances.two, &chat).await
    };
    let (first, second) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(second.text(), "Done.", "{}", second.message);
    assert!([503, 529].contains(&first.status.as_u16()), "{}", first.message);
    assert_eq!(instances.one.runs.begun(), ["write a", "write b"]);
    let seen = instances.two.seen();
    assert!(seen[1].to_string().contains("interrupted"), "{}", seen[1]);
}

/// The retry is repeated by SDKs.
#[tokio::test(start_paused = true)]
async fn retry_that_waits_too_long_for_another_gateway_is_a_conflict() {
    let instances = Instances::new(&[says(&[slow_call("write", "a", 50_000)]), says(&[text("Done.")])]);
    let chat = go();
    let later = async {
        wait(100).await;
        let refused = retry(&instances.two, &chat).await;
        assert_eq!(
            (refused.status.as_u16(), refused.error().0),
            (409, "conflict_error")
        );
        assert_eq!(refused.headers["retry-after"], "2");
        retry(&instances.two, &chat).await
    };
    let (first, second) = tokio::join!(chat.ask(&instances.one), later);
    assert_eq!(
        (first.text(), first.message),
        ("Done.".to_owned(), second.message)
    );
    assert_eq!(instances.one.runs.begun(), ["write a"]);
}

/// A session may move to a gateway with another folder.
#[tokio::test]
async fn shared_store_needs_a_shared_workspace() {
    for (is_shared, expected) in [(false, &[][..]), (true, &["LS", "Read"])] {
        let workspace = Workspace::open(std::env::temp_dir()).unwrap();
        let registry = ToolRegistry::new().with_state(workspace);
        let registry = registry.with_tools(files::reading_tools()).unwrap();
        let store = SharedStore {
            store: Arc::default(),
            is_cut: Arc::default(),
        };
        let script =
            TestScript::from_json(&json!({ "turns": [says(&[text("Done.")])] }).to_string()).unwrap();
        let mut gateway = Gateway::new(registry, Scripted::new(&script)).with_store(store);
        if is_shared {
            gateway = gateway.with_shared_workspace();
        }
        let request = Request::get("/v1/tools").body(Body::empty()).unwrap();
        let response = gateway.router().oneshot(request).await.unwrap();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let tools: Value = serde_json::from_slice(&body).unwrap();
        let tools = tools["data"].as_array().unwrap();
        let mut names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{is_shared}");
    }
}
