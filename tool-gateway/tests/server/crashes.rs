//! Crashes: a process ends at any moment, and the next one continues with the file.

use std::path::PathBuf;
#[cfg(all(unix, feature = "redis"))]
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tool_gateway::Gateway;
use tool_gateway::session::file::FileStore;
use tool_runtime::ToolRegistry;
use tool_runtime::permission::{Decision, Permission};

#[cfg(all(unix, feature = "redis"))]
use crate::gateway_processes;
use crate::lab::{
    Chat, Lab, RETRY, Runs, call, has_two_gateways, registry, says, scaled, slow_call, text, user,
};
use crate::protocol::{Scripted, is_chat};
#[cfg(all(unix, feature = "redis"))]
use crate::redis_server::RedisServer;
use crate::reply::Reply;
use crate::test_script::TestScript;

/// A file with sessions, and the processes that used it.
struct Processes {
    folder: PathBuf,
    /// Answers of the upstream.
    turns: Value,
    ended: Vec<Lab>,
    /// Store of gateways in other processes, in place of the file.
    #[cfg(all(unix, feature = "redis"))]
    redis: Option<Arc<RedisServer>>,
}

impl Processes {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let turns = json!([
            says(&[
                text("One."),
                slow_call("lookup", "a", 12),
                slow_call("write", "b", 20)
            ]),
            says(&[text("Two."), slow_call("write", "c", 15)]),
            says(&[
                text("Three."),
                slow_call("later", "d", 15),
                call("weather", "e"),
                call("write", "f")
            ]),
            says(&[text("Four."), slow_call("write", "g", 10)]),
            says(&[text("Done.")]),
        ]);
        Self {
            folder,
            turns,
            ended: Vec::new(),
            #[cfg(all(unix, feature = "redis"))]
            redis: gateway_processes::redis(),
        }
    }

    fn start(&self) -> (Runtime, Lab) {
        #[cfg(all(unix, feature = "redis"))]
        if let Some(redis) = &self.redis {
            let lab = gateway_processes::default_lab(&self.script(), Arc::clone(redis), 1);
            return (runtime(), lab);
        }
        self.start_with(|registry| registry)
    }

    fn script(&self) -> TestScript {
        TestScript::from_json(&json!({ "turns": self.turns }).to_string()).unwrap()
    }

    /// Starts a process with other layers around its tools.
    fn start_with(&self, layers: impl FnOnce(ToolRegistry) -> ToolRegistry) -> (Runtime, Lab) {
        let store = FileStore::open(self.folder.join("sessions.redb")).unwrap();
        let script = self.script();
        let runs = Runs::default();
        let gateway = Gateway::new(layers(registry(&runs)), Scripted::new(&script))
            .with_deferred(["later"])
            .unwrap()
            .with_store(store);
        let app = gateway.router();
        let lab = Lab { app, script, runs };
        (runtime(), lab)
    }

    /// Ends a process like a crash: no running task completes.
    fn crash(&mut self, runtime: Runtime, mut lab: Lab) {
        runtime.shutdown_timeout(Duration::from_secs(5));
        lab.app = axum::Router::new();
        self.ended.push(lab);
    }

    /// Returns the calls that began in any process, sorted by name.
    fn begun(&self) -> Vec<String> {
        let mut begun: Vec<_> = self.ended.iter().flat_map(|lab| lab.runs.begun()).collect();
        begun.sort();
        begun
    }

    /// Returns the number of requests to the upstream.
    fn asked(&self) -> usize {
        self.ended.iter().map(|lab| lab.seen().len()).sum()
    }
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap()
}

impl Drop for Processes {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Sends a request, and ends the process after the answer.
fn ask(processes: &mut Processes, chat: &Chat, headers: &[(&str, &str)]) -> Reply {
    let (runtime, lab) = processes.start();
    let answer = runtime.block_on(lab.ask_with(&chat.body, headers));
    lab.assert_well_formed();
    processes.crash(runtime, lab);
    answer
}

/// Sends a request that is interrupted after some milliseconds; `None` without an earlier answer.
fn ask_and_crash(processes: &mut Processes, chat: &Chat, after: u64) -> Option<Reply> {
    let (runtime, lab) = processes.start();
    let (app, body) = (lab.app.clone(), chat.body.clone());
    let answer = runtime.spawn(async move {
        let request = crate::lab::post("/v1/messages", body, &[]);
        Reply::read(tower::ServiceExt::oneshot(app, request).await.unwrap()).await
    });
    sleep(Duration::from_millis(scaled(after)));
    let answer = answer.is_finished().then(|| runtime.block_on(answer).unwrap());
    processes.crash(runtime, lab);
    answer
}

/// Repeats a request in another process.
fn retry(processes: &mut Processes, chat: &Chat) -> Reply {
    ask(processes, chat, &[RETRY])
}

#[test]
fn retry_continues_after_any_crash_and_no_call_runs_again() {
    // The first request takes about 40 ms and the second about 30 ms, plus the writes to the file.
    for step in 0..16 {
        let mut processes = Processes::new(&format!("crash-{step}"));
        let mut chat = Chat::new(step % 2 == 0);
        chat.messages().push(user("go"));
        let after = step * 8;
        let answer = ask_and_crash(&mut processes, &chat, after);
        let answer = answer.unwrap_or_else(|| retry(&mut processes, &chat));
        assert_eq!(answer.text(), "One.\nTwo.\nThree.", "{step}");
        chat.messages()
            .push(crate::lab::assistant(answer.message["content"].clone()));
        chat.messages()
            .push(user(json!([crate::lab::result(&answer.ids()[0], "rain")])));
        let answer = ask_and_crash(&mut processes, &chat, after);
        let answer = answer.unwrap_or_else(|| retry(&mut processes, &chat));
        assert_eq!(answer.text(), "Four.\nDone.", "{step}");

        // Only read-only calls are repeated. Each other call began once, or its result states that the call was interrupted.
        let mut begun = processes.begun();
        begun.dedup_by(|one, other| one == other && one.starts_with("lookup"));
        let seen: Vec<_> = processes.ended.iter().flat_map(Lab::seen).collect();
        let last = seen.last().unwrap().to_string();
        for key in ["b", "c", "f", "g"] {
            let count = begun
                .iter()
                .filter(|call| **call == format!("write {key}"))
                .count();
            let is_interrupted = last.contains(&format!("\"tool_use_id\":\"up_{key}\""))
                && !last.contains(&format!("write of {key}"));
            assert!(
                count == 1 || (count == 0 && is_interrupted),
                "{step} {key}: {begun:?} {last}"
            );
        }
        assert!(
            begun.iter().filter(|call| *call == "later d").count() <= 1,
            "{begun:?}"
        );
        // Each of the five rounds was requested once, and incomplete rounds again.
        assert!(
            (5..=7).contains(&processes.asked()),
            "{step}: {}",
            processes.asked()
        );
    }
}

#[test]
fn repeats_a_complete_answer_without_a_request() {
    let mut processes = Processes::new("complete");
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let first = ask(&mut processes, &chat, &[]);
    let again = retry(&mut processes, &chat);
    assert_eq!((again.text(), again.ids()), (first.text(), first.ids()));
    assert_eq!(again.message["usage"], first.message["usage"]);
    assert_eq!((processes.asked(), processes.begun().len()), (3, 4));
}

/// Builds a call whose arguments are a Python dict.
fn malformed_call(name: &str, key: &str, arguments: &str) -> Value {
    json!({ "type": "tool_use", "id": format!("up_{key}"), "name": name, "partial_json": arguments })
}

#[test]
fn malformed_arguments_are_the_same_after_a_crash() {
    if is_chat() || has_two_gateways() {
        return; // The script sends malformed arguments only in the Messages API, and a layer reports to its own process.
    }
    let mut processes = Processes::new("malformed");
    processes.turns = json!([
        says(&[
            malformed_call("weather", "a", "{'city': 'Paris'}"),
            malformed_call(
                "TodoWrite",
                "b",
                "{'todos': [{'content': 'c', 'status': 'pending', 'activeForm': 'c'}]}"
            ),
        ]),
        says(&[text("Done.")]),
    ]);
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));

    // The process ends while a call waits for a decision. The call may run later, and the next process hands it over to the client.
    let (asked, is_asked) = mpsc::channel();
    let waiting = Permission::new(move |_| {
        asked.send(()).unwrap();
        std::future::pending::<Decision>()
    });
    let (runtime, lab) = processes.start_with(|registry| registry.layer(waiting));
    let (app, body) = (lab.app.clone(), chat.body.clone());
    runtime.spawn(async move {
        let request = crate::lab::post("/v1/messages", body, &[]);
        Reply::read(tower::ServiceExt::oneshot(app, request).await.unwrap()).await
    });
    is_asked.recv().unwrap();
    // A call that may be repeated does not wait for the store.
    let stored = "store_seconds_count{operation=\"append\"} 2";
    runtime.block_on(crate::fault_rows::until_counted(&lab, stored));
    processes.crash(runtime, lab);

    let interrupting = Permission::new(async |_| Decision::Interrupt);
    let (runtime, lab) = processes.start_with(|registry| registry.layer(interrupting));
    let answer = runtime.block_on(lab.ask_with(&chat.body, &[RETRY]));
    assert_eq!(answer.shape(), ["weather", "TodoWrite"]);
    let pieces = crate::reply::events(&answer.body);
    let pieces: Vec<_> = pieces
        .iter()
        .filter_map(|event| event["delta"]["partial_json"].as_str())
        .collect();
    // The client receives its own call with the model's arguments, and the other call with the decided arguments.
    assert_eq!(pieces[0], "{'city': 'Paris'}");
    assert_eq!(answer.content()[1]["input"]["todos"][0]["content"], "c");

    // A client that rewrites unreadable arguments still continues the turn.
    let mut content = answer.message["content"].clone();
    content[0]["input"] = json!({ "INVALID_JSON": "{'city': 'Paris'}" });
    chat.messages().push(crate::lab::assistant(content));
    let results = answer.ids().into_iter().map(|id| crate::lab::result(&id, "done"));
    chat.messages().push(user(results.collect::<Vec<_>>()));
    let answer = runtime.block_on(chat.ask(&lab));
    assert_eq!(
        (answer.text().as_str(), answer.session().1.as_str()),
        ("Done.", "minted")
    );
    lab.assert_well_formed();
    assert_eq!(lab.last_seen()["messages"][1]["content"][0]["id"], "up_a");
    processes.crash(runtime, lab);
    assert_eq!(processes.asked(), 2);
}
