//! State of sessions: all tools of a registry share it, and it is stored with each turn.

use std::collections::HashMap;
use std::path::PathBuf;
#[cfg(all(unix, feature = "redis"))]
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tool_gateway::Gateway;
use tool_gateway::session::file::FileStore;
use tool_runtime::{SessionState, State, tool, tool_set};

use crate::failing_store::FailingStore;
#[cfg(all(unix, feature = "redis"))]
use crate::gateway_processes;
use crate::lab::{
    Chat, Lab, Runs, assistant, call, has_two_processes, registry, result, says, slow_call, text, user,
};
use crate::protocol::Scripted;
#[cfg(all(unix, feature = "redis"))]
use crate::redis_server::RedisServer;
use crate::reply::Reply;
use crate::test_script::TestScript;

/// Keys that were noted in a session.
#[derive(Default, Serialize, Deserialize)]
struct Notes(Vec<String>);

/// Note a key, and return all that were noted.
#[tool]
async fn note(
    /// The key.
    key: String,
    /// Milliseconds that it takes after the key was noted.
    #[arg(default = 0)]
    ms: u64,
    notes: SessionState<Notes>,
    runs: State<Runs>,
) -> String {
    runs.begin(format!("note {key}"));
    notes.lock().0.push(key.clone());
    tokio::time::sleep(Duration::from_millis(ms)).await;
    runs.end(format!("note {key}"));
    notes.lock().0.join(",")
}

/// JSON does not support such keys.
#[derive(Default, Serialize, Deserialize)]
struct Grid(HashMap<(u8, u8), u8>);

/// Store an unserializable value in the session, and note a key.
#[tool]
async fn spoil(
    /// The key.
    key: String,
    notes: SessionState<Notes>,
    grid: SessionState<Grid>,
) -> &'static str {
    notes.lock().0.push(key);
    grid.lock().0.insert((1, 2), 3);
    "spoilt"
}

/// Builds a gateway with both tools, whose upstream answers in the order of the requests.
fn lab(turns: Value, configure: impl FnOnce(Gateway) -> Gateway) -> Lab {
    #[cfg(all(unix, feature = "redis"))]
    {
        lab_over(turns, gateway_processes::redis(), 2, configure)
    }
    #[cfg(not(all(unix, feature = "redis")))]
    {
        in_this_process(&script(turns), |runs, upstream| {
            gateway(runs, upstream, configure)
        })
    }
}

/// Builds such a gateway in this number of processes over Redis.
#[cfg(all(unix, feature = "redis"))]
fn lab_over(
    turns: Value,
    redis: Option<Arc<RedisServer>>,
    count: usize,
    configure: impl FnOnce(Gateway) -> Gateway,
) -> Lab {
    let script = script(turns);
    let gateway = |runs: &Runs, upstream: Scripted| gateway(runs, upstream, configure);
    gateway_processes::lab(&script, redis, count, gateway)
        .unwrap_or_else(|gateway| in_this_process(&script, gateway))
}

fn script(turns: Value) -> TestScript {
    let script = json!({ "turns": turns, "order": "requests" });
    TestScript::from_json(&script.to_string()).unwrap()
}

fn gateway(runs: &Runs, upstream: Scripted, configure: impl FnOnce(Gateway) -> Gateway) -> Gateway {
    let mut registry = registry(runs).with_state(runs.clone());
    registry.register_all(tool_set![note, spoil]).unwrap();
    configure(Gateway::new(registry, upstream))
}

fn in_this_process(script: &TestScript, gateway: impl FnOnce(&Runs, Scripted) -> Gateway) -> Lab {
    let runs = Runs::default();
    Lab {
        app: gateway(&runs, Scripted::new(script)).router(),
        script: script.clone(),
        runs,
    }
}

fn chat() -> Chat {
    let mut chat = Chat::new(true);
    let tools = chat.body["tools"].as_array_mut().unwrap();
    tools.extend([json!({ "name": "note" }), json!({ "name": "spoil" })]);
    chat
}

/// Returns the results of the last calls in the model's view.
fn results(lab: &Lab) -> Vec<String> {
    let sent = lab.last_seen();
    let blocks = sent["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let results = blocks.as_array().unwrap().iter();
    results
        .filter(|block| block["type"] == "tool_result")
        .map(|block| block["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Builds rounds that each note a key, and the end.
fn noting<const N: usize>(keys: [&str; N]) -> Value {
    let turns = keys.map(|key| [says(&[call("note", key)]), says(&[text("Noted.")])]);
    turns.as_flattened().into()
}

#[tokio::test]
async fn a_branch_starts_from_the_state_of_its_parent() {
    let lab = lab(noting(["a", "b", "c", "d"]), |gateway| gateway);
    let mut chat = chat();
    chat.say(&lab, "one").await;
    assert_eq!(results(&lab), ["a"]);
    let mut branch = chat.clone();
    chat.say(&lab, "two").await;
    assert_eq!(results(&lab), ["a,b"]);
    branch.say(&lab, "another two").await;
    assert_eq!(results(&lab), ["a,c"]);
    chat.say(&lab, "three").await;
    assert_eq!(results(&lab), ["a,b,d"]);
}

/// No tool was called before the branch, so its state is empty, and not the latest state of the session.
#[tokio::test]
async fn a_branch_from_a_turn_without_state_starts_empty() {
    let mut turns = vec![says(&[text("Hello.")])];
    turns.extend(noting(["a", "b"]).as_array().unwrap().clone());
    let lab = lab(turns.into(), |gateway| gateway);
    let mut chat = chat();
    chat.say(&lab, "hi").await;
    let mut branch = chat.clone();
    chat.say(&lab, "one").await;
    branch.say(&lab, "another one").await;
    assert_eq!(results(&lab), ["b"]);
}

#[tokio::test]
async fn two_sessions_never_share_state() {
    let lab = lab(noting(["a", "b", "c", "d"]), |gateway| gateway);
    let (mut one, mut other) = (chat(), chat());
    one.say(&lab, "go").await;
    other.say(&lab, "go!").await;
    assert_eq!(results(&lab), ["b"]);
    one.say(&lab, "on").await;
    assert_eq!(results(&lab), ["a,c"]);
    other.say(&lab, "on").await;
    assert_eq!(results(&lab), ["b,d"]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_share_state_run_in_order_and_others_concurrently() {
    let round = says(&[
        slow_call("note", "a", 60),
        slow_call("lookup", "x", 5),
        slow_call("note", "b", 0),
    ]);
    let lab = lab(json!([round, says(&[text("Noted.")])]), |gateway| gateway);
    chat().say(&lab, "go").await;
    assert_eq!(results(&lab), ["a", "lookup of x", "a,b"]);
    assert_eq!(lab.runs.ended(), ["lookup x", "note a", "note b"]);
}

/// No effect of the call is stored, and the earlier state stays.
#[tokio::test]
async fn a_state_that_cannot_be_stored_is_an_error() {
    let turns = json!([
        says(&[call("note", "a")]),
        says(&[text("Noted.")]),
        says(&[call("spoil", "b"), call("note", "c"), call("write", "x")]),
        says(&[call("note", "d")]),
        says(&[text("Noted.")]),
    ]);
    let lab = lab(turns, |gateway| gateway);
    let mut chat = chat();
    chat.say(&lab, "one").await;
    let mut spoilt = chat.clone();
    let reply = spoilt.say(&lab, "two").await;
    let (kind, message) = reply.error();
    assert_eq!(
        (kind, message),
        (
            "api_error",
            "the tool `spoil` left the session in a state that cannot be stored, so the turn was not stored"
        )
    );
    // The later call did not begin; the concurrent call did.
    assert_eq!(lab.runs.begun(), ["note a", "write x"]);
    chat.say(&lab, "instead").await;
    assert_eq!(results(&lab), ["a,d"]);
}

/// The call is not repeated, with any store.
#[tokio::test]
async fn a_deferred_call_whose_state_cannot_be_stored_is_interrupted() {
    for is_durable in [false, true] {
        let turns = json!([
            says(&[call("spoil", "a"), call("weather", "w")]),
            says(&[text("Sorry.")])
        ]);
        let lab = lab(turns, |gateway| {
            let gateway = gateway.with_deferred(["spoil"]).unwrap();
            if is_durable {
                gateway.with_store(FailingStore::durable())
            } else {
                gateway
            }
        });
        let mut chat = chat();
        let suspended = chat.say(&lab, "go").await;
        chat.messages()
            .push(user(json!([result(&suspended.ids()[0], "rain")])));
        let reply = chat.ask(&lab).await;
        assert_eq!(reply.error().0, "api_error", "{}", reply.message);
        let retry = chat.ask(&lab).await;
        assert_eq!(retry.text(), "Sorry.", "{}", retry.message);
        assert!(
            results(&lab)[0].contains("was interrupted"),
            "{:?}",
            results(&lab)
        );
        lab.assert_well_formed();
    }
}

/// A file that several processes use in turn.
struct File {
    folder: PathBuf,
    /// Store in place of the file.
    #[cfg(all(unix, feature = "redis"))]
    redis: Option<Arc<RedisServer>>,
}

impl File {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self {
            folder,
            #[cfg(all(unix, feature = "redis"))]
            redis: gateway_processes::redis(),
        }
    }

    fn open(&self, turns: Value) -> Lab {
        let store = FileStore::open(self.folder.join("sessions.redb")).unwrap();
        let configure = |gateway: Gateway| gateway.with_store(store);
        #[cfg(all(unix, feature = "redis"))]
        {
            lab_over(turns, self.redis.clone(), 1, configure)
        }
        #[cfg(not(all(unix, feature = "redis")))]
        {
            lab(turns, configure)
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs a conversation in a separate process, which crashes after the answer, or earlier when `crash` is ready.
fn process<T: Send + 'static>(
    lab: Lab,
    work: impl Future<Output = T> + Send + 'static,
    crash: impl Future<Output = ()>,
) -> (Option<T>, Lab) {
    let runtime = Runtime::new().unwrap();
    let work = runtime.spawn(work);
    let answer = runtime.block_on(async {
        tokio::select! {
            answer = work => Some(answer.unwrap()),
            () = crash => None,
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
    let mut lab = lab;
    lab.app = axum::Router::new();
    (answer, lab)
}

fn ask(lab: &Lab, chat: &Chat, headers: &'static [(&str, &str)]) -> impl Future<Output = Reply> + use<> {
    let (app, body) = (lab.app.clone(), chat.body.clone());
    async move {
        let request = crate::lab::post("/v1/messages", body, headers);
        Reply::read(tower::ServiceExt::oneshot(app, request).await.unwrap()).await
    }
}

/// Returns the number of writes of progress.
async fn saves_of_progress(app: &axum::Router) -> usize {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let response = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap();
    let metrics = crate::reply::bytes(response.into_body()).await;
    let metrics = std::str::from_utf8(&metrics).unwrap();
    let count = "tool_gateway_store_seconds_count{operation=\"append\"} ";
    let count = metrics.lines().find_map(|line| line.strip_prefix(count));
    count.map_or(0, |count| count.parse().unwrap())
}

#[test]
fn state_survives_a_restart_and_a_move_to_another_process() {
    let file = File::new("state-restart");
    let mut chat = chat();
    // The process ends while the client has an open call.
    let todos = json!([{ "content": "Ask", "status": "pending", "activeForm": "Asking" }]);
    let write = json!({ "type": "tool_use", "id": "up_t", "name": "TodoWrite", "input": { "todos": todos } });
    let lab = file.open(json!([says(&[call("note", "a"), write, call("weather", "w")])]));
    chat.messages().push(user("go"));
    let request = ask(&lab, &chat, &[]);
    let (answer, _) = process(lab, request, std::future::pending());
    let answer = answer.unwrap();
    chat.messages().push(assistant(answer.message["content"].clone()));

    let lab = file.open(json!([says(&[call("note", "b")]), says(&[text("Noted.")])]));
    chat.messages()
        .push(user(json!([result(&answer.ids()[0], "rain")])));
    let request = ask(&lab, &chat, &[]);
    let (answer, lab) = process(lab, request, std::future::pending());
    assert_eq!(results(&lab), ["a,b"]);
    chat.messages()
        .push(assistant(answer.unwrap().message["content"].clone()));

    let read = json!({ "type": "tool_use", "id": "up_r", "name": "TodoRead", "input": {} });
    let lab = file.open(json!([says(&[call("note", "c"), read]), says(&[text("Noted.")])]));
    chat.messages().push(user("on"));
    let request = ask(&lab, &chat, &[]);
    let (_, lab) = process(lab, request, std::future::pending());
    let list = json!({ "todos": todos }).to_string();
    assert_eq!(results(&lab), ["a,b,c".to_owned(), list]);
}

/// The call in which the process ends has noted its key, and has no result.
#[test]
fn an_interrupted_turn_leaves_the_state_of_its_last_stored_call() {
    let file = File::new("state-crash");
    let mut chat = chat();
    let lab = file.open(json!([
        says(&[call("note", "a")]),
        says(&[call("note", "b"), slow_call("note", "c", 60_000)]),
    ]));
    chat.messages().push(user("go"));
    let request = ask(&lab, &chat, &[]);
    let (app, runs) = (lab.app.clone(), lab.runs.clone());
    // The request, and each round and the result of its call. In Redis, the claim has recorded the request.
    let saves = if has_two_processes() { 4 } else { 5 };
    let crash = async move {
        while runs.begun().len() < 3 || saves_of_progress(&app).await < saves {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (answer, lab) = process(lab, request, crash);
    assert!(answer.is_none(), "the last call runs");
    assert_eq!(lab.runs.begun(), ["note a", "note b", "note c"]);

    let lab = file.open(json!([says(&[call("note", "d")]), says(&[text("Noted.")])]));
    let request = ask(&lab, &chat, &[("x-stainless-retry-count", "1")]);
    let (answer, lab) = process(lab, request, std::future::pending());
    assert_eq!(answer.unwrap().text(), "Noted.");
    let first = &lab.seen()[0];
    let interrupted = first["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(
        interrupted.contains("a,b") && interrupted.contains("was interrupted"),
        "{interrupted}"
    );
    assert_eq!(results(&lab), ["a,b,d"]);
}
