//! Crashes: a process ends at any moment, and the next one goes on with the same file.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tool_gateway::session::file::FileStore;

use crate::lab::{Chat, Lab, call, says, slow_call, text, user};
use crate::reply::Reply;

const RETRY: (&str, &str) = ("x-stainless-retry-count", "1");

/// A file with sessions, and the processes that had it.
struct Processes {
    folder: PathBuf,
    ended: Vec<Lab>,
}

impl Processes {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self {
            folder,
            ended: Vec::new(),
        }
    }

    fn start(&self) -> (Runtime, Lab) {
        let store = FileStore::open(self.folder.join("sessions.redb")).unwrap();
        let secret = store.secret().unwrap();
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
        let lab = Lab::with(json!({ "turns": turns }), |gateway| {
            gateway.with_store(store).with_secret(secret)
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        (runtime, lab)
    }

    /// Ends a process as a crash does: nothing that runs comes to its end.
    fn crash(&mut self, runtime: Runtime, mut lab: Lab) {
        runtime.shutdown_timeout(Duration::from_secs(5));
        lab.app = axum::Router::new();
        self.ended.push(lab);
    }

    /// The calls that began in any process, in order of their names.
    fn begun(&self) -> Vec<String> {
        let mut begun: Vec<_> = self.ended.iter().flat_map(|lab| lab.runs.begun()).collect();
        begun.sort();
        begun
    }

    /// How often the upstream was asked.
    fn asked(&self) -> usize {
        self.ended.iter().map(|lab| lab.seen().len()).sum()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Sends a request that is interrupted after a while; `None` if it had no answer by then.
fn ask_and_crash(processes: &mut Processes, chat: &Chat, after: Duration) -> Option<Reply> {
    let (runtime, lab) = processes.start();
    let (app, body) = (lab.app.clone(), chat.body.clone());
    let answer = runtime.spawn(async move {
        let request = crate::lab::post("/v1/messages", body, &[]);
        Reply::read(tower::ServiceExt::oneshot(app, request).await.unwrap()).await
    });
    sleep(after);
    let answer = answer.is_finished().then(|| runtime.block_on(answer).unwrap());
    processes.crash(runtime, lab);
    answer
}

/// Sends a request again, in another process.
fn retry(processes: &mut Processes, chat: &Chat) -> Reply {
    let (runtime, lab) = processes.start();
    let answer = runtime.block_on(lab.ask_with(&chat.body, &[RETRY]));
    lab.assert_well_formed();
    processes.crash(runtime, lab);
    answer
}

#[test]
fn after_a_crash_at_any_moment_a_retry_goes_on_and_no_call_runs_twice() {
    // The first request takes about 40 ms and the second about 30, plus writing the file.
    for step in 0..16 {
        let mut processes = Processes::new(&format!("crash-{step}"));
        let mut chat = Chat::new(step % 2 == 0);
        chat.messages().push(user("go"));
        let after = Duration::from_millis(step * 8);
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

        // Only what reads is repeated; each other call began once, or is told to be interrupted.
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
        // Each of the five rounds once, and those again that were not complete.
        assert!(
            (5..=7).contains(&processes.asked()),
            "{step}: {}",
            processes.asked()
        );
    }
}

#[test]
fn an_answer_that_was_complete_is_given_again_without_asking() {
    let mut processes = Processes::new("complete");
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let first = ask_and_crash(&mut processes, &chat, Duration::from_secs(1)).unwrap();
    let again = retry(&mut processes, &chat);
    assert_eq!((again.text(), again.ids()), (first.text(), first.ids()));
    assert_eq!(again.message["usage"], first.message["usage"]);
    assert_eq!((processes.asked(), processes.begun().len()), (3, 4));
}
