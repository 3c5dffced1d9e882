//! Faults of the session store, row by row as `docs/faults.md` has them.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::Request;
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::session::file::FileStore;
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::upstream::{Upstream, UpstreamFuture};

use crate::failing_store::FailingStore;
#[cfg(target_os = "linux")]
use crate::fault_rows::first_sweep_ends;
use crate::fault_rows::{Log, Row, row};
use crate::faults::{Silent, answer_with, chat, comes_to_its_end, lab_when, lab_with, later_chat};
use crate::lab::{Lab, RETRY, Runs, assistant, call, registry, result, says, text, user};
#[cfg(target_os = "linux")]
use crate::own_process::{child_directory, on_a_small_disk};
use crate::test_script::TestScript;

/// Returns whether the last operation has this name and number, from 1.
fn is_at(operation: &'static str, number: usize) -> impl Fn(&[&'static str]) -> bool + Send + 'static {
    move |operations| {
        let of_this_name = operations.iter().filter(|other| **other == operation);
        operations.ends_with(&[operation]) && of_this_name.count() == number
    }
}

/// Tests a store that fails once, at the operation with this name and number.
async fn store_fails(row: Row, operation: &'static str, number: usize, begun: &[&str]) {
    for is_stream in [false, true] {
        let log = Log::start();
        let store = FailingStore::durable();
        store.fail(is_at(operation, number));
        let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway.with_store(store));
        let chat = later_chat(is_stream, "go");
        row.client_sees(&chat.ask(&lab).await);
        row.host_learns(&lab, &log).await;
        assert_eq!(lab.runs.begun(), begun);
        comes_to_its_end(&lab, &chat).await;
    }
}

#[tokio::test]
async fn store_cannot_be_read() {
    store_fails(row("store_cannot_be_read"), "find", 1, &[]).await;
}

#[tokio::test]
async fn store_fails_before_the_upstream_is_asked() {
    store_fails(row("store_fails_before_the_upstream_is_asked"), "append", 1, &[]).await;
}

#[tokio::test]
async fn store_fails_before_a_call_runs() {
    store_fails(row("store_fails_before_a_call_runs"), "append", 2, &[]).await;
}

#[tokio::test]
async fn store_fails_after_a_call_has_run() {
    store_fails(row("store_fails_after_a_call_has_run"), "append", 3, &["write a"]).await;
}

#[tokio::test]
async fn store_fails_when_the_turn_ends() {
    store_fails(row("store_fails_when_the_turn_ends"), "save", 1, &["write a"]).await;
}

#[tokio::test(start_paused = true)]
async fn store_is_slow() {
    let row = row("store_is_slow");
    for is_stream in [false, true] {
        let log = Log::start();
        let store = FailingStore::durable().with_latency(Duration::from_secs(5));
        let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway.with_store(store));
        let chat = chat(is_stream, "go");
        let reply = chat.ask(&lab).await;
        row.client_sees(&reply);
        assert_eq!(reply.text(), "Done.");
        row.host_learns(&lab, &log).await;
        comes_to_its_end(&lab, &chat).await;
    }
}

#[tokio::test(start_paused = true)]
async fn store_hangs() {
    let row = row("store_hangs");
    // Before the upstream is asked, before and after a call runs, and at the end of the turn.
    for (operation, number, begun) in [
        ("append", 1, &[][..]),
        ("append", 2, &[]),
        ("append", 3, &["write a"]),
        ("save", 1, &["write a"]),
    ] {
        for is_stream in [false, true] {
            let log = Log::start();
            let store = FailingStore::durable();
            store.hang(is_at(operation, number));
            let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway.with_store(store));
            let chat = chat(is_stream, "go");
            row.client_sees(&chat.ask(&lab).await);
            row.host_learns(&lab, &log).await;
            assert_eq!(lab.runs.begun(), begun);
            comes_to_its_end(&lab, &chat).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn store_hangs_as_it_is_read() {
    let row = row("store_hangs_as_it_is_read");
    for operation in ["find", "progress"] {
        for is_stream in [false, true] {
            let log = Log::start();
            let store = FailingStore::durable();
            store.hang(is_at(operation, 1));
            let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway.with_store(store));
            let chat = later_chat(is_stream, "go");
            row.client_sees(&chat.ask(&lab).await);
            row.host_learns(&lab, &log).await;
            assert!(lab.runs.begun().is_empty() && lab.seen().is_empty());
            comes_to_its_end(&lab, &chat).await;
        }
    }
}

/// No call runs, so no state must be stored.
#[tokio::test]
async fn store_fails_where_nothing_runs() {
    let row = row("store_fails_where_nothing_runs");
    for is_stream in [false, true] {
        let log = Log::start();
        let store = FailingStore::durable();
        store.fail(|_| true);
        let script = json!({ "turns": [says(&[text("Done.")])] });
        let lab = Lab::with(script, |gateway| gateway.with_store(store));
        let mut body = json!(chat(is_stream, "go").body);
        body.as_object_mut().unwrap().remove("tools");
        let reply = lab.ask(&body).await;
        row.client_sees(&reply);
        row.host_learns(&lab, &log).await;
        assert_eq!(reply.text(), "Done.");
    }
}

#[tokio::test]
async fn store_in_memory_fails() {
    let row = row("store_in_memory_fails");
    let log = Log::start();
    let store = FailingStore::in_memory();
    store.fail(|_| true);
    let script = json!({ "order": "requests", "turns": [
        says(&[text("One."), call("write", "a")]),
        says(&[text("Two.")]),
        says(&[text("Done.")]),
    ] });
    let lab = Lab::with(script, |gateway| gateway.with_store(store));
    let mut chat = later_chat(true, "first");
    let reply = chat.say(&lab, "go").await;
    row.client_sees(&reply);
    row.host_learns(&lab, &log).await;
    assert_eq!(reply.text(), "One.\nTwo.");
    assert_eq!(lab.ask_with(&json!(chat.body), &[]).await.text(), "Done.");
    assert_eq!(lab.runs.begun(), ["write a"]);
}

/// A file on a disk of a few MiB, which is filled and emptied again.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn disk_is_full() {
    const TEST: &str = "store_faults::disk_is_full";
    let row = row("disk_is_full");
    let Some(directory) = child_directory() else {
        return on_a_small_disk(TEST, "size=8m");
    };
    for is_stream in [false, true] {
        let folder = directory.join(is_stream.to_string());
        let store = FileStore::open(folder.join("sessions.redb")).unwrap();
        let filler = directory.join("filler");
        let log = Log::start_in(&folder);
        // The first request may be sent to the upstream while its beginning is stored. It is then cancelled.
        let is_full = {
            let filler = filler.clone();
            move |_| filler.exists()
        };
        let (lab, _) = lab_when(Silent, is_full, |gateway| gateway.with_store(store));
        first_sweep_ends(&lab).await;
        // More than the file's free space, if the disk does not grow.
        let chat = chat(is_stream, &"x".repeat(1 << 20));
        let _ = std::fs::write(&filler, vec![0; 16 << 20]);
        let failed = chat.ask(&lab).await;
        row.client_sees(&failed);
        row.host_learns(&lab, &log).await;
        assert!(lab.runs.begun().is_empty() && lab.seen().is_empty());
        // While the disk is full, no call runs, and the upstream is not asked again.
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(chat.ask(&lab).await.status, 503);
        assert!(lab.runs.begun().is_empty() && lab.seen().is_empty());
        std::fs::remove_file(&filler).unwrap();
        tokio::time::sleep(Duration::from_millis(600)).await;
        comes_to_its_end(&lab, &chat).await;
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn disk_is_read_only() {
    const TEST: &str = "store_faults::disk_is_read_only";
    let row = row("disk_is_read_only");
    let Some(directory) = child_directory() else {
        return on_a_small_disk(TEST, "size=8m,ro");
    };
    let error = FileStore::open(directory.join("sessions.redb")).unwrap_err();
    let error = error.to_string().replace(directory.to_str().unwrap(), "DIR");
    row.program_does_not_start(&error);
}

#[tokio::test]
async fn file_is_of_another_version() {
    let row = row("file_is_of_another_version");
    let directory = std::env::temp_dir().join(format!("tool-gateway-version-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("sessions.redb");
    // Files of the first version have tables without a version.
    let database = redb::Database::create(&file).unwrap();
    let transaction = database.begin_write().unwrap();
    let turns = redb::TableDefinition::<&str, &[u8]>::new("turns");
    drop(transaction.open_table(turns).unwrap());
    transaction.commit().unwrap();
    drop(database);
    #[cfg(unix)]
    set_mode(&file, 0o600);
    let error = FileStore::open(&file).unwrap_err().to_string();
    row.program_does_not_start(&error.replace(directory.to_str().unwrap(), "DIR"));
    std::fs::remove_dir_all(directory).unwrap();
}

#[cfg(unix)]
fn set_mode(file: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A directory with a file of sessions. Returns both.
#[cfg(unix)]
fn file_of_sessions(name: &str) -> (std::path::PathBuf, std::path::PathBuf) {
    let directory = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
    let file = directory.join("sessions.redb");
    drop(FileStore::open(&file).unwrap());
    (directory, file)
}

#[cfg(unix)]
#[tokio::test]
async fn file_is_readable_by_others() {
    let row = row("file_is_readable_by_others");
    let (directory, file) = file_of_sessions("readable");
    set_mode(&file, 0o640);
    let error = FileStore::open(&file).unwrap_err().to_string();
    row.program_does_not_start(&error.replace(directory.to_str().unwrap(), "DIR"));
    set_mode(&file, 0o600);
    drop(FileStore::open(&file).unwrap());
    std::fs::remove_dir_all(directory).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn file_is_a_link() {
    let row = row("file_is_a_link");
    let (directory, file) = file_of_sessions("link");
    let target = directory.join("target.redb");
    std::fs::rename(&file, &target).unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    let error = FileStore::open(&file).unwrap_err().to_string();
    row.program_does_not_start(&error.replace(directory.to_str().unwrap(), "DIR"));
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test(start_paused = true)]
async fn store_hangs_as_an_answer_passes() {
    let row = row("store_hangs_as_an_answer_passes");
    for is_stream in [false, true] {
        let log = Log::start();
        let store = FailingStore::durable();
        store.hang(is_at("save", 1));
        let script = json!({ "turns": [says(&[text("Done.")])] });
        let lab = Lab::with(script, |gateway| gateway.with_store(store));
        let mut body = json!(chat(is_stream, "go").body);
        body.as_object_mut().unwrap().remove("tools");
        let began = tokio::time::Instant::now();
        let reply = lab.ask(&body).await;
        assert!(
            began.elapsed() < Duration::from_millis(300),
            "{:?}",
            began.elapsed()
        );
        row.client_sees(&reply);
        assert_eq!(reply.text(), "Done.");
        tokio::time::sleep(Duration::from_secs(31)).await;
        row.host_learns(&lab, &log).await;
    }
}

/// Answers requests whose first message is `large` with a long text, and calls a tool of each side for all others.
struct LargeTexts;

impl Upstream for LargeTexts {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let content = match (messages[0]["content"].as_str(), messages.len()) {
            (Some("go"), 1) => json!([call("write", "a")]),
            (Some("go"), 3) => json!([call("weather", "b")]),
            (Some("go"), _) => json!([text("Done.")]),
            (_, 1) => json!([call("write", "c")]),
            _ => json!([text(&"x".repeat(1 << 20))]),
        };
        answer_with(content)
    }

    fn name(&self) -> String {
        "large texts".to_owned()
    }
}

#[tokio::test]
async fn another_client_fills_the_store() {
    let row = row("another_client_fills_the_store");
    let log = Log::start();
    let runs = Runs::default();
    // 18 of its answers are more than the store keeps of all clients.
    let store = MemoryStore::new()
        .with_max_bytes(16 << 20)
        .with_max_bytes_per_client(8 << 20);
    let gateway = Gateway::new(registry(&runs), LargeTexts).with_store(store);
    let script = TestScript::from_json(&json!({ "turns": [says(&[text("Unused.")])] }).to_string()).unwrap();
    let app = gateway.router();
    let lab = Lab { app, script, runs };
    let mut ada = chat(false, "go");
    let mut eve = chat(false, "large");
    for (chat, key) in [(&mut ada, "key of ada"), (&mut eve, "key of eve")] {
        chat.headers.push(("x-api-key", key.to_owned()));
    }
    let suspended = ada.ask(&lab).await;
    ada.messages().push(assistant(suspended.content()));
    for number in 0..18 {
        eve.body["messages"][0]["content"] = format!("large {number}").into();
        assert_eq!(eve.ask(&lab).await.status, 200);
    }
    let answer = user(json!([result(&suspended.ids()[0], "rain")]));
    ada.messages().push(answer);
    let reply = ada.ask(&lab).await;
    row.client_sees(&reply);
    assert_eq!(
        (reply.text(), reply.session().1),
        ("Done.".to_owned(), "minted".to_owned())
    );
    assert_eq!(lab.runs.begun().iter().filter(|run| *run == "write a").count(), 1);
    row.host_learns(&lab, &log).await;
}

#[tokio::test]
async fn another_client_fails_many_times() {
    let row = row("another_client_fails_many_times");
    let log = Log::start();
    let busy = json!({ "error": { "status": 529, "body": { "type": "error", "error": { "type": "overloaded_error", "message": "busy" } } } });
    let lab = Lab::new(json!([says(&[call("write", "a")]), busy]));
    let ask = async |content: &str, key: &str| {
        let headers = [("x-api-key", key), RETRY];
        lab.ask_with(&chat(false, content).body, &headers).await
    };
    row.client_sees(&ask("go", "key of ada").await);
    for number in 0..1_001 {
        assert_eq!(ask(&format!("other {number}"), "key of eve").await.status, 529);
    }
    assert_eq!(lab.runs.begun().len(), 1_002);
    row.client_sees(&ask("go", "key of ada").await);
    assert_eq!(lab.runs.begun().len(), 1_002, "no call runs twice");
    row.host_learns(&lab, &log).await;
}

/// Time to live of sessions, after which an idle session is removed unless the wall clock was set.
const HOUR: Duration = Duration::from_secs(3600);

/// tokio's paused clock advances and the wall clock does not, as if the wall clock was set back.
#[tokio::test(start_paused = true)]
async fn wall_clock_is_set() {
    let row = row("wall_clock_is_set");
    let log = Log::start();
    let store = MemoryStore::new().with_ttl(HOUR);
    let lab = Lab::with(
        json!({ "turns": [says(&[call("write", "a")]), says(&[text("Done.")])] }),
        |gateway| gateway.with_store(store),
    );
    let reply = chat(false, "go").ask(&lab).await;
    row.client_sees(&reply);
    assert_eq!(reply.text(), "Done.");
    tokio::time::sleep(HOUR * 48).await;
    row.host_learns(&lab, &log).await;
}
