//! Offloading: long results are written to files of the session, the model reads them back, and they are removed after the session.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_gateway::session::Digest;
use tool_gateway::session::file::FileStore;
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::session::record::{Session, SessionId};
use tool_gateway::session::store::{
    FoundEntries, Lookup, Reach, SaveOutcome, SavedTurn, SessionStore, StoreError, StoreFuture, StoredTurn,
};
use tool_gateway::{Gateway, Offer, Offload, Ownership};
use tool_runtime::{Context, ToolDefinition, ToolRegistry};

use crate::failing_store::FailingStore;
use crate::lab::{Chat, Lab, RETRY, Runs, call, registry, says, text, user};
use crate::test_script::TestScript;

/// A directory that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-offload-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }

    /// Returns the files of a session.
    fn files(&self, session: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.0.join(session)) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the text of the tool `long`, which exceeds the threshold, on one line.
fn long_text() -> String {
    let items: Vec<_> = (0..2_000).map(|n| format!("item {n};")).collect();
    items.concat()
}

/// Builds the tools of the lab, and a tool with a long result.
fn tools(runs: &Runs) -> ToolRegistry {
    let mut registry = registry(runs);
    let schema = json!({ "type": "object", "properties": { "key": { "type": "string" } } });
    let mut definition = ToolDefinition::new("long", "Answers at length.", schema);
    definition.hints.read_only = Some(true);
    registry
        .register_dynamic(definition, async |_: Value, _: Context| long_text())
        .unwrap();
    registry
}

fn lab(folder: &Folder, turns: Value, configure: impl FnOnce(Gateway) -> Gateway) -> Lab {
    let script = json!({ "turns": turns, "order": "requests" });
    let script = TestScript::from_json(&script.to_string()).unwrap();
    let runs = Runs::default();
    let gateway = Gateway::new(tools(&runs), script.clone());
    let gateway = gateway.with_offload(Offload::new(&folder.0)).unwrap();
    Lab {
        app: configure(gateway).router(),
        script,
        runs,
    }
}

/// Builds a client that declares these tools of the gateway.
fn chat(names: &[&str]) -> Chat {
    let mut chat = Chat::new(false);
    chat.body["tools"] = names.iter().map(|name| json!({ "name": name })).collect();
    chat
}

/// Builds a call of `ReadOffloaded` with the id `up_KEY`.
fn read(key: &str, input: Value) -> Value {
    json!({ "type": "tool_use", "id": format!("up_{key}"), "name": "ReadOffloaded", "input": input })
}

/// Returns the contents of the results in the last message that the upstream received.
fn results(lab: &Lab) -> Vec<String> {
    let body = lab.last_seen();
    let blocks = body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let blocks = blocks.as_array().unwrap().iter();
    blocks
        .map(|block| block["content"].as_str().unwrap().to_owned())
        .collect()
}

fn names(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// R-GW-20, R-GW-21
#[tokio::test]
async fn a_long_result_goes_to_a_file_that_the_model_reads_back() {
    let folder = Folder::new("reads-back");
    let turns = json!([
        says(&[call("long", "a"), call("lookup", "b")]),
        says(&[
            read("c", json!({ "id": "up_a", "offset": 10, "limit": 20 })),
            read("d", json!({ "id": "up_a", "pattern": "item 1999" })),
            read("e", json!({ "id": "up_a", "limit": 20_000 })),
        ]),
        says(&[text("Done.")]),
        says(&[text("Again.")]),
    ]);
    let lab = lab(&folder, turns, |gateway| gateway);
    let mut chat = chat(&["long", "lookup"]);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.text(), "Done.");
    let (session, _) = reply.session();
    let file = folder.0.join(&session).join("up_a.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), long_text());
    let seen = lab.seen();
    assert_eq!(
        seen[1]["messages"][2]["content"][0]["content"],
        format!("[Tool result offloaded to file: {}]", file.display())
    );
    assert_eq!(seen[1]["messages"][2]["content"][1]["content"], "lookup of b");
    let long = long_text();
    assert_eq!(
        results(&lab),
        [
            format!(
                "[characters 10 to 30 of {}; continue with offset 30]\n{}",
                long.len(),
                &long[10..30]
            ),
            format!(
                "[1 match from offset 0 to {0}, the end]\noffset {1}: \"{2}\"",
                long.len(),
                long.len() - 10,
                &long[long.len() - 50..]
            ),
            format!("[characters 0 to {0} of {0}, the end]\n{long}", long.len()),
        ],
        "answers of ReadOffloaded are not offloaded, however long"
    );
    assert_eq!(folder.files(&session), ["up_a.md"]);
    // The true transcript has the pointer in the next request, too.
    chat.say(&lab, "and now").await;
    assert!(
        lab.last_seen()["messages"]
            .to_string()
            .contains("offloaded to file")
    );
    lab.assert_well_formed();
    lab.assert_one_prefix();
}

/// R-GW-21
#[tokio::test]
async fn the_tool_is_offered_in_every_request_and_is_the_same_in_each() {
    for offer in [Offer::Declared, Offer::Always] {
        let folder = Folder::new("offered");
        let turns = json!([
            says(&[text("One.")]),
            says(&[call("long", "a")]),
            says(&[text("Two.")]),
            says(&[text("Three.")])
        ]);
        let lab = lab(&folder, turns, |gateway| gateway.with_offer(offer));
        let mut chat = chat(&["long", "weather"]);
        chat.body["tools"][1]["input_schema"] = json!({ "type": "object" });
        for message in ["one", "two", "three"] {
            chat.say(&lab, message).await;
        }
        let tools: Vec<_> = lab.seen().iter().map(|body| body["tools"].to_string()).collect();
        assert_eq!(tools.len(), 4);
        assert!(tools.iter().all(|other| *other == tools[0]));
        assert_eq!(
            names(&lab.seen()[0])
                .iter()
                .filter(|name| **name == "ReadOffloaded")
                .count(),
            1
        );
        lab.assert_one_prefix();
    }
    // Also if the client has no tools.
    let folder = Folder::new("offered-alone");
    let lab = lab(&folder, json!([says(&[text("One.")])]), |gateway| gateway);
    let mut chat = chat(&[]);
    chat.body.as_object_mut().unwrap().shift_remove("tools");
    chat.say(&lab, "one").await;
    assert_eq!(names(&lab.last_seen()), ["ReadOffloaded"]);
}

/// A result that the model cannot read back is not offloaded.
///
/// R-GW-22
#[tokio::test]
async fn results_are_complete_if_the_client_declares_the_tool() {
    let own = json!({ "name": "ReadOffloaded", "description": "Mine.", "input_schema": { "type": "object", "required": ["path"] } });
    let turns = || json!([says(&[call("long", "a")]), says(&[text("Done.")])]);
    let (declares, external) = (Folder::new("declares"), Folder::new("external"));
    let is_external = |gateway: Gateway| {
        gateway
            .with_ownership(Ownership::by_schema().with_external(["ReadOffloaded"]))
            .unwrap()
    };
    for (folder, lab, tool) in [
        (&declares, lab(&declares, turns(), |gateway| gateway), Some(own)),
        (&external, lab(&external, turns(), is_external), None),
    ] {
        let mut chat = chat(&["long"]);
        chat.body["tools"].as_array_mut().unwrap().extend(tool.clone());
        let (session, _) = chat.say(&lab, "go").await.session();
        assert_eq!(results(&lab), [long_text()]);
        assert_eq!(folder.files(&session), [""; 0]);
        let sent = lab.seen()[0]["tools"].as_array().unwrap().get(1).cloned();
        assert_eq!(sent, tool, "the client's own, as it was sent");
    }
    // The model can read it with another name of the tool.
    let folder = Folder::new("alias");
    let aliased = |gateway: Gateway| {
        let ownership = Ownership::by_schema().with_alias("read_file", "ReadOffloaded");
        gateway.with_ownership(ownership).unwrap()
    };
    let lab = lab(&folder, turns(), aliased);
    let (session, _) = chat(&["long", "read_file"]).say(&lab, "go").await.session();
    assert_eq!(folder.files(&session), ["up_a.md"]);
    assert_eq!(names(&lab.seen()[0]), ["long", "read_file"]);
}

/// R-GW-20
#[tokio::test]
async fn threshold_and_excluded_tools_are_set() {
    let folder = Folder::new("settings");
    let turns = json!([
        says(&[call("long", "a"), call("lookup", "b")]),
        says(&[text("Done.")])
    ]);
    let script = json!({ "turns": turns, "order": "requests" });
    let script = TestScript::from_json(&script.to_string()).unwrap();
    let offload = Offload::new(&folder.0).with_threshold(5).excluding(["long"]);
    let gateway = Gateway::new(tools(&Runs::default()), script.clone());
    let lab = Lab {
        app: gateway.with_offload(offload).unwrap().router(),
        script,
        runs: Runs::default(),
    };
    let (session, _) = chat(&["long", "lookup"]).say(&lab, "go").await.session();
    assert_eq!(folder.files(&session), ["up_b.md"]);
    assert_eq!(results(&lab)[0], long_text());
}

#[tokio::test]
async fn invalid_offload_settings_are_errors_at_startup() {
    let gateway = || Gateway::new(tools(&Runs::default()), TestScript::embedded());
    let refused = |offload: Offload| gateway().with_offload(offload).unwrap_err().to_string();
    let unknown = refused(Offload::new("/offloaded").excluding(["Read"]));
    assert!(
        unknown.starts_with("there is no tool `Read`; the tools are lookup, "),
        "{unknown}"
    );
    assert_eq!(
        refused(Offload::new("")),
        "the directory \"\" has no absolute UTF-8 path; name another directory"
    );
    let again = gateway().with_offload(Offload::new("/offloaded")).unwrap();
    let again = again
        .with_offload(Offload::new("/offloaded"))
        .unwrap_err()
        .to_string();
    assert!(
        again.starts_with("`ReadOffloaded` cannot be registered: "),
        "{again}"
    );
}

/// R-GW-20
#[tokio::test]
async fn results_are_complete_if_writing_fails() {
    let folder = Folder::new("cannot-write");
    fs::write(&folder.0, "a file").unwrap();
    let turns = json!([says(&[call("long", "a")]), says(&[text("Done.")])]);
    let lab = lab(&folder, turns, |gateway| gateway);
    assert_eq!(chat(&["long"]).say(&lab, "go").await.text(), "Done.");
    assert_eq!(results(&lab), [long_text()]);
    fs::remove_file(&folder.0).unwrap();
}

/// R-GW-20
#[cfg(unix)]
#[tokio::test]
async fn files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("modes");
    let lab = lab(
        &folder,
        json!([says(&[call("long", "a")]), says(&[text("Done.")])]),
        |gateway| gateway,
    );
    let (session, _) = chat(&["long"]).say(&lab, "go").await.session();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let session = folder.0.join(session);
    assert_eq!(
        (mode(&folder.0), mode(&session), mode(&session.join("up_a.md"))),
        (0o700, 0o700, 0o600)
    );
}

/// A session never reads files of another session, but its branches share its files.
///
/// R-GW-20
#[tokio::test]
async fn sessions_have_their_own_files_and_branches_share_them() {
    let folder = Folder::new("apart");
    let reads = |key: &str| says(&[read(key, json!({ "id": "up_a", "limit": 4 }))]);
    let turns = json!([
        says(&[call("long", "a")]),
        says(&[text("One.")]),
        reads("b"),
        says(&[text("Two.")]),
        reads("c"),
        says(&[text("Three.")]),
        reads("d"),
        says(&[text("Four.")]),
    ]);
    let lab = lab(&folder, turns, |gateway| gateway);
    let mut first = chat(&["long"]);
    first.say(&lab, "go").await;
    for message in ["one branch", "another"] {
        first.clone().say(&lab, message).await;
        assert!(
            results(&lab)[0].ends_with("\nitem"),
            "{message}: {:?}",
            results(&lab)
        );
    }
    chat(&["long"]).say(&lab, "another session").await;
    assert!(
        results(&lab)[0].starts_with("unknown id \"up_a\"; expected"),
        "{:?}",
        results(&lab)
    );
}

async fn until(label: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{label}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Creates the files of an earlier gateway with this age.
fn leave(folder: &Folder, session: &str, files: &[&str], age: Duration) {
    let directory = folder.0.join(session);
    fs::create_dir_all(&directory).unwrap();
    let time = std::time::SystemTime::now() - age;
    for name in files {
        fs::write(directory.join(name), "content").unwrap();
        let file = fs::File::options()
            .write(true)
            .open(directory.join(name))
            .unwrap();
        file.set_modified(time).unwrap();
    }
    #[cfg(unix)]
    fs::File::open(&directory).unwrap().set_modified(time).unwrap();
}

/// Sets the modification time to two days ago.
fn make_old(folder: &Folder, session: &str, file: &str) {
    let file = folder.0.join(session).join(file);
    let written = fs::File::options().write(true).open(file).unwrap();
    written
        .set_modified(std::time::SystemTime::now() - DAY * 2)
        .unwrap();
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Waits for a complete sweep, by the removed files.
async fn swept(folder: &Folder) {
    let unknown = format!("ses_{}", "u".repeat(22));
    for label in ["the sweep that runs, or the next", "the one after it"] {
        leave(folder, &unknown, &["up_a.md"], DAY * 10);
        until(label, || !folder.0.join(&unknown).exists()).await;
    }
}

/// R-GW-23
#[tokio::test(start_paused = true)]
async fn files_go_with_their_session() {
    let folder = Folder::new("go");
    let store = MemoryStore::new().with_ttl(Duration::from_secs(60));
    let turns = json!([
        says(&[call("long", "a"), call("weather", "w")]),
        says(&[call("long", "b")]),
        says(&[text("Done.")]),
    ]);
    let lab = lab(&folder, turns, |gateway| {
        gateway.with_store(store).with_max_time(Duration::from_secs(20))
    });
    // The session waits for its client, so it is kept four times as long.
    let mut waiting = chat(&["long"]);
    waiting.body["tools"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "weather", "input_schema": { "type": "object" } }));
    let (waiting, _) = waiting.say(&lab, "wait").await.session();
    let (session, _) = chat(&["long"]).say(&lab, "go").await.session();
    assert_eq!(
        (folder.files(&session), folder.files(&waiting)),
        (vec!["up_b.md".to_owned()], vec!["up_a.md".to_owned()])
    );
    for (id, file) in [(&session, "up_b.md"), (&waiting, "up_a.md")] {
        leave(&folder, id, &[file], DAY);
    }
    swept(&folder).await;
    assert_eq!(folder.files(&session), ["up_b.md"], "the session is known yet");
    until("its files go", || !folder.0.join(&session).exists()).await;
    assert_eq!(folder.files(&waiting), ["up_a.md"]);
    until("these, too", || !folder.0.join(&waiting).exists()).await;
}

/// R-GW-23
#[tokio::test(start_paused = true)]
async fn sweep_at_start_removes_files_of_earlier_processes() {
    let folder = Folder::new("start");
    let (old, new) = (DAY * 2, DAY / 2);
    let id = |letter: &str| format!("ses_{}", letter.repeat(22));
    leave(
        &folder,
        &id("a"),
        &["call_0.md", "call_0-2.md", ".offload-7-1.tmp"],
        old,
    );
    // The file is not old enough: its session may not be stored yet.
    leave(&folder, &id("b"), &["call_0.md"], new);
    // Partly removed when its process ended: the directory is new, its files are not.
    leave(&folder, &id("c"), &["call_0.md"], old);
    #[cfg(unix)]
    fs::File::open(folder.0.join(id("c")))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    // Files of other programs.
    for foreign in [
        "sessions",
        "ses_short",
        "ses_",
        &format!("{}x", id("d")),
        &id("é"),
        "ses_../aaaaaaaaaaaaaaaaaaa",
    ] {
        leave(&folder, foreign, &["call_0.md"], old);
    }
    leave(&folder, &id("e"), &["call_0.md", "notes.txt"], old);
    fs::write(folder.0.join(id("f")), "a file").unwrap();
    #[cfg(unix)]
    {
        leave(&folder, "elsewhere", &["call_0.md"], old);
        std::os::unix::fs::symlink(folder.0.join("elsewhere"), folder.0.join(id("g"))).unwrap();
    }
    let _lab = lab(&folder, json!([says(&[text("Done.")])]), |gateway| gateway);
    until("the old ones go", || {
        !folder.0.join(id("a")).exists() && !folder.0.join(id("c")).exists()
    })
    .await;
    until("what the gateway wrote goes", || {
        folder.files(&id("e")) == ["notes.txt"]
    })
    .await;
    for kept in [
        &id("b"),
        "sessions",
        "ses_short",
        "ses_",
        &format!("{}x", id("d")),
        &id("é"),
        "ses_../aaaaaaaaaaaaaaaaaaa",
    ] {
        assert_eq!(folder.files(kept), ["call_0.md"], "{kept}");
    }
    assert!(folder.0.join(id("f")).is_file());
    #[cfg(unix)]
    assert!(folder.0.join(id("g")).is_symlink() && folder.files("elsewhere") == ["call_0.md"]);
}

/// The files of a session in the store are kept at any age, also if the store cannot be read.
///
/// R-GW-23
#[tokio::test(start_paused = true)]
async fn files_of_known_sessions_outlive_the_process() {
    let (folder, sessions) = (Folder::new("known"), Folder::new("known-sessions"));
    let file = sessions.0.join("sessions.redb");
    let turns = || json!([says(&[call("long", "a")]), says(&[text("Done.")])]);
    let open = |ttl: Duration| FileStore::open(&file).unwrap().with_ttl(ttl);
    let first = lab(&folder, turns(), |gateway| gateway.with_store(open(DAY * 9)));
    let (session, _) = chat(&["long"]).say(&first, "go").await.session();
    drop(first);
    let unknown = format!("ses_{}", "a".repeat(22));
    let age = || {
        leave(&folder, &session, &["up_a.md"], DAY * 10);
        leave(&folder, &unknown, &["up_a.md"], DAY * 10);
    };
    age();
    let asked = Arc::new(AtomicUsize::new(0));
    let unavailable = Unavailable(Arc::clone(&asked));
    let failing = lab(&folder, turns(), |gateway| {
        gateway
            .with_store(unavailable)
            .with_max_time(Duration::from_secs(20))
    });
    until("a sweep after another has begun", || {
        asked.load(Ordering::SeqCst) > 1
    })
    .await;
    assert_eq!(
        (folder.files(&session).len(), folder.files(&unknown).len()),
        (1, 1)
    );
    drop(failing);
    until("the first gateway is gone", || FileStore::open(&file).is_ok()).await;
    let _second = lab(&folder, turns(), |gateway| gateway.with_store(open(DAY * 9)));
    until("the unknown one goes", || !folder.0.join(&unknown).exists()).await;
    assert_eq!(folder.files(&session), ["up_a.md"]);
}

/// The store does not have the session of an unfinished turn. The model can still read the files of its calls.
///
/// R-GW-23
#[tokio::test(start_paused = true)]
async fn files_of_a_turn_that_may_be_retried_stay() {
    let folder = Folder::new("retried");
    let busy = json!({ "error": { "status": 529 } });
    let turns = json!([
        says(&[call("long", "a")]),
        busy,
        says(&[read("b", json!({ "id": "up_a" }))]),
        says(&[text("Done.")]),
    ]);
    let lab = lab(&folder, turns, |gateway| {
        gateway
            .with_store(MemoryStore::new().with_ttl(Duration::from_secs(20)))
            .with_max_time(Duration::from_secs(60))
    });
    let mut chat = chat(&["long"]);
    chat.messages().push(user("go"));
    let failed = chat.ask(&lab).await;
    assert_eq!(failed.status, 529);
    make_old(&folder, &failed.session().0, "up_a.md");
    swept(&folder).await;
    let done = lab.ask_with(&chat.body, &[RETRY]).await;
    assert_eq!(
        (done.text().as_str(), done.session().0),
        ("Done.", failed.session().0)
    );
    assert!(results(&lab)[0].contains("item 0;"), "{:?}", results(&lab));
}

/// R-GW-23
#[tokio::test(start_paused = true)]
async fn files_of_a_turn_that_is_retried_again_and_again_outlive_the_process() {
    let folder = Folder::new("retried-again");
    let store = FailingStore::durable();
    let process = |turns: Value| {
        lab(&folder, turns, |gateway| {
            gateway.with_store(store.clone()).with_secret([7; 32])
        })
    };
    let busy = json!({ "error": { "status": 529 } });
    let first = process(json!([says(&[call("long", "a")]), busy, busy]));
    let mut chat = chat(&["long"]);
    chat.messages().push(user("go"));
    let (session, _) = chat.ask(&first).await.session();
    // A day later.
    make_old(&folder, &session, "up_a.md");
    assert_eq!(first.ask_with(&chat.body, &[RETRY]).await.status, 529);
    drop(first);

    let unknown = format!("ses_{}", "a".repeat(22));
    leave(&folder, &unknown, &["up_a.md"], DAY * 2);
    let second = process(json!([
        says(&[read("b", json!({ "id": "up_a" }))]),
        says(&[text("Done.")])
    ]));
    until("the unknown one goes", || !folder.0.join(&unknown).exists()).await;
    assert_eq!(second.ask_with(&chat.body, &[RETRY]).await.text(), "Done.");
    assert!(results(&second)[0].contains("item 0;"), "{:?}", results(&second));
}

/// A store that never answers.
struct Unavailable(Arc<AtomicUsize>);

fn unavailable<'a, T>() -> StoreFuture<'a, T> {
    Box::pin(async { Err(StoreError("it is away".to_owned())) })
}

impl SessionStore for Unavailable {
    fn find<'a>(&'a self, _: Digest, _: &'a Lookup<'a>) -> StoreFuture<'a, FoundEntries> {
        unavailable()
    }

    fn load<'a>(&'a self, _: Digest, _: &'a [String]) -> StoreFuture<'a, Vec<Option<StoredTurn>>> {
        unavailable()
    }

    fn session<'a>(&'a self, _: Digest, _: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        unavailable()
    }

    fn has_session<'a>(&'a self, _: Option<Digest>, _: &'a SessionId) -> StoreFuture<'a, bool> {
        self.0.fetch_add(1, Ordering::SeqCst);
        unavailable()
    }

    fn ttl(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn save(&self, _: Digest, _: SavedTurn) -> StoreFuture<'_, SaveOutcome> {
        unavailable()
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn name(&self) -> String {
        "unavailable".to_owned()
    }
}
